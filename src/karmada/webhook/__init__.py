"""Admission of Karmada's kinds: pure functions that complete and judge objects, and the servers that call them."""
