"""The embedded Kubernetes API server: a library of its own that knows nothing of Karmada."""
