"""Bindings in their old version hold what they held before, and what they cannot hold is dropped, not broken."""

from typing import Any

import pytest

from karmada.api.work.conversion import UnknownVersionError, convert

Json = dict[str, Any]

RESOURCE = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "ns", "name": "web", "resourceVersion": "7"}
AMOUNTS = {"cpu": "100m", "memory": 1024}
CLUSTERS = [{"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 1}]
ITEM = {"clusterName": "m1", "applied": True, "status": {"replicas": 2}}
CONDITION = {
    "type": "Scheduled",
    "status": "True",
    "reason": "Success",
    "message": "",
    "lastTransitionTime": "2026-03-02T10:00:00Z",
}


def binding(version: str, spec: Json, status: Json) -> Json:
    metadata = {
        "name": "web-deployment",
        "labels": {"a": "b"},
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
    }
    return {"apiVersion": f"work.karmada.io/{version}", "metadata": metadata, "spec": spec, "status": status}


OLD = binding(
    "v1alpha1",
    {"resource": RESOURCE | {"replicas": 3, "resourcePerReplicas": AMOUNTS}, "clusters": CLUSTERS},
    {"conditions": [CONDITION], "aggregatedStatus": [ITEM]},
)
NEW = binding(
    "v1alpha2",
    {
        "resource": RESOURCE,
        "replicas": 3,
        "replicaRequirements": {"resourceRequest": AMOUNTS},
        "clusters": CLUSTERS,
    },
    {"conditions": [CONDITION], "aggregatedStatus": [ITEM]},
)
RICH = binding(
    "v1alpha2",
    {
        "resource": RESOURCE | {"uid": "u1"},
        "replicas": 3,
        "replicaRequirements": {"resourceRequest": AMOUNTS, "priorityClassName": "high"},
        "clusters": [CLUSTERS[0] | {"components": [{"name": "jobmanager", "replicas": 1}]}, CLUSTERS[1]],
        "placement": {"clusterAffinity": {"clusterNames": ["m1"]}},
        "suspension": {"scheduling": True},
    },
    {"schedulerObservedGeneration": 4, "conditions": [CONDITION], "aggregatedStatus": [ITEM | {"health": "Healthy"}]},
)


@pytest.mark.parametrize(
    ("given", "version", "converted"),
    [
        pytest.param(OLD, "v1alpha2", NEW, id="old to new"),
        pytest.param(NEW, "v1alpha1", OLD, id="new to old"),
        pytest.param(RICH, "v1alpha1", OLD, id="what the old version cannot hold is dropped"),
        pytest.param(RICH, "v1alpha2", RICH, id="same version"),
        pytest.param(OLD, "v1alpha1", OLD, id="same old version"),
    ],
)
@pytest.mark.parametrize("kind", ["ResourceBinding", "ClusterResourceBinding"])
def test_binding_is_converted(kind: str, given: Json, version: str, converted: Json) -> None:
    assert convert(given | {"kind": kind}, f"work.karmada.io/{version}") == converted | {"kind": kind}


def test_a_binding_without_replicas_stays_without() -> None:
    plain = {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "spec": {"resource": RESOURCE}}
    assert convert(plain, "work.karmada.io/v1alpha1")["spec"] == {"resource": RESOURCE}


@pytest.mark.parametrize(
    ("kind", "version"),
    [("ResourceBinding", "work.karmada.io/v2"), ("Work", "work.karmada.io/v1alpha1"), ("Deployment", "apps/v1")],
)
def test_anything_else_is_refused(kind: str, version: str) -> None:
    with pytest.raises(UnknownVersionError, match=kind):
        convert(OLD | {"kind": kind}, version)
