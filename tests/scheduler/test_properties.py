"""What must hold for every decision, whatever the clusters and the placement."""

from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scheduler.facts import (
    AGGREGATED,
    DYNAMIC,
    STATIC,
    Tree,
    binding,
    bindings,
    cluster,
    cluster_trees,
    fleets,
    names,
)

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.decision import Decision, Placed
from karmada.api.feature_gates import FeatureGates
from karmada.api.work.v1alpha2 import Component, ResourceBinding
from karmada.policies import webster
from karmada.scheduler.core.assumptions import AssumedWorkload
from karmada.scheduler.core.capacity import Question, Room, columns_of
from karmada.scheduler.core.decide import conclude, decide, requests
from karmada.scheduler.core.facts import Estimates, one_by_one
from karmada.scheduler.core.framework import DEFAULT
from karmada.scheduler.core.grouping import ClusterGroup, choose
from karmada.scheduler.core.request import DEFAULT_SETTINGS, Settings, Strategy, strategy_of
from karmada.scheduler.core.snapshot import Snapshot


def clusters_of(trees: list[Tree]) -> list[Cluster]:
    return [from_tree(tree, Cluster) for tree in trees]


def result(decision: Decision) -> dict[str, int]:
    assert isinstance(decision.outcome, Placed)
    return {target.name: target.replicas for target in decision.outcome.clusters}


def comparable(decision: Decision) -> Any:
    """Everything a decision says, without the views it says it through."""
    return [
        (
            attempt.affinity,
            attempt.outcome,
            {name: tuple(found) for name, found in attempt.rejections.items()},
            {name: dict(scores) for name, scores in attempt.scores.items()},
            dict(attempt.estimates),
            attempt.groups,
            list(attempt.selected),
        )
        for attempt in decision.attempts
    ]


def by_definition(
    snapshot: Snapshot, subject: ResourceBinding, estimates: Estimates, chosen: Settings = DEFAULT_SETTINGS
) -> Decision:
    """The decision without anything kept between decisions."""
    attempts = []
    for request in requests(snapshot, subject, chosen):
        attempts.append(conclude(snapshot, request, one_by_one(snapshot, request, estimates, DEFAULT)))
        if isinstance(attempts[-1].outcome, Placed):
            break
    last = attempts[-1] if isinstance(attempts[-1].outcome, Placed) else attempts[0]
    return Decision(attempts=tuple(attempts), outcome=last.outcome)


@settings(max_examples=100)
@given(fleets, st.lists(bindings(), min_size=1, max_size=4), st.lists(cluster_trees(), max_size=4))
def test_kept_facts_decide_as_fresh_ones(
    trees: list[Tree], subjects: list[ResourceBinding], changes: list[Tree]
) -> None:
    live = Snapshot(clusters_of(trees))
    for change in [None, *changes]:
        if change is not None:
            live.put(from_tree(change, Cluster))
        # Twice: the second time much is remembered that the first worked out.
        for subject in [*subjects, *subjects]:
            fresh = Snapshot(live.clusters.values())
            assert comparable(decide(live, subject, {})) == comparable(by_definition(fresh, subject, {}))


@settings(max_examples=60)
@given(fleets, bindings(), bindings())
def test_what_differs_in_one_field_is_decided_apart(
    trees: list[Tree], one: ResourceBinding, other: ResourceBinding
) -> None:
    """What is remembered of one binding is not taken for another's."""
    live = Snapshot(clusters_of(trees))
    for subject in one_field_apart(one, other):
        fresh = Snapshot(live.clusters.values())
        assert comparable(decide(live, subject, {})) == comparable(by_definition(fresh, subject, {}))


def one_field_apart(one: ResourceBinding, other: ResourceBinding) -> Iterator[ResourceBinding]:
    """A binding, and that binding with one field at a time taken from another."""
    yield one
    for part in ("spec", "status"):
        mine, theirs = getattr(one, part), getattr(other, part)
        for field in mine.__struct_fields__:
            changed = msgspec.structs.replace(mine, **{field: getattr(theirs, field)})
            yield msgspec.structs.replace(one, **{part: changed})
    mine, theirs = one.spec.placement, other.spec.placement
    if mine is not None and theirs is not None:
        for field in mine.__struct_fields__:
            placement = msgspec.structs.replace(mine, **{field: getattr(theirs, field)})
            yield msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, placement=placement))


@settings(max_examples=80)
@given(fleets, bindings(), st.dictionaries(names, st.integers(-1, 30)), st.dictionaries(names, st.integers(1, 9)))
def test_special_room_decides_as_if_worked_out_for_every_cluster(
    trees: list[Tree], subject: ResourceBinding, estimates: dict[str, int], assumed: dict[str, int]
) -> None:
    chosen = Settings(FeatureGates({"SchedulingOvercommitProtection": True}))
    placed = {
        name: (AssumedWorkload("default", (Component(name="", replicas=count),)),) for name, count in assumed.items()
    }
    snapshot = Snapshot(clusters_of(trees), assumed=placed)
    decide(snapshot, subject, {}, DEFAULT_SETTINGS)
    expected = by_definition(snapshot, subject, estimates, chosen)
    assert comparable(decide(snapshot, subject, estimates, chosen)) == comparable(expected)


@given(fleets, bindings())
def test_the_order_of_clusters_does_not_matter(trees: list[Tree], subject: ResourceBinding) -> None:
    forward, backward = Snapshot(clusters_of(trees)), Snapshot(clusters_of(trees[::-1]))
    assert decide(forward, subject, {}).outcome == decide(backward, subject, {}).outcome


@given(fleets, bindings())
def test_deciding_twice_gives_the_same(trees: list[Tree], subject: ResourceBinding) -> None:
    snapshot = Snapshot(clusters_of(trees))
    assert comparable(decide(snapshot, subject, {})) == comparable(decide(snapshot, subject, {}))


@given(fleets, bindings())
def test_divided_replicas_sum_to_what_is_desired(trees: list[Tree], subject: ResourceBinding) -> None:
    decision = decide(Snapshot(clusters_of(trees)), subject, {})
    placement = subject.spec.placement
    if placement is None or strategy_of(placement) is Strategy.DUPLICATED or not subject.spec.replicas:
        return
    if isinstance(decision.outcome, Placed):
        assert sum(result(decision).values()) == subject.spec.replicas


@given(fleets, bindings())
def test_bounds_of_groups_are_respected(trees: list[Tree], subject: ResourceBinding) -> None:
    decision = decide(Snapshot(clusters_of(trees)), subject, {})
    placement = subject.spec.placement
    if (
        placement is None
        or not isinstance(decision.outcome, Placed)
        or strategy_of(placement) is Strategy.STATIC_WEIGHT
    ):
        return
    by_name = {tree["metadata"]["name"]: tree for tree in trees}
    selected = decision.decisive.selected
    grouped = any(constraint.spread_by_field != "cluster" for constraint in placement.spread_constraints)
    for constraint in placement.spread_constraints:
        if constraint.spread_by_field == "region":
            count = len({by_name[name]["spec"]["region"] for name in selected})
        elif constraint.spread_by_label:
            count = len({by_name[name]["metadata"]["labels"][constraint.spread_by_label] for name in selected})
        else:
            # One cluster of every chosen group is taken even where that is more than the bound.
            assert len(selected) >= constraint.min_groups
            assert grouped or len(selected) <= constraint.max_groups
            continue
        assert constraint.min_groups <= count <= constraint.max_groups


absurd = st.integers(-(2**31), 2**31 - 1)


@given(fleets, absurd, absurd, absurd, absurd, absurd, st.sampled_from([DYNAMIC, AGGREGATED, STATIC, None]))
def test_absurd_numbers_are_decided_like_any_others(
    trees: list[Tree], replicas: int, least: int, most: int, held: int, weight: int, strategy: Tree | None
) -> None:
    spread = [
        {"spreadByField": "region", "minGroups": least, "maxGroups": most},
        {"spreadByField": "cluster", "minGroups": most, "maxGroups": least},
    ]
    rules = [{"targetCluster": {}, "weight": weight}]
    placement: Tree = {"spreadConstraints": spread}
    if strategy is not None:
        preference = {"weightPreference": {"staticWeightList": rules}} if strategy is STATIC else {}
        placement["replicaScheduling"] = {**strategy, **preference}
    for constraints in (spread, spread[:1], spread[1:], []):
        subject = binding(replicas, {**placement, "spreadConstraints": constraints}, {"m01": held, "nowhere": held})
        live, fresh = Snapshot(clusters_of(trees)), Snapshot(clusters_of(trees))
        assert comparable(decide(live, subject, {})) == comparable(by_definition(fresh, subject, {}))


held_replicas = st.dictionaries(st.sampled_from(["m1", "m2", "m3", "m4"]), st.integers(1, 9), min_size=1)


@given(held_replicas, st.integers(0, 30), st.sampled_from([DYNAMIC, AGGREGATED]))
def test_adding_replicas_takes_none_away(held: dict[str, int], more: int, strategy: Tree) -> None:
    snapshot = Snapshot([cluster(f"m{number}", 200) for number in range(1, 6)])
    wanted = sum(held.values()) + more
    after = result(decide(snapshot, binding(wanted, {"replicaScheduling": strategy}, held), {}))
    assert all(after.get(name, 0) >= count for name, count in held.items())


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=2), st.integers(0, 10**6), min_size=1),
    st.integers(0, 200),
    st.booleans(),
)
def test_seats_are_handed_out_one_at_a_time(votes: dict[str, int], seats: int, ascending: bool) -> None:
    """Handing out n + 1 seats is handing out n and one more: nobody ever loses a seat."""
    before = {share.name: share.seats for share in webster.divide(seats, votes.items(), ascending=ascending)}
    after = {share.name: share.seats for share in webster.divide(seats + 1, votes.items(), ascending=ascending)}
    gains = [after[name] - before.get(name, 0) for name in after]
    assert sum(gains) in (0, 1, seats + 1)
    assert min(gains, default=0) >= 0
    if any(votes.values()):
        assert sum(after.values()) == seats + 1


def all_combinations(groups: list[ClusterGroup], fewest: int, most: int, clusters: int) -> tuple[ClusterGroup, ...]:
    """The best combination by looking at every one of them."""
    ordered = sorted(groups, key=lambda group: (group.size, -group.weight, group.name))
    found: list[tuple[ClusterGroup, ...]] = []

    def extend(path: tuple[ClusterGroup, ...], begin: int) -> None:
        if sum(group.size for group in path) >= clusters and fewest <= len(path) <= most:
            found.append(tuple(sorted(path, key=lambda group: (-group.weight, group.name))))
            return
        for index in range(begin, len(ordered) if len(path) < most else 0):
            extend((*path, ordered[index]), index + 1)
            if len(ordered) == fewest:
                return

    extend((), 0)
    found.sort(key=lambda path: (-sum(group.weight for group in path), -sum(group.size for group in path)))
    best = found[0] if found else ()
    for path in found:
        if len(path) < len(best) and path == best[: len(path)]:
            best = path
    return best


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.sampled_from([0, 1, 2, 5, 3000])), min_size=1, max_size=7),
    st.integers(0, 4),
    st.integers(0, 6),
    st.integers(0, 14),
)
def test_the_search_finds_what_looking_at_everything_finds(
    figures: list[tuple[int, int]], fewest: int, most: int, clusters: int
) -> None:
    groups = [ClusterGroup(f"r{number}", *figure) for number, figure in enumerate(figures)]
    assert choose(groups, fewest, most, clusters).groups == all_combinations(groups, fewest, most, clusters)


@settings(max_examples=60)
@given(fleets, st.one_of(st.none(), st.dictionaries(st.sampled_from(["cpu", "memory", "gpu"]), st.integers(1, 9000))))
def test_columns_agree_with_one_cluster_at_a_time(trees: list[Tree], needs: dict[str, int] | None) -> None:
    snapshot = Snapshot(clusters_of(trees))
    for by_model in (True, False):
        expected = Room(snapshot, Question(needs, by_model)).of
        assert columns_of(snapshot).room(needs, by_model) == expected


@given(st.integers(1, 10**9), st.lists(st.integers(0, 10**9), min_size=1, max_size=5))
def test_huge_numbers_divide_at_once(replicas: int, weights: list[int]) -> None:
    rules = [
        {"targetCluster": {"clusterNames": [f"m{number}"]}, "weight": weight} for number, weight in enumerate(weights)
    ]
    placement = {"replicaScheduling": {**STATIC, "weightPreference": {"staticWeightList": rules}}}
    snapshot = Snapshot([cluster(f"m{number}") for number in range(len(weights))])
    assert sum(result(decide(snapshot, binding(replicas, placement), {})).values()) == replicas
