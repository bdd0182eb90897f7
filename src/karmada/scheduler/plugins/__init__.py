"""Filters and scores, one module each. The order of the list is the order of reasons.

Own plugins are found by the entry point group `karmada.scheduler.plugins`; `--plugins` switches any of them by name.
"""
