"""The remedy.karmada.io group: what to do about a cluster with a problem."""
