"""What override policies change, as a diff: of small objects, once for clusters that get the same."""

import asyncio

import msgspec
from tests.growth import work

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.policy.v1alpha1 import OverridePolicy
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.dashboard.workload import LARGEST, _overrides
from karmada.explain.why.facts import Facts
from karmada.machinery.discovery import ApiResource
from karmada.machinery.transport import GroupVersionResource, JSONObject

KIND = ApiResource(GroupVersionResource("", "v1", "configmaps"), "ConfigMap", True)
POLICY = msgspec.convert(
    {
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}],
            "overrideRules": [{"overriders": {"labelsOverrider": [{"operator": "add", "value": {"a": "b"}}]}}],
        },
    },
    OverridePolicy,
)


def shown(clusters: int, data: dict[str, str]) -> list[JSONObject]:
    names = [f"m{number}" for number in range(clusters)]
    metadata = {"name": "c", "namespace": "default"}
    template = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "namespace": "default"}
    spec = {"resource": resource, "clusters": [{"name": name} for name in names]}
    facts = Facts(KIND, "default", "c", template, overrides=[POLICY])
    facts.binding = msgspec.convert(
        {"metadata": {"name": "c-configmap", "namespace": "default"}, "spec": spec}, ResourceBinding
    )
    facts.clusters = [msgspec.convert({"metadata": {"name": name}, "spec": {}}, Cluster) for name in names]
    return asyncio.run(_overrides(facts))


def test_a_diff_is_made_once_for_all_clusters_that_get_the_same() -> None:
    data = {f"key-{number}": "value" for number in range(100)}
    one, other = shown(2, data)
    assert one["diff"].startswith("--- ConfigMap c\n+++ in m0\n@@")
    assert "+  labels:" in one["diff"]
    assert other["diff"] == one["diff"].replace("in m0", "in m1")
    assert work(lambda: len(shown(20, data))).calls < 3 * work(lambda: len(shown(1, data))).calls


def test_an_object_that_takes_long_to_be_written_is_not_compared() -> None:
    (found,) = shown(1, {"key": "v" * LARGEST})
    assert found["diff"].endswith(f"the object has more than {LARGEST} bytes: it is not compared line by line\n")
