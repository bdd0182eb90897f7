"""The cluster.karmada.io group: the members of the federation."""
