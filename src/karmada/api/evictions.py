"""Who evicts from a cluster, why, and how: the words in gracefulEvictionTasks."""

# Producers.
PRODUCER_TAINT_MANAGER = "TaintManager"
"""A NoExecute taint was not tolerated."""
PRODUCER_BINDING_FAILOVER = "resource-binding-application-failover-controller"
"""A ResourceBinding's workload stayed unhealthy."""
PRODUCER_CLUSTER_BINDING_FAILOVER = "cluster-resource-binding-application-failover-controller"
"""A ClusterResourceBinding's workload stayed unhealthy."""
PRODUCER_DRAIN = "karmadactl-drain"
"""Somebody drains a cluster."""

# Reasons.
REASON_TAINT_UNTOLERATED = "TaintUntolerated"
"""See PRODUCER_TAINT_MANAGER."""
REASON_APPLICATION_FAILURE = "ApplicationFailure"
"""See the failover producers."""
REASON_DRAINED = "ClusterDrained"
"""See PRODUCER_DRAIN."""

# Purge modes.
PURGE_DIRECTLY = "Directly"
"""Remove at once."""
PURGE_GRACEFULLY = "Gracefully"
"""Remove after the replacement is healthy or the grace period ends."""
PURGE_NEVER = "Never"
"""Leave it for the user."""
