"""Runs recorded cases of the reference through the real code and reports where the outcome differs.

`topics/` has one module per folder of cases; `topics/__init__.py` lists them. `case` says what a case and a topic are,
`compare` when two outcomes are the same, `run` walks files. Start it with `python -m karmada.testing.golden [PATH]`.
"""
