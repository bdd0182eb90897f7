"""Rows are made of parts of objects: what is skipped must not be missed."""

from typing import Any

import orjson
import pytest
from tests.dashboard.world import deployment

from karmada.dashboard import rows
from karmada.dashboard.kinds import BINDINGS, CLUSTERS, EVENTS, TEMPLATES, WORKS
from karmada.dashboard.shapes import row_maker
from karmada.machinery.transport import GroupVersionResource

ABOUT = {
    "name": "nginx",
    "namespace": "default",
    "generation": 3,
    "labels": {"propagationpolicy.karmada.io/permanent-id": "1", "app": "nginx"},
    "annotations": {
        "propagationpolicy.karmada.io/namespace": "default",
        "propagationpolicy.karmada.io/name": "nginx",
    },
    "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:replicas": {}}}}],
}
CONDITIONS = [
    {"type": "Applied", "status": "False", "message": "it is somebody else's"},
    {"type": "Ready", "status": "False", "reason": "ClusterNotReachable", "message": "no answer"},
    {"type": "Scheduled", "status": "False", "message": "0/2 clusters are available"},
]
RESOURCE = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx", "uid": "1"}
BINDING: dict[str, Any] = {
    "apiVersion": "work.karmada.io/v1alpha2",
    "kind": "ResourceBinding",
    "metadata": ABOUT,
    "spec": {
        "resource": RESOURCE,
        "replicas": 3,
        "clusters": [{"name": "member1", "replicas": 2}, {"name": "member2", "replicas": 1}],
        "requiredBy": [{"name": "other", "clusters": [{"name": "member3"}]}],
        "gracefulEvictionTasks": [{"fromCluster": "member4", "reason": "TaintUntolerated"}],
        "placement": {"clusterAffinity": {"clusterNames": ["member1"]}},
    },
    "status": {
        "conditions": CONDITIONS,
        "aggregatedStatus": [
            {"clusterName": "member1", "applied": True, "health": "Healthy", "status": {"readyReplicas": 2}},
            {"clusterName": "member2", "applied": False, "appliedMessage": "no", "health": "Unhealthy"},
        ],
    },
}
CLUSTER: dict[str, Any] = {
    "metadata": ABOUT,
    "spec": {
        "syncMode": "Pull",
        "provider": "alpha",
        "region": "north",
        "zones": ["a", "b"],
        "taints": [{"key": "maintenance", "value": "yes", "effect": "NoSchedule"}],
    },
    "status": {
        "kubernetesVersion": "v1.33.1",
        "conditions": CONDITIONS,
        "nodeSummary": {"readyNum": 1, "totalNum": 2},
        "resourceSummary": {"allocatable": {"cpu": "4"}, "allocated": {"cpu": "1"}},
        "apiEnablements": [{"groupVersion": "v1", "resources": [{"name": "pods", "kind": "Pod"}]}],
    },
}
EVENT = {
    "metadata": {"uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "involvedObject": RESOURCE,
    "type": "Warning",
    "reason": "Tested",
    "message": "it was",
    "series": {"count": 3, "lastObservedTime": "2026-01-01T00:00:01Z"},
}
WORK = {"metadata": ABOUT, "spec": {"workload": {"manifests": [deployment()]}}, "status": {"conditions": CONDITIONS}}
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
MAKERS = {
    BINDINGS: (rows.binding_row, BINDING),
    CLUSTERS: (rows.cluster_row, CLUSTER),
    EVENTS: (rows.event_row, EVENT),
    WORKS: (rows.work_row, WORK),
    DEPLOYMENTS: (rows.template_row, deployment(replicas=4, app="nginx")),
}


def without_each(tree: Any) -> list[Any]:
    """The tree, and for each of its fields at any depth the tree without it and with nothing in it."""
    found = [tree]
    if isinstance(tree, list):
        found += [[*tree[:n], one, *tree[n + 1 :]] for n, item in enumerate(tree) for one in without_each(item)[1:]]
    if isinstance(tree, dict):
        for name, value in tree.items():
            found.append({key: one for key, one in tree.items() if key != name})
            found += [{**tree, name: one} for one in without_each(value)[1:]]
            if isinstance(value, (dict, list)):
                found.append({**tree, name: None})
    return found


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.resource)
def test_a_row_of_what_is_read_is_the_row_of_the_whole_object(kind: GroupVersionResource) -> None:
    make, whole = MAKERS[kind]
    read = row_maker(kind)
    compared = 0
    kept = {name: whole[name] for name in ("apiVersion", "kind") if name in whole}
    for part in without_each(whole):
        tree = part | kept
        if tree.get("metadata") is None:
            continue  # informers refuse objects without a name
        try:
            wanted = make(tree)
        except (AttributeError, KeyError, TypeError):
            continue  # no server holds such an object
        assert read(orjson.dumps(tree)) == wanted
        compared += 1
    assert compared > 5


def test_templates_say_their_kind_as_lists_leave_it_out() -> None:
    for kind, (api_version, name) in TEMPLATES.items():
        row = row_maker(kind)(orjson.dumps({"metadata": {"name": "x", "namespace": "default"}}))["ref"]
        assert row == {"apiVersion": api_version, "kind": name, "namespace": "default", "name": "x"}


@pytest.mark.parametrize("ready", ["many", {}, [1], True, None])
def test_ready_replicas_that_are_no_number_are_none(ready: Any) -> None:
    said = [{"clusterName": "member1", "status": {"readyReplicas": ready}}]
    row = row_maker(BINDINGS)(orjson.dumps({**BINDING, "status": {"aggregatedStatus": said}}))
    assert (row["clusters"][0]["ready"], row["ready"]) == (0, 0)
