"""The policy.karmada.io group: where workloads go and how they differ per cluster."""
