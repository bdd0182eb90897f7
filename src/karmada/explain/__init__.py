"""Answers about a federation, for the command line, the dashboard and the library alike.

- `why`: the chain from a template to its members, up to the first broken link
- `tree`: everything that belongs to a workload
- `simulate`: what would be placed where
- `check`: what is wrong with a control plane

Each has pure answers, and gathering that needs a `Client` of the control plane and `Members`. Nothing is printed here.
"""
