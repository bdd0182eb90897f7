"""How often what is wrong with the metadata of an update is reported, as a kube-apiserver 1.36.3 reports it."""

from collections import Counter

import pytest

from karmada.apiserver.schema.metadata import validate_metadata

WRONG = {"labels": {"a b": "c"}, "finalizers": ["x", "c d"]}


def causes(version: str, kind: str, status: bool = False) -> Counter[str]:
    head = {"apiVersion": version, "kind": kind}
    old = {**head, "metadata": {"name": "n", "namespace": "default"}}
    new = {**head, "metadata": {**old["metadata"], **WRONG}}
    return Counter(error.field for error in validate_metadata(new, old, status=status))


@pytest.mark.parametrize(
    ("version", "kind", "labels", "formats", "domains"),
    [
        pytest.param("v1", "ConfigMap", 4, 2, 2, id="as a change and as an object"),
        pytest.param("apps/v1", "Deployment", 3, 1, 1, id="as a change"),
        pytest.param("discovery.k8s.io/v1", "EndpointSlice", 3, 2, 1, id="as an object"),
        pytest.param("policy/v1", "PodDisruptionBudget", 2, 1, 0, id="not by its own rules"),
        pytest.param("v1", "PersistentVolume", 4, 3, 2, id="twice as an object"),
        pytest.param("node.k8s.io/v1", "RuntimeClass", 4, 2, 0, id="without a domain in finalizers"),
    ],
)
def test_each_look_at_an_update_is_a_cause(version, kind, labels, formats, domains):
    found = causes(version, kind)
    assert found["metadata.labels"] == labels
    assert found["metadata.finalizers"] == formats
    assert found["metadata.finalizers[0]"] == found["metadata.finalizers[1]"] == domains


def test_the_status_is_looked_at_less():
    assert causes("v1", "Node", status=True)["metadata.labels"] == 3
    assert causes("batch/v1", "CronJob", status=True)["metadata.labels"] == 2


def test_a_new_object_is_looked_at_once():
    new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n", "namespace": "default", **WRONG}}
    assert Counter(error.field for error in validate_metadata(new, None))["metadata.labels"] == 1
