"""Nonsense in bindings, clusters and estimates: the condition names field and reason, and nobody else is disturbed."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.scheduler.plane import CLUSTERS, DYNAMIC, Plane, on_a_plane

from karmada.machinery.errors import Invalid
from karmada.scheduler.core.facts import Estimates
from karmada.scheduler.core.request import Binding
from karmada.scheduler.core.snapshot import Snapshot

NO_MATCH = "did not match the placement cluster affinity constraint."


def spread(**constraint: Any) -> dict[str, Any]:
    return {"placement": {"spreadConstraints": [constraint]}}


def needing(**amounts: str) -> dict[str, Any]:
    return {"placement": {"replicaScheduling": DYNAMIC}, "replicaRequirements": {"resourceRequest": amounts}}


def chosen(**affinity: Any) -> dict[str, Any]:
    return {"placement": {"clusterAffinity": affinity}}


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "too many groups asked for": (
        spread(spreadByField="cluster", minGroups=7, maxGroups=9),
        "SchedulerError",
        "spreadConstraint.MinGroups",
    ),
    "fewer at most than at least": (
        spread(spreadByField="cluster", minGroups=3, maxGroups=1),
        "SchedulerError",
        "spec.placement.spreadConstraints[0]: Invalid value",
    ),
    "a negative number of groups": (
        spread(spreadByField="cluster", minGroups=-3, maxGroups=-1),
        "SchedulerError",
        "minGroups lower than 0 is not allowed",
    ),
    "a property nobody has": (
        spread(spreadByField="region", minGroups=1),
        "NoClusterFit",
        "did not have region property",
    ),
    "an unknown cluster": (
        chosen(clusterNames=["ghost"]),
        "NoClusterFit",
        'spec.placement.clusterAffinity.clusterNames: Not found: "ghost": there is no such cluster',
    ),
    "an unknown field": (
        chosen(fieldSelector={"matchExpressions": [{"key": "planet", "operator": "In", "values": ["x"]}]}),
        "NoClusterFit",
        'unsupported key "planet", must be provider, region, or zone',
    ),
    "an unknown operator": (
        chosen(labelSelector={"matchExpressions": [{"key": "a", "operator": "Wrong"}]}),
        "NoClusterFit",
        "spec.placement.clusterAffinity.labelSelector.matchExpressions[0].operator",
    ),
    "negative replicas": (
        {"replicas": -5},
        "SchedulerError",
        "spec.replicas: Invalid value: -5: must not be negative",
    ),
    "a negative amount": (
        needing(cpu="-1"),
        "SchedulerError",
        'spec.replicaRequirements.resourceRequest[cpu]: Invalid value: "-1": must not be negative',
    ),
    "a negative amount of a component": (
        {"components": [{"name": "a", "replicas": 1, "replicaRequirements": {"resourceRequest": {"cpu": "-1"}}}]},
        "SchedulerError",
        'spec.components[0].replicaRequirements.resourceRequest[cpu]: Invalid value: "-1": must not be negative',
    ),
    "negative replicas of a component": (
        {"components": [{"name": "a", "replicas": -2}]},
        "SchedulerError",
        "spec.components[0].replicas: Invalid value: -2: must not be negative",
    ),
    "an absurd amount": (needing(pods="9E"), "Unschedulable", "available replicas 0 are not enough"),
    "absurdly many replicas": (
        {"replicas": 2**31 - 1, "placement": {"replicaScheduling": DYNAMIC}},
        "Unschedulable",
        "available replicas 200 are not enough",
    ),
}


@pytest.mark.parametrize(("spec", "reason", "message"), BAD.values(), ids=BAD)
def test_the_condition_names_field_and_reason(spec: dict[str, Any], reason: str, message: str) -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.join("member2")
        await plane.bind("bad", **spec)
        await plane.bind("good")
        await plane.settle(2)
        condition = await plane.condition("bad")
        assert (condition["status"], condition["reason"]) == ("False", reason)
        assert message in condition["message"]
        assert await plane.result("bad") == {}
        assert await plane.result("good") == {"member1": 2, "member2": 2}

    on_a_plane(scenario)


@pytest.mark.parametrize(
    "weights", [[("ghost", 3)], [("member1", 2**62), ("member2", 2**62)]], ids=["an unknown cluster", "huge numbers"]
)
def test_strange_weights_still_divide_everything(weights: list[tuple[str, int]]) -> None:
    static = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in weights]
    scheduling = DYNAMIC | {"weightPreference": {"staticWeightList": static}}

    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.join("member2")
        await plane.bind("web", 4, {"replicaScheduling": scheduling})
        await plane.settle()
        assert await plane.result("web") == {"member1": 2, "member2": 2}

    on_a_plane(scenario)


MODELS: dict[str, list[dict[str, Any]]] = {
    "a grade without ranges": [{"grade": 0, "ranges": []}, {"grade": 1, "ranges": []}],
    "amounts that are none": [{"grade": 0, "ranges": [{"name": "cpu", "min": "-4", "max": "-1"}]}],
}


@pytest.mark.parametrize("models", MODELS.values(), ids=MODELS)
def test_a_cluster_with_broken_models_does_not_disturb_the_others(models: list[dict[str, Any]]) -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1", resourceModels=models)
        await plane.join("member2")
        summary = {
            "allocatable": {"cpu": "4", "pods": "10"},
            "allocatableModelings": [{"grade": 0, "count": 1}, {"grade": 7, "count": -3}, {"grade": 2, "count": 2**40}],
        }
        for name in ("member1", "member2"):
            await plane.client.resource(CLUSTERS).patch(
                name, {"status": {"resourceSummary": summary}}, subresource="status"
            )
        await plane.bind("web", 2, **needing(cpu="1"))
        await plane.settle()
        assert (await plane.condition("web"))["status"] == "True"
        assert sum((await plane.result("web")).values()) == 2

    on_a_plane(scenario)


def test_models_with_holes_are_refused_by_field() -> None:
    models = [
        {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "1"}]},
        {"grade": 5, "ranges": [{"name": "cpu", "min": "16", "max": "32"}]},
    ]

    async def scenario(plane: Plane) -> None:
        with pytest.raises(Invalid, match=r"spec\.resourceModels: Invalid value"):
            await plane.join("member1", resourceModels=models)

    on_a_plane(scenario)


class Estimator:
    """Gives prepared answers; a cluster with None never answers."""

    def __init__(self, answers: dict[str, int | None]) -> None:
        self._answers = answers

    async def estimate(self, snapshot: Snapshot, binding: Binding, clusters: Sequence[str], sets: bool) -> Estimates:
        if binding.metadata.name == "good":
            return {}
        if None in self._answers.values():
            await asyncio.Event().wait()
        return {name: answer for name, answer in self._answers.items() if answer is not None}

    def forget(self, cluster: str) -> None:
        """Nothing is kept."""


LIES: dict[str, tuple[dict[str, int | None], dict[str, int]]] = {
    "more than there is": ({"member1": 2**31 - 1, "member2": 2**40}, {"member1": 2, "member2": 2}),
    "less than nothing": ({"member1": -7}, {"member1": 2, "member2": 2}),
    "about strangers": ({"ghost": 5}, {"member1": 2, "member2": 2}),
    "two that disagree": ({"member1": 4, "member2": 100}, {"member1": 1, "member2": 3}),
}


@pytest.mark.parametrize(("answers", "result"), LIES.values(), ids=LIES)
def test_an_estimator_cannot_talk_more_into_a_cluster_than_it_reports(
    answers: dict[str, int | None], result: dict[str, int]
) -> None:
    async def scenario(plane: Plane) -> None:
        for name in ("member1", "member2"):
            await plane.join(name, pods=10)
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        assert await plane.result("web") == result

    on_a_plane(scenario, estimator=Estimator(answers))


def test_an_estimator_that_hangs_holds_up_its_binding_only() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC})
        await plane.bind("good")
        await plane.settle()
        assert await plane.result("good") == {"member1": 2}
        assert await plane.result("web") == {}

    on_a_plane(scenario, estimator=Estimator({"member1": None}))
