"""The apps.karmada.io group: requests to place workloads anew."""
