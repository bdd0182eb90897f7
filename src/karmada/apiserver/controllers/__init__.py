"""Controllers a Kubernetes API server needs beside it; in-process and driven by the store's events."""
