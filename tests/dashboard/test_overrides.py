"""What override policies change, as a diff: of small objects, once for clusters that get the same."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from threading import Event

import msgspec
import pytest
from tests.explain import samples
from tests.growth import work

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.policy.v1alpha1 import OverridePolicy, ResourceSelector
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.apiserver.requests import offload
from karmada.dashboard.differences import LARGEST, MOST_SHOWN, Differences
from karmada.dashboard.workload import MOST_COPIED, GivenUp, explained, explaining, overridden
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
    return overridden(facts_of(clusters, data, [POLICY]))


def facts_of(clusters: int, data: dict[str, str], policies: list[OverridePolicy]) -> Facts:
    names = [f"m{number}" for number in range(clusters)]
    metadata = {"name": "c", "namespace": "default"}
    template = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "namespace": "default"}
    spec = {"resource": resource, "clusters": [{"name": name} for name in names]}
    facts = Facts(KIND, "default", "c", template, overrides=policies)
    facts.binding = msgspec.convert(
        {"metadata": {"name": "c-configmap", "namespace": "default"}, "spec": spec}, ResourceBinding
    )
    facts.clusters = [msgspec.convert({"metadata": {"name": name}, "spec": {}}, Cluster) for name in names]
    return facts


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


def test_what_all_diffs_cost_is_bounded() -> None:
    """Objects of two hundred lines that repeat, each another: every diff takes a tenth of a second."""

    def thing(number: int) -> bytes:
        lines = [line for each in range(95) for line in ("x", f"{number}-{each}")]
        return json.dumps({"metadata": {"name": "c"}, "data": lines}).encode()

    plain = json.dumps({"metadata": {"name": "c"}, "data": ["x"] * 191}).encode()
    diffs = Differences()
    made = [diffs.between(plain, thing(number)) for number in range(500)]
    alike = [text.count("\n-") for text in made[:-1]]
    assert (alike[0], max(alike)) == (96, 190), "the first are compared, others are shown as replaced"
    assert made[-1].startswith(f"more than {MOST_SHOWN} bytes"), "and the last are not even written"
    assert diffs.between(b'{"metadata":{"name":"c"}}', plain).startswith(("@@", "more than"))


def test_what_override_policies_make_of_too_many_bytes_is_not_shown_and_said_to_be_not() -> None:
    def said(size: int) -> tuple[str, int]:
        template = samples.deployment(annotations=samples.HOLDER | {"key": "v" * size})
        clusters = [samples.cluster("m1")]
        labels = {"labelsOverrider": [{"operator": "add", "value": {"a": "b"}}]}
        facts = samples.facts({}, {"m1": 3}, clusters, template=template)
        facts.overrides = [samples.override("o", "m1", **labels)]
        found = explained(facts)
        return next(link.text for link in found.links if link.name == "overrides"), len(found.overrides)

    assert said(MOST_COPIED // 2) == ("1 override policy takes effect", 1)
    text, shown_of = said(MOST_COPIED)
    assert (f"more than {MOST_COPIED} bytes" in text, shown_of) == (True, 0)


def test_replicas_are_not_judged_where_override_policies_that_may_set_them_are_not_looked_at() -> None:
    def status(size: int) -> tuple[str, bool]:
        template = samples.deployment(ready=2, annotations=samples.HOLDER | {"key": "v" * size})
        facts = samples.facts({}, {"m1": 3}, [samples.cluster("m1")], template=template)
        facts.overrides = [samples.override("o", "m1", replicasOverrider=[{"operator": "overwrite", "value": 2}])]
        facts.members["m1"].object = samples.copy(2)
        link = explained(facts).links[-1]
        return link.text, link.broken

    assert status(1) == ("2 of 2 replicas are ready", False)
    text = "2 replicas ready; override policies that were not looked at may want more or fewer"
    assert status(MOST_COPIED) == (text, False)


def test_a_workload_is_copied_for_no_override_policies_but_those_that_choose_it() -> None:
    def measured(count: int) -> float:
        spec = msgspec.structs.replace(
            POLICY.spec, resource_selectors=(ResourceSelector(api_version="v1", kind="ConfigMap", name="other"),)
        )
        others = [msgspec.structs.replace(POLICY, spec=spec)] * count
        facts = [facts_of(number, {"key": "value"}, [POLICY, *others]) for number in (1, 11)]
        few, many = (work(lambda one=one: len(explained(one).overrides)).calls for one in facts)
        return many - few

    assert measured(100) == measured(1)


@pytest.mark.parametrize("times", range(9))
def test_an_explanation_that_nobody_waits_for_ends_before_the_next_copy(times: int) -> None:
    """Two passes over all clusters for the chain, one for what is shown: of each the first, a middle and the last."""
    asked = 0

    def go_on() -> None:
        nonlocal asked
        asked += 1
        if asked > times:
            raise GivenUp

    clusters = [samples.cluster(f"m{number}") for number in range(3)]
    facts = samples.facts({}, {one.metadata.name: 1 for one in clusters}, clusters)
    facts.overrides = [samples.override("o", "m1", labelsOverrider=[{"operator": "add", "value": {"a": "b"}}])]
    with pytest.raises(GivenUp):
        explained(facts, go_on)
    assert asked == times + 1


class Clusters(list[Cluster]):
    """Clusters that nobody looks at before they are shown."""

    def __init__(self, clusters: Sequence[Cluster]) -> None:
        super().__init__(clusters)
        self.looked, self.shown = Event(), Event()
        self.looks = 0

    def __iter__(self) -> Iterator[Cluster]:
        self.looks += 1
        self.looked.set()
        assert self.shown.wait(60)
        return super().__iter__()


async def test_an_explanation_ends_with_its_request_and_holds_no_other_large_request_up() -> None:
    whole, left = (facts_of(2, {"key": "value"}, [POLICY]) for _ in range(2))
    clusters = left.clusters = Clusters(left.clusters)
    explanation = asyncio.create_task(explaining(left))
    await asyncio.to_thread(clusters.looked.wait)
    assert await offload.run(offload.LARGE, lambda: "served") == "served"
    explanation.cancel()
    with pytest.raises(asyncio.CancelledError):
        await explanation
    clusters.shown.set()
    assert len((await explaining(whole)).overrides) == 2  # the thread is free again
    looks, clusters.looks = clusters.looks, 0
    explained(left)
    assert looks < clusters.looks
