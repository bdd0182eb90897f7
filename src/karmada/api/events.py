"""Event types and reasons, by what the event is about.

Most reasons come in pairs, `<Verb>Succeed` (type Normal) and `<Verb>Failed` (type Warning). A pair is one `Outcome`, so
that a controller names the deed once and picks the half by what happened.
"""

from typing import NamedTuple

NORMAL = "Normal"
WARNING = "Warning"


class Outcome(NamedTuple):
    """The two reasons of one deed."""

    succeeded: str
    failed: str


def _outcome(deed: str) -> Outcome:
    return Outcome(deed + "Succeed", deed + "Failed")


# Cluster
CREATE_EXECUTION_SPACE = _outcome("CreateExecutionSpace")
REMOVE_EXECUTION_SPACE = _outcome("RemoveExecutionSpace")
TAINT_CLUSTER = _outcome("TaintCluster")
SYNC_IMPERSONATION_CONFIG = _outcome("SyncImpersonationConfig")

# Work
REFLECT_STATUS = _outcome("ReflectStatus")
INTERPRET_HEALTH = _outcome("InterpretHealth")
SYNC = _outcome("Sync")
WORK_DISPATCHING = "WorkDispatching"

# Templates and bindings
SYNC_WORK = _outcome("SyncWork")
AGGREGATE_STATUS = _outcome("AggregateStatus")
SCHEDULE_BINDING = _outcome("ScheduleBinding")
DESCHEDULE_BINDING = _outcome("DescheduleBinding")
EVICT_WORKLOAD_FROM_CLUSTER = _outcome("EvictWorkloadFromCluster")
APPLY_POLICY = _outcome("ApplyPolicy")
APPLY_OVERRIDE_POLICY = _outcome("ApplyOverridePolicy")
GET_DEPENDENCIES = _outcome("GetDependencies")
GET_COMPONENTS = _outcome("GetComponents")
GET_REPLICAS = _outcome("GetReplicas")
PREEMPT_POLICY = _outcome("PreemptPolicy")
SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES = _outcome("SyncScheduleResultToDependencies")
CLEANUP_WORK_FAILED = "CleanupWorkFailed"
EVICTION_UNDONE = "EvictionUndone"
MOVE_WAITS = "MoveWaits"
FAILBACK_STARTED = "FailbackStarted"
FAILBACK_ENDED = "FailbackEnded"
DEPENDENCY_POLICY_CONFLICT = "DependencyPolicyConflict"

# FederatedResourceQuota
COLLECT_OVERALL_STATUS = _outcome("CollectOverallStatus")

# ServiceImport and MultiClusterService
SYNC_DERIVED_SERVICE = _outcome("SyncDerivedService")
SYNC_SERVICE = _outcome("SyncService")
DISPATCH_ENDPOINT_SLICE = _outcome("DispatchEndpointSlice")
CLUSTER_NOT_FOUND = "ClusterNotFound"
API_INCOMPATIBLE = "APIIncompatible"
ENDPOINTS_WITHDRAWN = "EndpointsWithdrawn"
LEFTOVER_ENDPOINTS_REMOVED = "LeftoverEndpointsRemoved"

# FederatedHPA
FAILED_GET_SCALE = "FailedGetScale"
FAILED_GET_SCALE_TARGET_REF = "FailedGetScaleTargetRef"
FAILED_GET_BINDINGS = "FailedGetBindings"
FAILED_GET_TARGET_CLUSTERS = "FailedGetTargetClusters"
FAILED_COMPUTE_METRICS_REPLICAS = "FailedComputeMetricsReplicas"
FAILED_RESCALE = "FailedRescale"
SUCCESSFUL_RESCALE = "SuccessfulRescale"
AMBIGUOUS_SELECTOR = "AmbiguousSelector"
CLUSTER_NOT_READABLE = "ClusterNotReadable"
FAILED_UPDATE_STATUS = "FailedUpdateStatus"
FAILED_GET_RESOURCE_METRIC = "FailedGetResourceMetric"
FAILED_GET_CONTAINER_RESOURCE_METRIC = "FailedGetContainerResourceMetric"
FAILED_GET_PODS_METRIC = "FailedGetPodsMetric"
FAILED_GET_OBJECT_METRIC = "FailedGetObjectMetric"
FAILED_GET_EXTERNAL_METRIC = "FailedGetExternalMetric"

# CronFederatedHPA
START_RULE_FAILED = "StartRuleFailed"
SCALE_FAILED = "ScaleFailed"
UPDATE_STATUS_FAILED = "UpdateStatusFailed"
