"""HTTP/1.1 over TLS: parsing, streaming answers, upgrades. Knows nothing of Kubernetes objects."""
