"""Clusters and bindings for tests of the pure core, and strategies that make them up."""

from typing import Any

from hypothesis import strategies as st

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.work.v1alpha2 import ResourceBinding

Tree = dict[str, Any]
REGIONS = ("r1", "r2", "r3", "r4")


def cluster(name: str, pods: int = 100, *, labels: Tree | None = None, **spec: Any) -> Cluster:
    return from_tree(cluster_tree(name, pods, labels=labels, **spec), Cluster)


def cluster_tree(name: str, pods: int = 100, *, labels: Tree | None = None, **spec: Any) -> Tree:
    enabled = [{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}]
    summary = spec.pop("summary", {"allocatable": {"pods": str(pods), "cpu": "100", "memory": "400Gi"}})
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"syncMode": "Push", **spec},
        "status": {"apiEnablements": enabled, "resourceSummary": summary},
    }


def binding(
    replicas: int, placement: Tree | None = None, clusters: dict[str, int] | None = None, **spec: Any
) -> ResourceBinding:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"}
    status = spec.pop("status", {})
    return from_tree(
        {
            "metadata": {"name": "web-deployment", "namespace": "default"},
            "spec": {
                "resource": {**resource, "uid": spec.pop("uid", "u")},
                "replicas": replicas,
                "placement": placement or {},
                "clusters": [{"name": name, "replicas": count} for name, count in (clusters or {}).items()],
                **spec,
            },
            "status": status,
        },
        ResourceBinding,
    )


DUPLICATED = {"replicaSchedulingType": "Duplicated"}
STATIC = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
DYNAMIC = {**STATIC, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}
AGGREGATED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}

names = st.integers(0, 15).map(lambda number: f"m{number:02d}")


@st.composite
def cluster_trees(draw: st.DrawFn) -> Tree:
    """A cluster: with or without region, taints, models, figures."""
    spec: Tree = {}
    if draw(st.booleans()):
        spec["region"] = draw(st.sampled_from(REGIONS))
    if draw(st.integers(0, 5)) == 0:
        spec["taints"] = [{"key": "k", "value": "v", "effect": draw(st.sampled_from(["NoSchedule", "NoExecute"]))}]
    pods = draw(st.integers(0, 60))
    summary: Tree | None = {
        "allocatable": {"pods": str(pods), "cpu": str(draw(st.integers(0, 20))), "memory": "40Gi"},
        "allocated": {"pods": str(draw(st.integers(0, 5))), "cpu": f"{draw(st.integers(0, 3000))}m"},
    }
    if draw(st.integers(0, 4)) == 0:
        spec["resourceModels"] = [
            {"grade": grade, "ranges": [{"name": "cpu", "min": str(2**grade), "max": str(2 ** (grade + 1))}]}
            for grade in range(3)
        ]
        counts = draw(st.lists(st.integers(-1, 4), min_size=1, max_size=4))
        summary["allocatableModelings"] = [{"grade": grade, "count": count} for grade, count in enumerate(counts)]
    if draw(st.integers(0, 9)) == 0:
        summary = None
    labels = {"env": draw(st.sampled_from(["prod", "dev"])), "tier": draw(st.sampled_from(["a", "b", "c"]))}
    return cluster_tree(draw(names), labels=labels, summary=summary, **spec)


fleets = st.lists(cluster_trees(), max_size=12, unique_by=lambda tree: tree["metadata"]["name"])


@st.composite
def bindings(draw: st.DrawFn) -> ResourceBinding:
    """A binding with any sort of placement."""
    placement: Tree = {}
    strategy = draw(st.sampled_from([None, DUPLICATED, STATIC, DYNAMIC, AGGREGATED]))
    if strategy is not None:
        placement["replicaScheduling"] = strategy
    match draw(st.integers(0, 4)):
        case 0:
            placement["clusterAffinity"] = {"labelSelector": {"matchLabels": {"env": "prod"}}}
        case 1:
            placement["clusterAffinity"] = {"clusterNames": draw(st.lists(names, max_size=6))}
        case 2:
            placement["clusterAffinities"] = [
                {"affinityName": "first", "clusterNames": draw(st.lists(names, max_size=3))},
                {"affinityName": "second", "exclude": draw(st.lists(names, max_size=3))},
            ]
    if draw(st.booleans()):
        placement["clusterTolerations"] = [{"key": "k", "operator": "Exists"}]
    fewest = draw(st.integers(1, 3))
    bounds = {"minGroups": fewest, "maxGroups": fewest + draw(st.integers(0, 3))}
    least, most = draw(st.integers(1, 3)), draw(st.integers(3, 6))
    by_cluster = {"spreadByField": "cluster", "minGroups": least, "maxGroups": most}
    placement["spreadConstraints"] = draw(
        st.sampled_from(
            [
                [],
                [by_cluster],
                [{"spreadByField": "region", **bounds}],
                [{"spreadByField": "region", **bounds}, by_cluster],
                [{"spreadByLabel": "tier", **bounds}, by_cluster],
            ]
        )
    )
    spec: Tree = {}
    if draw(st.booleans()):
        spec["replicaRequirements"] = {"resourceRequest": {"cpu": f"{draw(st.integers(0, 900))}m"}}
    if draw(st.integers(0, 4)) == 0:
        tasks = [{"fromCluster": draw(names), "reason": "TaintUntolerated", "producer": "TaintManager"}]
        spec["gracefulEvictionTasks"] = tasks
    held = draw(st.dictionaries(names, st.integers(0, 9), max_size=4))
    if draw(st.integers(0, 4)) == 0:
        spec["rescheduleTriggeredAt"] = "2026-01-02T00:00:00Z"
        spec["status"] = {"lastScheduledTime": "2026-01-01T00:00:00Z"}
    return binding(draw(st.integers(0, 40)), placement, held, uid=draw(st.sampled_from(["", "a", "b"])), **spec)
