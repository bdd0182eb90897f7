"""The collections that workload controllers follow."""

from karmada.machinery.transport import GroupVersionResource

PODS = GroupVersionResource("", "v1", "pods")
NODES = GroupVersionResource("", "v1", "nodes")
SERVICES = GroupVersionResource("", "v1", "services")
CLAIMS = GroupVersionResource("", "v1", "persistentvolumeclaims")
VOLUMES = GroupVersionResource("", "v1", "persistentvolumes")
QUOTAS = GroupVersionResource("", "v1", "resourcequotas")
LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
REPLICA_SETS = GroupVersionResource("apps", "v1", "replicasets")
STATEFUL_SETS = GroupVersionResource("apps", "v1", "statefulsets")
DAEMON_SETS = GroupVersionResource("apps", "v1", "daemonsets")
CONTROLLER_REVISIONS = GroupVersionResource("apps", "v1", "controllerrevisions")
JOBS = GroupVersionResource("batch", "v1", "jobs")
CRON_JOBS = GroupVersionResource("batch", "v1", "cronjobs")
ENDPOINTS = GroupVersionResource("", "v1", "endpoints")
ENDPOINT_SLICES = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")
AUTOSCALERS = GroupVersionResource("autoscaling", "v2", "horizontalpodautoscalers")
BUDGETS = GroupVersionResource("policy", "v1", "poddisruptionbudgets")
STORAGE_CLASSES = GroupVersionResource("storage.k8s.io", "v1", "storageclasses")
ATTRIBUTES_CLASSES = GroupVersionResource("storage.k8s.io", "v1", "volumeattributesclasses")
