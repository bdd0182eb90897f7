"""Candidates on a kept order are read like those worked out one by one, and corners of the choice of clusters."""

from random import Random
from typing import Any

import pytest
from tests.scheduler.facts import DUPLICATED, DYNAMIC, STATIC, Tree, binding, cluster
from tests.scheduler.test_core_choices import SUBJECTS, message, some, spread

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.decision import Placed
from karmada.api.feature_gates import DEFAULTS
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.scheduler.core.candidates import Candidates
from karmada.scheduler.core.capacity import MANY as MANY_CLUSTERS
from karmada.scheduler.core.capacity import Question, Room
from karmada.scheduler.core.decide import decide, requests
from karmada.scheduler.core.facts import on_kept_order, one_by_one
from karmada.scheduler.core.framework import DEFAULT
from karmada.scheduler.core.grouping import ClusterGroup, Scale, choose
from karmada.scheduler.core.label_changes import steady
from karmada.scheduler.core.ranking import Ranking
from karmada.scheduler.core.request import DEFAULT_SETTINGS, Settings
from karmada.scheduler.core.shared_facts import wanted_facts
from karmada.scheduler.core.simulation import Demand, Simulation
from karmada.scheduler.core.snapshot import LOG, Snapshot
from karmada.scheduler.core.trigger import Need, need


def rankings(snapshot: Snapshot, subject: ResourceBinding) -> tuple[Ranking, Ranking]:
    """The candidates on a kept order, and the same worked out one by one."""
    [request] = requests(snapshot, subject, DEFAULT_SETTINGS)
    wanted = wanted_facts(request, DEFAULT)
    assert wanted is not None
    kept = on_kept_order(snapshot, request, {}, DEFAULT, wanted)
    assert kept is not None
    return kept.ranking, one_by_one(snapshot, request, {}, DEFAULT).ranking


def read(candidates: Candidates) -> list[Any]:
    """All that a choice of clusters reads of candidates."""
    counts = sorted({0, 1, 2, *(one.available for one in candidates)})
    return [
        len(candidates),
        list(candidates),
        candidates.names(),
        list(candidates.frozen_names()),
        [candidates.first(count) for count in range(len(candidates) + 2)],
        [candidates.holds(name) for name in ("m000", "m001", "m005", "none")],
        [candidates.able(count) for count in counts],
        [candidates.reach(share, fewest) for share in counts for fewest in (0, 1, 3, len(candidates), 99)],
    ]


@pytest.mark.parametrize("size", [3, 12])
def test_kept_candidates_are_read_like_those_worked_out_one_by_one(size: int) -> None:
    chance = Random(size)
    fleet = Snapshot(some(chance, f"m{number:03}") for number in range(size))
    for subject in SUBJECTS[::7] + SUBJECTS[1::7]:
        kept, plain = rankings(fleet, subject)
        assert read(kept) == read(plain)
        for by in ("region", "provider", "zone", "label"):
            groups, expected = kept.grouped(by, "rack"), plain.grouped(by, "rack")
            assert len(groups) == len(expected)
            for scale in (Scale(5, 1), Scale(60, 3), Scale(5, each=True)):
                weighed = sorted(expected.weighed(scale))
                assert sorted(groups.weighed(scale)) == sorted(groups.weighed(scale)) == weighed
                assert all(read(groups.members(one.name)) == read(expected.members(one.name)) for one in weighed)


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("held", [{}, {"m1": 1, "m6": 2}])
def test_of_equals_by_room_those_that_come_first_by_name_are_enough(ascending: bool, held: dict[str, int]) -> None:
    fleet = Snapshot([cluster(f"m{number}", 5 if 1 < number < 7 else number) for number in range(9)])
    kept, plain = rankings(fleet, binding(3, {"replicaScheduling": DYNAMIC}, held))
    for count in range(12):
        own = [one for one in plain if one.name in held]
        names = sorted((one.name for one in plain if one.name not in held), reverse=not ascending)
        ranked = sorted(names, key=lambda name: -next(one.available for one in plain if one.name == name))
        found = [one.name for one in kept.roomiest(count, ascending)]
        assert set(found) >= {one.name for one in own} | set(ranked[: max(1, count)])
        if not held:
            assert len(found) == (max(1, count) if count < 9 else 9)


def test_a_region_counts_once_whether_the_binding_goes_there_or_not() -> None:
    north = [cluster(name, 5, region="north") for name in ("m1", "m2")]
    taint = [{"key": "k", "effect": "NoSchedule"}]
    south = cluster("m3", 5, region="south", taints=taint)
    missing = "failed to select clusters: the number of feasible region is less than spreadConstraint.MinGroups"
    two = {**spread("region", 2, 2), "replicaScheduling": DYNAMIC}
    assert message(Snapshot(north), binding(4, two, {"m1": 2})) == missing
    assert message(Snapshot([*north, south]), binding(4, two, {"m1": 2})) == missing
    outcome = decide(Snapshot([*north, south]), binding(4, two, {"m3": 2}), {}).outcome
    assert isinstance(outcome, Placed)
    assert {target.name for target in outcome.clusters} >= {"m3"}


@pytest.mark.parametrize("changes", [1, LOG + 1], ids=["remembered", "more than are remembered"])
def test_a_cluster_that_lost_its_limits_counts_as_having_what_is_asked_for(changes: int) -> None:
    fleet = Snapshot([cluster("m1", 10), cluster("m2", 10)])
    subject = binding(6, {"replicaScheduling": DYNAMIC})
    decide(fleet, subject, {})
    for _ in range(changes):
        fleet.put(cluster("m1", 2**31 - 1))
    outcome = decide(fleet, subject, {}).outcome
    assert isinstance(outcome, Placed)
    assert {target.name: target.replicas for target in outcome.clusters} == {"m1": 2, "m2": 4}


def test_room_by_nodes_is_asked_about_only_where_the_sum_of_estimates_is_not_enough() -> None:
    models = [{"grade": 0, "ranges": [{"name": "cpu", "min": "2", "max": "4"}]}]
    summary = {
        "allocatable": {"pods": "100", "cpu": "100"},
        "allocatableModelings": [{"grade": 0, "count": 2}],
    }
    fleet = Snapshot([cluster("m1", summary=summary, resourceModels=models), cluster("m2", 6)])
    settings = Settings(DEFAULTS.with_overrides({"RoomAwareScaling": True}))
    needs = {"replicaRequirements": {"resourceRequest": {"cpu": "2"}}}

    def shares(replicas: int) -> dict[str, int]:
        outcome = decide(fleet, binding(replicas, {"replicaScheduling": STATIC}, **needs), {}, settings).outcome
        assert isinstance(outcome, Placed)
        return {target.name: target.replicas for target in outcome.clusters}

    assert shares(8) == {"m1": 2, "m2": 6}
    assert shares(10) == {"m1": 5, "m2": 5}
    assert shares(20) == {"m1": 14, "m2": 6}


def test_a_spread_over_no_clusters_at_all_has_nowhere_to_go() -> None:
    none = {**spread("cluster", 0, 0), "replicaScheduling": DUPLICATED}
    why = "failed to assign replicas: no clusters available to schedule"
    assert message(Snapshot([cluster("m1"), cluster("m2")]), binding(3, none)) == why


@pytest.mark.parametrize(
    ("sizes", "fewest", "most", "clusters", "chosen", "combinations"),
    [
        ({"s": (1, 10), "b": (3, 50)}, 1, 2, 3, "b", 1),
        ({"s": (1, 10), "t": (1, 5), "b": (3, 50)}, 1, 3, 3, "b", 1),
        ({"s": (1, 60), "b": (3, 50)}, 1, 2, 3, "sb", 1),
        ({name: (1 + number % 2, number) for number, name in enumerate("abcdef")}, 2, 3, 4, "fed", 2),
        ({name: (2, 10 - number) for number, name in enumerate("abcdef")}, 1, 3, 4, "ab", 1),
        ({name: (1 + number % 3, 7 * number % 5) for number, name in enumerate("abcdefg")}, 1, 3, 4, "ce", 5),
    ],
)
def test_a_combination_that_wins_is_cut_to_what_satisfies_alone(
    sizes: dict[str, tuple[int, int]], fewest: int, most: int, clusters: int, chosen: str, combinations: int
) -> None:
    found = choose([ClusterGroup(name, *part) for name, part in sizes.items()], fewest, most, clusters)
    assert ("".join(group.name for group in found.groups), found.combinations) == (chosen, combinations)


def test_what_is_left_only_for_labels_stays_in_the_term_that_placed_it() -> None:
    terms: list[Tree] = [
        {"affinityName": name, "labelSelector": {"matchLabels": {"zone": name}}} for name in ("east", "west")
    ]
    placement = {"clusterAffinities": terms, "replicaScheduling": DUPLICATED}
    subject = binding(2, placement, {"m1": 2}, status={"schedulerObservingAffinityName": "east"})
    fleet = Snapshot([cluster("m1", labels={"zone": "north"}), cluster("m2", labels={"zone": "west"})])
    made = decide(fleet, subject, {})
    assert made.affinity == "west"
    kept = steady(subject, made, Need.DUPLICATED)
    assert isinstance(kept.outcome, Placed)
    assert ([target.name for target in kept.outcome.clusters], kept.affinity) == (["m1"], "east")
    assert steady(subject, made, Need.PLACEMENT_CHANGED) is made
    fleet.remove("m1")
    moved = decide(fleet, subject, {})
    assert steady(subject, moved, Need.DUPLICATED) is moved


MANY = [ClusterGroup(f"g{number:03}", 1 + number % 7, number * 37 % 101) for number in range(200)]


def test_many_groups_are_searched_without_those_that_cannot_have_enough_clusters() -> None:
    """There are more combinations than a search can look at, most of them of groups that are too small."""
    found = choose(MANY, 3, 40, 90)
    assert sum(group.size for group in found.groups) >= 90
    assert 3 <= len(found.groups) <= 40
    assert choose(MANY, 3, 40, 268).groups
    assert choose(MANY, 3, 40, 269) == ((), 0)
    assert [choose(MANY, 5, 5, 35).combinations, choose(MANY, 5, 5, 36).combinations] == [1, 0]


def test_a_cluster_that_comes_back_is_not_leaving_any_more() -> None:
    gone = {"metadata": {"name": "m1", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}}
    fleet = Snapshot([from_tree(gone, Cluster)])
    assert fleet.is_leaving("m1")
    fleet.put(cluster("m1"))
    assert not fleet.is_leaving("m1")
    assert fleet.total == 1


@pytest.mark.parametrize(("held", "why"), [({}, Need.PLACEMENT_CHANGED), ({"m1": 1}, Need.NONE)])
def test_what_runs_nowhere_is_scheduled_whatever_may_move_it(held: dict[str, int], why: Need) -> None:
    subject = binding(1, {"replicaScheduling": DYNAMIC}, held, failover={"rescheduleTriggers": []})
    gates = DEFAULTS.with_overrides({"ControlledMoves": True})
    assert need(subject, gates, lambda name: False) is why


@pytest.mark.parametrize("changes", [1, LOG + 1], ids=["remembered", "more than are remembered"])
def test_weights_follow_the_labels_of_clusters(changes: int) -> None:
    gold = {"labelSelector": {"matchLabels": {"tier": "gold"}}}
    rules = [{"targetCluster": gold, "weight": 3}, {"targetCluster": {"clusterNames": ["m1", "m2"]}, "weight": 1}]
    weighted = {"replicaScheduling": {**STATIC, "weightPreference": {"staticWeightList": rules}}}
    fleet = Snapshot([cluster("m1", labels={"tier": "gold"}), cluster("m2"), cluster("m3")])

    def shares() -> dict[str, int]:
        outcome = decide(fleet, binding(8, weighted), {}).outcome
        assert isinstance(outcome, Placed)
        return {target.name: target.replicas for target in outcome.clusters}

    assert shares() == {"m1": 6, "m2": 2}
    for _ in range(changes):
        fleet.put(cluster("m1"))
    assert shares() == {"m1": 4, "m2": 4}
    fleet.remove("m2")
    fleet.put(cluster("m3", labels={"tier": "gold"}))
    assert shares() == {"m1": 2, "m3": 6}


def test_since_the_present_version_nothing_has_changed_however_many_changes_are_forgotten() -> None:
    fleet = Snapshot([cluster("m1")])
    for _ in range(LOG + 1):
        before = fleet.version
        fleet.put(cluster("m1"))
        assert fleet.changes_since(fleet.version) == frozenset()
        assert fleet.changes_since(before) in ({"m1"}, None)


def test_nodes_of_a_grade_model_have_nothing_that_their_grade_does_not_name() -> None:
    models = [{"grade": 0, "ranges": [{"name": "cpu", "min": "4", "max": "8"}]}]
    summary = {
        "allocatable": {"pods": "100", "cpu": "100", "gpu": "9"},
        "allocatableModelings": [{"grade": 0, "count": 2}],
    }
    fleet = Snapshot([cluster(f"m{number}", summary=summary, resourceModels=models) for number in range(MANY_CLUSTERS)])
    for needs, count in (({"gpu": 1}, 0), ({"cpu": 4000}, 2), ({"cpu": 1000, "gpu": 1}, 0)):
        assert set(Room(fleet, Question(needs, True)).of.values()) == {count}
        assert fleet.capacity("m1").replicas(needs, by_model=True) == count


def test_a_set_is_placed_when_all_its_parts_are() -> None:
    part = Demand(1, {"cpu": 3, "pods": 1})
    assert Simulation([(1, {"cpu": 6, "pods": 110})]).place_set([part, part])
    assert not Simulation([(1, {"cpu": 5, "pods": 110})]).place_set([part, part])
