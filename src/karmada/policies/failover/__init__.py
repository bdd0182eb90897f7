"""When a workload leaves a cluster and when its old copy may go: decisions about bindings, without I/O."""
