"""The config.karmada.io group: how resources are interpreted, and when replicas are moved."""
