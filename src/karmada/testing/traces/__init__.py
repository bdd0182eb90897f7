"""Compares whole scenarios with recordings of the reference: same steps, same objects, members and events after each.

The scenarios, the recordings and the tool that drives and compares them are shared material outside the repository.
"""
