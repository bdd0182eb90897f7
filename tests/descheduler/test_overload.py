"""Clusters that are too full give up what fits elsewhere."""

import pytest
from tests.scheduler.facts import DUPLICATED, DYNAMIC, binding, cluster

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.config.v1alpha1 import UtilizationThreshold
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.descheduler.overload import excess, is_movable, moves

THRESHOLD = UtilizationThreshold(cpu_utilization=80)


def member(name: str, used: int, cpu: int = 10) -> Cluster:
    summary = {
        "allocatable": {"cpu": str(cpu), "memory": "100Gi", "pods": "100"},
        "allocated": {"cpu": str(used), "pods": "1"},
    }
    return cluster(name, summary=summary)


def workload(replicas: dict[str, int], cpu: str = "500m", **spec: object) -> ResourceBinding:
    needs = {"resourceRequest": {"cpu": cpu}}
    placement = {"replicaScheduling": DYNAMIC}
    return binding(sum(replicas.values()), placement, replicas, replicaRequirements=needs, **spec)


def test_a_cluster_above_its_threshold_is_too_full_by_the_difference() -> None:
    assert excess(member("m1", 9), THRESHOLD) == {"cpu": 1000}
    assert excess(member("m1", 8), THRESHOLD) == {}


def test_just_enough_replicas_move_to_where_there_is_room() -> None:
    too_full, (move,) = moves([member("m1", 9), member("m2", 2)], [workload({"m1": 6, "m2": 1})], THRESHOLD)
    assert too_full == ["m1"]
    assert (move.from_cluster, move.replicas) == ("m1", 2)
    assert {target.name: target.replicas for target in move.clusters} == {"m1": 4, "m2": 3}


def test_nothing_moves_when_nothing_fits_elsewhere() -> None:
    assert moves([member("m1", 9), member("m2", 10)], [workload({"m1": 6})], THRESHOLD) == (["m1", "m2"], [])


def test_moves_of_one_round_do_not_count_the_same_room_twice() -> None:
    clusters = [member("m1", 10), member("m2", 7)]
    subjects = [workload({"m1": 4}, "1"), workload({"m1": 4}, "1", uid="other")]
    _, found = moves(clusters, subjects, THRESHOLD)
    assert sum(move.replicas for move in found) == 2


def test_a_cluster_that_gives_up_gets_nothing_in_the_same_round() -> None:
    clusters = [member("m1", 9), member("m2", 9), member("m3", 0)]
    _, found = moves(clusters, [workload({"m1": 4}), workload({"m2": 4}, uid="other")], THRESHOLD)
    gained = {target.name for move in found for target in move.clusters if target.name not in move.from_cluster}
    assert gained == {"m3"}


def test_only_workloads_divided_by_room_move() -> None:
    assert is_movable(workload({"m1": 1}))
    assert not is_movable(binding(1, {"replicaScheduling": DUPLICATED}, {"m1": 1}))


def test_figures_that_are_nonsense_are_no_reason_to_move() -> None:
    broken = cluster("m1", summary={"allocatable": {"cpu": "lots"}, "allocated": {"cpu": "9"}})
    assert excess(broken, THRESHOLD) == {}


@pytest.mark.parametrize(("triggers", "may"), [(["Capacity"], True), (["PolicyChange"], False), ([], False)])
def test_only_workloads_that_capacity_may_move_are_movable(triggers: list[str], may: bool) -> None:
    placement = {"replicaScheduling": DYNAMIC}
    assert is_movable(binding(1, placement, {"m1": 1}, failover={"rescheduleTriggers": triggers})) is may
