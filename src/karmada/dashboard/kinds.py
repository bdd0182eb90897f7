"""The kinds that boards follow."""

from karmada.machinery.transport import GroupVersionResource

CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
WIDE_BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "clusterresourcebindings")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
WIDE_POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "clusterpropagationpolicies")
WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
EVENTS = GroupVersionResource("", "v1", "events")
TEMPLATES = {
    GroupVersionResource("apps", "v1", "deployments"): ("apps/v1", "Deployment"),
    GroupVersionResource("apps", "v1", "statefulsets"): ("apps/v1", "StatefulSet"),
    GroupVersionResource("apps", "v1", "daemonsets"): ("apps/v1", "DaemonSet"),
    GroupVersionResource("batch", "v1", "jobs"): ("batch/v1", "Job"),
    GroupVersionResource("batch", "v1", "cronjobs"): ("batch/v1", "CronJob"),
}
"""Kinds of which those that no policy propagates are shown too."""
ON_DEMAND = {"events": EVENTS, "drift": WORKS}
"""Topics whose kind is followed only while somebody reads them."""
_CLUSTER_SCOPED = (CLUSTERS, WIDE_BINDINGS, WIDE_POLICIES)


def kinds_of(namespace: str) -> list[GroupVersionResource]:
    """What a board of one namespace, or of all (empty), may follow."""
    kinds = [CLUSTERS, BINDINGS, *TEMPLATES, POLICIES, WIDE_POLICIES, EVENTS]
    return kinds if namespace else [*kinds, WIDE_BINDINGS, WORKS]


def scope_of(kind: GroupVersionResource, namespace: str) -> str:
    """The namespace in which a board of a namespace reads a kind."""
    return "" if kind in _CLUSTER_SCOPED else namespace
