"""The parts of the pure core, each by itself: room, nodes, candidates, groups and shares in exact numbers."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.growth import work
from tests.scheduler.facts import AGGREGATED, DUPLICATED, DYNAMIC, STATIC, Tree, binding, cluster

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.decision import ConstraintUnmet, NotEnoughRoom, Placed
from karmada.api.feature_gates import FeatureGates
from karmada.api.work.v1alpha2 import Component
from karmada.scheduler.core.amounts import UNLIMITED, amount, requested
from karmada.scheduler.core.assignment import within_room
from karmada.scheduler.core.assumptions import AssumedWorkload
from karmada.scheduler.core.candidate import Candidate, in_order
from karmada.scheduler.core.candidates import Listed, Reach, best_of, group_of, walk
from karmada.scheduler.core.decide import decide
from karmada.scheduler.core.estimation import Capacity, demands_of, model_nodes
from karmada.scheduler.core.grouping import ClusterGroup, Scale, choose
from karmada.scheduler.core.request import Settings
from karmada.scheduler.core.selection import with_room
from karmada.scheduler.core.simulation import MOST_AMOUNTS, Amounts, Demand, Simulation
from karmada.scheduler.core.snapshot import Snapshot

# Amounts and capacity.


def test_cpu_is_counted_in_thousandths_and_all_else_in_whole_units_rounded_up() -> None:
    assert [amount("cpu", "1500m"), amount("memory", "1500m"), amount("pods", 3)] == [1500, 2, 3]
    assert requested({"memory": "1Ki", "cpu": "1m", "gpu": "0"}) == {"cpu": 1, "memory": 1024}


def summary(**parts: Tree) -> Tree:
    return {"allocatable": {"pods": "10", "cpu": "4", "memory": "8Gi"}, **parts}


def capacity(*assumed: AssumedWorkload, **parts: Tree) -> Capacity:
    return Capacity(cluster("m1", summary=summary(**parts)), assumed)


def component(replicas: int, **request: str) -> Component:
    tree = {"name": "c", "replicas": replicas, "replicaRequirements": {"resourceRequest": request}}
    return from_tree(tree, Component)


def test_room_is_what_is_allocatable_without_what_is_allocated_and_being_allocated() -> None:
    found = capacity(allocated={"pods": "3", "cpu": "500m"}, allocating={"pods": "2", "cpu": "1"})
    assert (found.pods, found.free("cpu"), found.free("memory"), found.free("gpu")) == (5, 2500, 8 << 30, 0)
    assert found.replicas(None, by_model=False) == 5
    assert found.replicas({"cpu": 1000}, by_model=False) == 2
    assert found.replicas({"cpu": 100}, by_model=False) == 5
    assert found.replicas({"gpu": 1}, by_model=False) == 0
    assert found.replicas({}, by_model=False) == 5


@pytest.mark.parametrize("taken", ["10", "11", "nonsense"])
def test_a_cluster_that_is_full_or_reports_nonsense_has_no_room(taken: str) -> None:
    found = capacity(allocated={"pods": taken})
    assert found.replicas(None, by_model=False) == found.sets([Demand(0, {})], by_model=False) == 0


def test_a_cluster_that_reports_nothing_has_no_room_and_more_used_than_there_is_leaves_none() -> None:
    assert Capacity(cluster("m1", summary=None)).pods == 0
    assert Capacity(cluster("m1", summary=None)).free("cpu") == 0
    assert capacity(allocated={"cpu": "5"}).free("cpu") == 0
    assert capacity(allocated={"cpu": "3500m"}).free("cpu") == 500
    assert Capacity(cluster("m1", summary={"allocatable": {"cpu": "1"}})).pods == 0


def test_what_was_placed_lately_takes_room() -> None:
    found = capacity(AssumedWorkload("w", (component(3, cpu="1"), component(1, memory="1Gi"))))
    assert (found.pods, found.free("cpu"), found.free("memory")) == (6, 1000, 7 << 30)


def test_whole_sets_fit_as_long_as_all_their_parts_do() -> None:
    demands = demands_of([component(2, cpu="500m"), component(1, memory="1Gi")])
    assert [(demand.replicas, demand.needs) for demand in demands] == [
        (2, {"cpu": 500, "pods": 1}),
        (1, {"memory": 1 << 30, "pods": 1}),
    ]
    assert capacity().sets(demands, by_model=False) == 3
    assert capacity(allocated={"cpu": "2"}).sets(demands, by_model=False) == 2
    assert capacity().sets([Demand(0, {"pods": 1})], by_model=False) == 10
    assert capacity().sets(demands_of([component(1, cpu="x")]), by_model=False) == 0


def graded(*counts: int, pods: int = 1000, grades: int = 3) -> Cluster:
    """A cluster with so many nodes of 1, 2 and 4 cpu."""
    models = [
        {"grade": grade, "ranges": [{"name": "cpu", "min": str(2**grade), "max": "9"}]} for grade in range(grades)
    ]
    modelings = [{"grade": grade, "count": count} for grade, count in enumerate(counts)]
    figures = {"allocatable": {"pods": str(pods), "cpu": "1000"}, "allocatableModelings": modelings}
    return cluster("m1", summary=figures, resourceModels=models)


def test_nodes_of_a_grade_model_take_what_their_lower_bound_has() -> None:
    assert model_nodes(graded(1, 0, 2)) == [(1, {"cpu": 1000, "pods": 110}), (2, {"cpu": 4000, "pods": 110})]
    assert Capacity(graded(1, 0, 2)).replicas({"cpu": 1500}, by_model=True) == 4
    assert Capacity(graded(1, 0, 2)).replicas({"cpu": 1500}, by_model=False) == 666
    assert Capacity(graded(1, 0, 2, pods=3)).replicas({"cpu": 1500}, by_model=True) == 3
    assert Capacity(graded(0, 1)).replicas({"cpu": 1}, by_model=True) == 110
    assert Capacity(graded(1, 0, 1)).sets([Demand(2, {"cpu": 2000, "pods": 1})], by_model=True) == 1


@pytest.mark.parametrize("found", [graded(), graded(1, 1, 1, 1), graded(1, -1), graded(1, grades=0)])
def test_a_grade_model_with_holes_is_not_used(found: Cluster) -> None:
    assert model_nodes(found) is None
    assert Capacity(found).replicas({"cpu": 1000}, by_model=True) == 1000


def test_nodes_of_one_grade_are_equal_however_often_it_is_reported() -> None:
    found = graded(3, 2)
    summary = found.status.resource_summary
    assert summary is not None
    first, second = summary.allocatable_modelings
    one = replace(second, count=1)
    summary = replace(summary, allocatable_modelings=(one, first, replace(second, count=0), one))
    often = replace(found, status=replace(found.status, resource_summary=summary))
    assert model_nodes(often) == model_nodes(found)


# Nodes.


def simulation(*nodes: tuple[int, int]) -> Simulation:
    return Simulation([(count, {"cpu": cpu, "pods": 110}) for count, cpu in nodes])


def demand(replicas: int, cpu: int, nodes: frozenset[int] | None = None) -> Demand:
    return Demand(replicas, {"cpu": cpu, "pods": 1}, nodes)


def test_replicas_fill_the_first_nodes_that_have_room() -> None:
    nodes = simulation((2, 3), (0, 100), (1, 10))
    assert nodes.room(demand(0, 2)) == 2 + 5
    assert nodes.place(demand(3, 2))
    assert nodes.room(demand(0, 1)) == 1 + 1 + 8
    assert nodes.room(demand(0, 8)) == 1
    assert not nodes.place(demand(2, 8))
    assert nodes.room(demand(0, 8)) == 0


def test_a_demand_is_placed_on_the_nodes_that_it_may_use() -> None:
    nodes = simulation((1, 4), (1, 4))
    assert nodes.room(demand(0, 1, frozenset({1}))) == 4
    assert nodes.place(demand(4, 1, frozenset({1})))
    assert not nodes.place(demand(1, 1, frozenset({1})))
    assert nodes.place(demand(4, 1))


def one_after_another(nodes: Simulation, demands: list[Demand], limit: int) -> int:
    """How many sets are placed, each by itself."""
    count = 0
    while count < limit and nodes.place_set(demands):
        count += 1
    return count


amounts = st.fixed_dictionaries({"cpu": st.integers(-1, 12), "pods": st.integers(0, 8)})
equal_nodes = st.lists(st.tuples(st.integers(0, 40), amounts), max_size=4)
needs = st.fixed_dictionaries({"cpu": st.integers(1, 7), "pods": st.integers(1, 2)})
places = st.none() | st.frozensets(st.integers(0, 3))
sets_of_demands = st.lists(st.builds(Demand, st.integers(0, 7), needs, places), min_size=1, max_size=4)


@settings(max_examples=1000)
@given(equal_nodes, sets_of_demands, st.integers(1, 300))
@example([(40, {"cpu": 4, "pods": 8})], [Demand(1, {"cpu": 1, "pods": 1}), Demand(2, {"cpu": 3, "pods": 1})], 300)
@example([(5, {"cpu": 4, "pods": 8}), (5, {"cpu": 4, "pods": 8})], [Demand(1, {"cpu": 3, "pods": 1})] * 2, 300)
def test_sets_that_are_placed_together_are_those_that_are_placed_one_after_another(
    nodes: list[tuple[int, Amounts]], demands: list[Demand], limit: int
) -> None:
    if any(part.replicas for part in demands):
        assert Simulation(nodes).sets(demands, limit) == one_after_another(Simulation(nodes), demands, limit)


@pytest.mark.parametrize(
    ("demands", "each"),
    [
        ([demand(1, 5)], 2),
        ([demand(7, 4)], 2 / 7),
        ([demand(1, 3), demand(1, 2)], 2),
        ([demand(2, 3), demand(1, 4)], 1),
    ],
    ids=["some in each", "one in several", "two together", "two that fill one"],
)
def test_any_number_of_equal_nodes_is_filled_in_some_steps(demands: list[Demand], each: float) -> None:
    count = 7 * 2**40
    assert simulation((count, 10)).sets(demands, 2**60) == count * each


def test_demands_that_fill_nodes_apart_are_placed_in_some_steps() -> None:
    """The second follows in what the first leaves of each node, far behind it."""
    demands = [demand(1, 6), demand(1, 1)]
    assert simulation((2**40, 10)).sets(demands, 2**60) == 2**40


@pytest.mark.parametrize("parts", [5, 20, 60])
def test_no_more_work_is_done_than_a_cluster_is_worth(parts: int) -> None:
    """Nodes that sets leave unlike each other are looked at by every demand."""
    nodes = simulation(*((10**9, 10**4 * 2**grade) for grade in range(9)))
    demands = [demand(1 + number % 3, 50 + number * 37 % 350) for number in range(parts)]
    assert work(lambda: nodes.sets(demands, 2**60)).calls < 10 * MOST_AMOUNTS


def test_beyond_that_at_least_as_many_sets_fit_as_are_found() -> None:
    """One fits into each node."""
    nodes = Simulation((1, {"cpu": 4, "pods": 10}) for _ in range(MOST_AMOUNTS))
    assert 1000 < nodes.sets([demand(1, 1), demand(1, 3)], 2**60) < MOST_AMOUNTS


def test_the_first_set_is_placed_whatever_it_takes() -> None:
    count = MOST_AMOUNTS // 2
    nodes = Simulation((1, {"cpu": 10, "pods": 10}) for _ in range(count))
    assert nodes.sets([demand(count, 10)], 2**60) == 1


def test_sets_are_placed_whole_up_to_a_limit() -> None:
    assert simulation((2, 5)).sets([demand(1, 3), demand(1, 2)], 9) == 2
    assert simulation((2, 5)).sets([demand(1, 3), demand(1, 2)], 1) == 1
    assert simulation((2, 5)).sets([demand(0, 3)], 9) == 9
    assert simulation((2, 5)).sets([demand(3, 3)], 9) == 0
    assert not simulation((1, 5)).place_set([demand(1, 3), demand(1, 3)])
    assert simulation((1, 5)).place(demand(1, 1))


# Candidates and groups.


def candidate(name: str, available: int = 0, score: int = 0, tier: int = 0, **spec: Any) -> Candidate:
    return Candidate(name, cluster(name, **spec), score, available, available, tier)


def test_candidates_are_preferred_by_tier_score_room_and_name() -> None:
    found = [candidate("d"), candidate("c", 1), candidate("b", 0, 100), candidate("a", 9, 100, 1), candidate("e")]
    assert [one.name for one in in_order(found)] == ["b", "c", "d", "e", "a"]


def test_a_walk_ends_where_enough_clusters_have_enough_room() -> None:
    found = [candidate("a", 4, 10), candidate("b", 3, 5), candidate("c", 2, 1)]
    assert walk(found, 4, 1) == Reach(4, 10, 1)
    assert walk(found, 5, 1) == Reach(7, 15, 2)
    assert walk(found, 4, 2) == Reach(7, 15, 2)
    assert walk(found, 99, 1) == Reach(9, 16, 3)
    assert Listed(found).able(3) == (2, 15)
    assert Listed(found).reach(5, 1) == Reach(7, 15, 2)


@pytest.mark.parametrize("count", [3, 16, 17, 40])
def test_a_list_holds_those_that_are_in_it_however_long_it_is(count: int) -> None:
    found = Listed([candidate(f"m{number}") for number in range(count)])
    assert [found.holds(f"m{number}") for number in (0, count - 1, count)] == [True, True, False]
    assert (len(found), len(list(found)), len(found.first(2))) == (count, count, 2)
    assert list(found.frozen_names()) == found.names() == [f"m{number}" for number in range(count)]


def test_the_best_of_every_group_come_first_and_then_the_best_of_all() -> None:
    north = Listed([candidate("a", 9), candidate("b", 8), candidate("c", 7)])
    south = Listed([candidate("d", 3), candidate("e", 2)])
    assert [one.name for one in best_of([north, south], 4)] == ["a", "d", "b", "c"]
    assert [one.name for one in best_of([north, south], 3)] == ["a", "d", "b"]
    assert [one.name for one in best_of([north, south], 1)] == ["a", "d"]


def test_clusters_are_grouped_by_region_provider_zone_or_label() -> None:
    one = cluster("m1", labels={"rack": "7"}, region="r", provider="p", zones=["z2", "z1"])
    assert [group_of(one, by) for by in ("region", "provider", "zone")] == ["r", "p", "z1"]
    assert [group_of(one, "label", key) for key in ("rack", "none")] == ["7", ""]
    assert group_of(cluster("m2"), "zone") == ""


def test_a_group_weighs_by_how_well_it_holds_the_replicas() -> None:
    members = Listed([candidate("a", 4, 30), candidate("b", 3, 10), candidate("c", 2, 20)])
    assert Scale(4, 1).weigh(members) == 4 * 1000 + 30
    assert Scale(5, 1).weigh(members) == 5 * 1000 + 20
    assert Scale(9, 1).weigh(members) == 9 * 1000 + 20
    assert Scale(10, 1).weigh(members) == 9 * 1000 + 20
    assert Scale(3, each=True).weigh(members) == 2 * 1000 + 20
    assert Scale(5, each=True).weigh(members) == 0


GROUPS = [ClusterGroup("a", 1, 50), ClusterGroup("b", 2, 40), ClusterGroup("c", 3, 30), ClusterGroup("d", 1, 50)]


@pytest.mark.parametrize(
    ("fewest", "most", "clusters", "chosen", "combinations"),
    [
        (1, 4, 0, "a", 4),
        (2, 4, 2, "ad", 6),
        (2, 2, 4, "ac", None),
        (1, 2, 5, "bc", None),
        (4, 4, 0, "adbc", 1),
        (5, 5, 0, "", 0),
        (1, 1, 4, "", 0),
    ],
)
def test_the_heaviest_groups_with_enough_clusters_are_chosen(
    fewest: int, most: int, clusters: int, chosen: str, combinations: int | None
) -> None:
    found = choose(GROUPS, fewest, most, clusters)
    assert "".join(group.name for group in found.groups) == chosen
    assert combinations in (None, found.combinations)


@pytest.mark.parametrize(
    ("count", "need", "chosen"),
    [(2, 7, "ab"), (2, 9, "ad"), (2, 12, "ad"), (2, 14, "cd"), (2, 15, ""), (1, 8, "c"), (3, 0, "abc")],
)
def test_the_worst_candidates_are_exchanged_for_roomier_ones_until_the_need_is_met(
    count: int, need: int, chosen: str
) -> None:
    found = [candidate("a", 4), candidate("b", 3), candidate("c", 8), candidate("d", 6)]
    expected = {"ad": "ac", "cd": "dc", "": ""}.get(chosen, chosen)
    assert "".join(one.name for one in with_room(found, count, need)) == expected


# Shares.


def shares(replicas: int, scheduling: Tree, held: dict[str, int] | None = None, **spec: Any) -> dict[str, int] | str:
    """What three clusters with room for 10, 6 and 2 get, or why nobody gets anything."""
    fleet = Snapshot([cluster("m1", 10), cluster("m2", 6), cluster("m3", 2)])
    outcome = decide(fleet, binding(replicas, {"replicaScheduling": scheduling}, held, **spec), {}).outcome
    if not isinstance(outcome, Placed):
        assert isinstance(outcome, NotEnoughRoom | ConstraintUnmet)
        return outcome.message
    return {target.name: target.replicas for target in outcome.clusters}


NONE = "failed to assign replicas: "
FULL = "Clusters available replicas 18 are not enough to schedule."
ANEW = {"rescheduleTriggeredAt": "2026-01-02T00:00:00Z", "status": {"lastScheduledTime": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("replicas", "scheduling", "held", "expected"),
    [
        (9, DYNAMIC, {}, {"m1": 5, "m2": 3, "m3": 1}),
        (18, DYNAMIC, {}, {"m1": 10, "m2": 6, "m3": 2}),
        (19, DYNAMIC, {}, f"{NONE}failed to scale up: {FULL}"),
        (4, DYNAMIC, {"m1": 3, "m2": 1}, {"m1": 3, "m2": 1}),
        (3, DYNAMIC, {"m1": 4, "m2": 2}, {"m1": 2, "m2": 1}),
        (13, DYNAMIC, {"m2": 4}, {"m1": 5, "m2": 7, "m3": 1}),
        (11, AGGREGATED, {}, {"m1": 7, "m2": 4}),
        (10, AGGREGATED, {}, {"m1": 10}),
        (6, AGGREGATED, {"m3": 4}, {"m3": 6}),
        (9, AGGREGATED, {"m3": 4}, {"m1": 4, "m3": 5}),
        (3, DUPLICATED, {}, {"m1": 3, "m2": 3, "m3": 3}),
        (6, STATIC, {}, {"m1": 2, "m2": 2, "m3": 2}),
    ],
)
def test_replicas_are_shared_by_room_and_stay_where_they_are(
    replicas: int, scheduling: Tree, held: dict[str, int], expected: dict[str, int] | str
) -> None:
    assert shares(replicas, scheduling, held) == expected


def test_who_is_divided_anew_counts_what_it_holds_as_room() -> None:
    assert shares(9, DYNAMIC, {"m3": 7}, **ANEW) == {"m1": 4, "m2": 2, "m3": 3}
    assert shares(26, DYNAMIC, {"m3": 7}, **ANEW) == (
        f"{NONE}failed to do fresh scale: Clusters available replicas 25 are not enough to schedule."
    )


def test_a_single_replica_is_shared_too() -> None:
    assert shares(1, DYNAMIC) == {"m1": 1}


def test_a_candidate_with_room_for_one_more_is_exchanged() -> None:
    found = [candidate("a", 4), candidate("b", 3), candidate("c", 4)]
    assert "".join(one.name for one in with_room(found, 2, 8)) == "ac"


def test_replicas_of_a_cluster_that_is_gone_are_shared_anew() -> None:
    assert shares(9, DYNAMIC, {"m9": 9}) == {"m1": 5, "m2": 3, "m3": 1}


EVENLY = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Evenly"}


def test_an_unknown_strategy_is_named() -> None:
    named = "replicaSchedulingType: Divided, replicaDivisionPreference: Evenly, please"
    assert named in str(shares(5, EVENLY))
    outcome = tiers(12, EVENLY).outcome
    assert isinstance(outcome, ConstraintUnmet)
    assert named in outcome.message


@pytest.mark.parametrize(
    ("replicas", "scheduling", "held", "mode"),
    [
        (4, DYNAMIC, {"m1": 3, "m2": 1}, "keep"),
        (3, DYNAMIC, {"m1": 3, "m2": 1}, "scale down"),
        (5, DYNAMIC, {"m1": 3, "m2": 1}, "scale up"),
        (5, AGGREGATED, {}, "scale up"),
        (5, STATIC, {}, "whole"),
        (5, DUPLICATED, {}, "whole"),
    ],
)
def test_a_decision_says_how_replicas_were_divided(
    replicas: int, scheduling: Tree, held: dict[str, int], mode: str
) -> None:
    fleet = Snapshot([cluster("m1", 10), cluster("m2", 6), cluster("m3", 2)])
    made = decide(fleet, binding(replicas, {"replicaScheduling": scheduling}, held), {})
    assert [part.mode for part in made.decisive.divisions] == [mode]


def test_weights_within_room_are_named_as_such() -> None:
    fleet = Snapshot([cluster("m1", 4), cluster("m2", 20)])
    settings = Settings(FeatureGates({"RoomAwareScaling": True}))
    made = decide(fleet, binding(12, {"replicaScheduling": STATIC}), {}, settings)
    assert isinstance(made.outcome, Placed)
    assert {target.name: target.replicas for target in made.outcome.clusters} == {"m1": 4, "m2": 8}
    assert [part.mode for part in made.decisive.divisions] == ["within room"]


@pytest.mark.parametrize(
    ("replicas", "weights", "room", "expected"),
    [
        (6, {"a": 1, "b": 1}, {"a": 9, "b": 9}, {"a": 3, "b": 3}),
        (6, {"a": 1, "b": 1}, {"a": 2, "b": 9}, {"a": 2, "b": 4}),
        (6, {"a": 1, "b": 1}, {"a": 3, "b": 3}, {"a": 3, "b": 3}),
        (6, {"a": 1, "b": 1, "c": 1}, {"a": 0, "b": 1}, {"a": 2, "b": 2, "c": 2}),
        (7, {"a": 2, "b": 1}, {"a": 1, "b": 1}, {"a": 5, "b": 2}),
    ],
)
def test_no_share_exceeds_its_room_while_another_has_some(
    replicas: int, weights: dict[str, int], room: dict[str, int], expected: dict[str, int]
) -> None:
    assert within_room(replicas, weights, room) == expected


def tiers(replicas: int, scheduling: Tree = DYNAMIC) -> Any:
    affinity = {
        "affinityName": "near",
        "clusterNames": ["m1"],
        "overflowAffinities": [{"affinityName": name, "clusterNames": [name]} for name in ("m2", "m3")],
    }
    placement = {"clusterAffinities": [affinity], "replicaScheduling": scheduling}
    fleet = Snapshot([cluster("m1", 10), cluster("m2", 6), cluster("m3", 2)])
    return decide(fleet, binding(replicas, placement), {})


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        (10, {"m1": 10}),
        (12, {"m1": 10, "m2": 2}),
        (18, {"m1": 10, "m2": 6, "m3": 2}),
    ],
)
def test_what_a_tier_has_no_room_for_overflows_to_the_next(replicas: int, expected: dict[str, int]) -> None:
    made = tiers(replicas)
    assert isinstance(made.outcome, Placed)
    assert {target.name: target.replicas for target in made.outcome.clusters} == expected
    assert [part.replicas for part in made.decisive.divisions if part.replicas] == list(expected.values())


def test_more_than_all_tiers_have_room_for_is_refused() -> None:
    outcome = tiers(19).outcome
    assert isinstance(outcome, NotEnoughRoom)
    assert outcome.message == f"{NONE}Clusters available replicas are not enough to schedule."


def test_a_cluster_whose_request_cannot_be_met_by_anything_gets_none() -> None:
    assert UNLIMITED == 2147483647
    needs = {"replicaRequirements": {"resourceRequest": {"cpu": "nonsense"}}}
    assert "Clusters available replicas 0 are not enough" in str(shares(1, DYNAMIC, **needs))
