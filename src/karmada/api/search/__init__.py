"""The search.karmada.io group: a cache over all clusters."""
