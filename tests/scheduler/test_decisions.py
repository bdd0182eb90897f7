"""Decisions as data and in words, remembered and served; rules of the core that recorded cases do not cover."""

import orjson
import pytest
from tests.scheduler.facts import DYNAMIC, STATIC, Tree, binding, cluster
from tests.scheduler.plane import Plane, on_a_plane

from karmada.api import decision as decisions
from karmada.api.decision import ConstraintUnmet, NoClusterFits, NotEnoughRoom, Placed
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.machinery.client import Client
from karmada.machinery.serving import DiagnosticsRequest, DiagnosticsServer
from karmada.scheduler.core import grouping
from karmada.scheduler.core.decide import decide
from karmada.scheduler.core.grouping import ClusterGroup
from karmada.scheduler.core.rendering import event_message
from karmada.scheduler.core.simulation import Demand, Simulation
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.decision_history import DecisionHistory, Noted
from karmada.scheduler.decisions_route import PREFIX, by_review, decisions_route
from karmada.scheduler.keys import BindingKey

REGION = [{"spreadByField": "region", "minGroups": 1, "maxGroups": 1}]


def fleet() -> Snapshot:
    return Snapshot(
        [
            cluster("m1", 10, region="north"),
            cluster("m2", 20, region="north"),
            cluster("m3", 5, region="south"),
            cluster("m4", 50, region="south", taints=[{"key": "k", "effect": "NoSchedule"}]),
        ]
    )


def result(snapshot: Snapshot, placement: Tree, replicas: int = 6) -> dict[str, int]:
    outcome = decide(snapshot, binding(replicas, placement), {}).outcome
    assert isinstance(outcome, Placed), outcome
    return {target.name: target.replicas for target in outcome.clusters}


def placed(snapshot: Snapshot, subject: ResourceBinding) -> list[str]:
    outcome = decide(snapshot, subject, {}).outcome
    assert isinstance(outcome, Placed), outcome
    return sorted(target.name for target in outcome.clusters)


def test_equals_share_an_attempt_until_a_cluster_changes() -> None:
    snapshot = fleet()
    first, second = (decide(snapshot, binding(6, {"replicaScheduling": DYNAMIC}), {}) for _ in range(2))
    assert second.attempts[0] is first.attempts[0]
    snapshot.put(cluster("m2", 0, region="north"))
    assert result(snapshot, {"replicaScheduling": DYNAMIC}) == {"m1": 4, "m3": 2}


def test_ties_of_equal_bindings_are_their_own() -> None:
    snapshot = Snapshot([cluster("m1", 10), cluster("m2", 10)])
    made = [decide(snapshot, binding(3, {"replicaScheduling": DYNAMIC}, uid=uid), {}) for uid in ("a", "b")]
    assert made[0].outcome != made[1].outcome


def test_who_is_divided_anew_shares_no_attempt_with_who_keeps_what_it_has() -> None:
    snapshot = Snapshot([cluster("m1", 10), cluster("m2", 10)])
    request = {"rescheduleTriggeredAt": "2026-01-02T00:00:00Z"}
    kept, anew = (
        binding(4, {"replicaScheduling": DYNAMIC}, {"m1": 4}, status={"lastScheduledTime": done}, **request)
        for done in ("2026-01-03T00:00:00Z", "2026-01-01T00:00:00Z")
    )
    assert placed(snapshot, kept) == ["m1"]
    assert placed(snapshot, anew) == ["m1", "m2"]


def test_a_workload_without_replicas_shares_no_attempt_with_what_is_none() -> None:
    snapshot = Snapshot([cluster("m1", 10), cluster("m2", 10)])
    anything, workload = (
        binding(0, {"replicaScheduling": DYNAMIC}, **needs) for needs in ({}, {"replicaRequirements": {}})
    )
    assert placed(snapshot, anything) == ["m1", "m2"]
    assert placed(snapshot, workload) == []


def test_a_decision_survives_the_way_to_a_reader() -> None:
    placement = {"spreadConstraints": REGION, "replicaScheduling": DYNAMIC}
    made = decide(fleet(), binding(6, placement, {"m3": 1}), {})
    read = decisions.decode(decisions.encode(made))
    assert read.outcome == made.outcome
    assert dict(read.decisive.rejections) == dict(made.decisive.rejections)
    assert decisions.encode(read) == decisions.encode(made)


def test_a_decision_is_printed_in_one_line_and_says_all_that_led_to_it() -> None:
    placement = {"spreadConstraints": REGION, "replicaScheduling": DYNAMIC}
    made = decide(fleet(), binding(6, placement), {})
    assert event_message(made).endswith("Result: {m1:2, m2:4}")
    attempt = made.decisive
    assert [rejection.plugin for rejection in attempt.rejections["m4"]] == ["TaintToleration"]
    assert attempt.estimates["m2"] == 20
    assert [(group.name, group.clusters) for group in attempt.groups if group.chosen] == [("north", 2)]
    assert [(division.replicas, division.strategy) for division in attempt.divisions] == [(6, "DynamicWeight")]


def test_a_remembered_decision_keeps_saying_what_was_true_then() -> None:
    snapshot = fleet()
    made = decide(snapshot, binding(6, {"replicaScheduling": DYNAMIC}), {})
    before = decisions.encode(made)
    snapshot.put(cluster("m1", 1, region="south", taints=[{"key": "k", "effect": "NoSchedule"}]))
    snapshot.remove("m2")
    decide(snapshot, binding(6, {"replicaScheduling": DYNAMIC}), {})
    assert decisions.encode(made) == before


def test_the_two_kinds_of_no_are_two_types() -> None:
    snapshot = fleet()
    full = decide(snapshot, binding(1000, {"replicaScheduling": DYNAMIC}), {}).outcome
    nowhere = decide(snapshot, binding(1, {"clusterAffinity": {"clusterNames": ["x"]}}), {}).outcome
    spread = [{"spreadByField": "cluster", "minGroups": 9, "maxGroups": 9}]
    unmet = decide(snapshot, binding(1, {"spreadConstraints": spread}), {}).outcome
    assert isinstance(full, NotEnoughRoom)
    assert isinstance(nowhere, NoClusterFits)
    assert isinstance(unmet, ConstraintUnmet)


def test_clusters_can_be_spread_by_a_label() -> None:
    snapshot = Snapshot(
        [
            cluster("m1", 10, labels={"cloud": "a"}),
            cluster("m2", 9, labels={"cloud": "a"}),
            cluster("m3", 8, labels={"cloud": "b"}),
            cluster("m4", 99),
        ]
    )
    spread = [{"spreadByLabel": "cloud", "minGroups": 2, "maxGroups": 2}]
    decision = decide(snapshot, binding(4, {"spreadConstraints": spread}), {})
    assert sorted(decision.decisive.selected) == ["m1", "m2", "m3"]
    assert decision.decisive.rejections["m4"][0].reason == "cluster(s) did not have label cloud"


def test_a_spread_by_region_alone_does_not_limit_clusters() -> None:
    assert result(fleet(), {"spreadConstraints": REGION}) == {"m1": 6, "m2": 6}


@pytest.mark.parametrize("preference", ["Dynamic", "Weighted"], ids=["short form", "canonical form"])
def test_both_spellings_of_dynamic_weight_mean_the_same(preference: str) -> None:
    scheduling = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": preference,
        "dynamicWeight": "AvailableReplicas",
    }
    assert result(fleet(), {"replicaScheduling": scheduling}, 7) == {"m1": 2, "m2": 4, "m3": 1}


def weights(**given: int) -> Tree:
    rules = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in given.items()]
    return {"replicaScheduling": {**STATIC, "weightPreference": {"staticWeightList": rules}}}


def test_a_standby_gets_replicas_only_when_nobody_else_is_left() -> None:
    placement = weights(m1=2, m2=1, m3=0)
    assert result(fleet(), placement) == {"m1": 4, "m2": 2}
    only_standby = {**placement, "clusterAffinity": {"exclude": ["m1", "m2"]}}
    assert result(fleet(), only_standby) == {"m3": 6}


def test_amounts_that_are_none_have_no_room_anywhere() -> None:
    needs = {"resourceRequest": {"cpu": "a lot"}}
    outcome = decide(fleet(), binding(2, {"replicaScheduling": DYNAMIC}, replicaRequirements=needs), {}).outcome
    assert isinstance(outcome, NotEnoughRoom)


def test_an_estimator_can_only_lower_the_estimate() -> None:
    placement = {"replicaScheduling": DYNAMIC}
    estimates = {"m1": 3, "m2": 2**31 - 1, "m3": -1}
    attempt = decide(fleet(), binding(5, placement), estimates).decisive
    assert dict(attempt.estimates) == {"m1": 3, "m2": 20, "m3": 5}


def test_a_search_that_would_take_for_ever_ends() -> None:
    groups = [ClusterGroup(f"r{number:02d}", 1, number) for number in range(60)]
    choice = grouping.choose(groups, 2, 60, 30)
    assert sorted(group.weight for group in choice.groups) == list(range(30, 60))


def test_the_best_groups_are_taken_without_a_search_where_any_will_do() -> None:
    groups = [ClusterGroup(f"r{number:02d}", 3, number % 7) for number in range(400)]
    choice = grouping.choose(groups, 20, 30, 10)
    assert {group.weight for group in choice.groups} == {6}


def test_filling_many_nodes_with_sets_costs_as_much_as_the_sets() -> None:
    simulation = Simulation((1, {"cpu": 4000, "pods": 10}) for _ in range(3000))
    demands = [Demand(1, {"cpu": 1000, "pods": 1}), Demand(1, {"cpu": 3000, "pods": 1})]
    assert simulation.sets(demands, 10**6) == 3000


def test_only_what_is_new_is_remembered() -> None:
    ring, key = DecisionHistory(per_binding=2, bindings=2), BindingKey("default", "web")
    made = [decide(fleet(), binding(count), {}) for count in (1, 1, 2, 3)]
    for moment, decision in enumerate(made):
        ring.note(key, Noted(float(moment), "test", decision))
    assert [noted.at for noted in ring.of(key)] == [3.0, 2.0]
    for name in ("a", "b"):
        ring.note(BindingKey("default", name), Noted(9.0, "test", made[0]))
    assert ring.of(key) == []


@pytest.mark.parametrize(
    ("token", "allowed", "status"),
    [("", True, 401), ("wrong", True, 401), ("right", False, 403), ("right", True, 200)],
    ids=["no token", "unknown token", "not allowed", "allowed"],
)
async def test_decisions_are_served_to_those_who_may_read_the_binding(token: str, allowed: bool, status: int) -> None:
    ring, key = DecisionHistory(), BindingKey("default", "web")
    ring.note(key, Noted(1_700_000_000.0, "placementChanged", decide(fleet(), binding(1), {})))

    async def authorize(given: str, which: BindingKey) -> int:
        assert which == key
        return (200 if allowed else 403) if given == "right" else 401

    diagnostics = DiagnosticsServer(routes={PREFIX: decisions_route(ring, authorize)})
    headers = {"authorization": f"Bearer {token}"} if token else {}
    answer = await diagnostics.answer(DiagnosticsRequest("/decisions/default/web", {}, headers))
    assert answer.status == status
    if status == 200:
        (item,) = orjson.loads(answer.body)["items"]
        assert (item["time"], item["cause"]) == ("2023-11-14T22:13:20Z", "placementChanged")
        assert item["decision"]["outcome"]["kind"] == "Placed"
    else:
        assert b"m1" not in answer.body


def test_tokens_and_permissions_are_checked_by_the_api_server() -> None:
    async def scenario(plane: Plane) -> None:
        authorize = by_review(Client(plane.client.transport))
        assert await authorize("nobody's", BindingKey("default", "web")) == 401

    on_a_plane(scenario)
