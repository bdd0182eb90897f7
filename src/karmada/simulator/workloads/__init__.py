"""What makes workloads run: one module per kind, wired together in `everything`."""
