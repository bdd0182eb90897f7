"""Karmada in Python: a multi-cluster Kubernetes control plane that can say why."""

__version__ = "0.1.0"
