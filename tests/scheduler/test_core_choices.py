"""Choices of the pure core on fleets that are the same every time: what is kept decides as what is worked out anew."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from tests.scheduler.facts import AGGREGATED, DUPLICATED, DYNAMIC, STATIC, Tree, binding, cluster
from tests.scheduler.test_properties import by_definition, comparable

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.decision import ConstraintUnmet, NoClusterFits, Placed
from karmada.api.feature_gates import FeatureGates
from karmada.api.work.v1alpha2 import Component, ResourceBinding
from karmada.scheduler.core.assumptions import AssumedWorkload
from karmada.scheduler.core.decide import NoPlacement, decide, fits_anywhere, fitting_names
from karmada.scheduler.core.framework import DEFAULT
from karmada.scheduler.core.request import DEFAULT_SETTINGS, Settings
from karmada.scheduler.core.snapshot import LOG, Memo, NoPeers, PeerGroup, Snapshot


def some(chance: Random, name: str) -> Cluster:
    """A cluster by chance."""
    spec: Tree = {"region": chance.choice(["r1", "r2", "r3", ""]), "provider": chance.choice(["p1", "p2"])}
    if chance.random() < 0.7:
        spec["zones"] = chance.sample(["z1", "z2", "z3"], 2)
    if chance.random() < 0.1:
        spec["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    pods = chance.choice([0, 1, 5, 5, 20, 60])
    summary: Tree = {"allocatable": {"pods": str(pods), "cpu": str(chance.randrange(20))}}
    if chance.random() < 0.2:
        ranges = [{"grade": grade, "ranges": [{"name": "cpu", "min": str(2**grade), "max": "9"}]} for grade in (0, 1)]
        summary["allocatableModelings"] = [{"grade": grade, "count": chance.randrange(3)} for grade in (0, 1)]
        spec["resourceModels"] = ranges
    labels = {"env": chance.choice(["prod", "dev"]), "rack": chance.choice(["1", "2", "3"])}
    return cluster(name, pods, labels=labels, summary=summary, **spec)


def spread(by: str, fewest: int, most: int, clusters: tuple[int, int] | None = None) -> Tree:
    key = "spreadByLabel" if by == "rack" else "spreadByField"
    found = [{key: by, "minGroups": fewest, "maxGroups": most}]
    if clusters:
        found.append({"spreadByField": "cluster", "minGroups": clusters[0], "maxGroups": clusters[1]})
    return {"spreadConstraints": found}


CPU = {"replicaRequirements": {"resourceRequest": {"cpu": "500m"}}}
HELD = {"m001": 3, "m005": 1, "m007": 40}
SUBJECTS = [
    binding(replicas, {**placement, "replicaScheduling": scheduling}, held, **more)
    for replicas, held, more in ((7, {}, {}), (9, HELD, CPU), (60, {"m002": 2}, {}))
    for scheduling in (DYNAMIC, AGGREGATED, DUPLICATED)
    for placement in (
        {},
        {"clusterAffinity": {"labelSelector": {"matchLabels": {"env": "prod"}}}},
        spread("cluster", 2, 4),
        spread("region", 1, 2, (2, 5)),
        spread("zone", 2, 2),
        spread("provider", 1, 2),
        spread("rack", 2, 3, (3, 6)),
    )
]


@pytest.mark.parametrize("size", [12, 40])
def test_what_is_kept_decides_as_what_is_worked_out_anew(size: int) -> None:
    chance = Random(size)
    live = Snapshot(some(chance, f"m{number:03}") for number in range(size))
    for step in range(4):
        for subject in SUBJECTS:
            fresh = Snapshot(live.clusters.values())
            assert comparable(decide(live, subject, {})) == comparable(by_definition(fresh, subject, {}))
        live.put(some(chance, f"m{chance.randrange(size):03}"))
        if step % 2:
            live.remove(f"m{chance.randrange(size):03}")
            live.put(some(chance, f"n{step}"))


def test_what_is_kept_is_right_after_more_changes_than_are_remembered() -> None:
    chance = Random(3)
    live = Snapshot(some(chance, f"m{number:03}") for number in range(12))
    for subject in SUBJECTS[::3]:
        decide(live, subject, {})
    changed = [some(chance, f"m{number:03}") for number in range(12)]
    for number in range(LOG + 1):
        live.put(changed[number % 12])
    for subject in SUBJECTS[::3]:
        fresh = Snapshot(live.clusters.values())
        assert comparable(decide(live, subject, {})) == comparable(by_definition(fresh, subject, {}))


def test_many_clusters_are_asked_at_once_as_each_by_itself() -> None:
    chance = Random(1)
    live = Snapshot(some(chance, f"m{number:03}") for number in range(256))
    for _ in range(2):
        for subject in SUBJECTS[::5]:
            fresh = Snapshot(live.clusters.values())
            assert comparable(decide(live, subject, {})) == comparable(by_definition(fresh, subject, {}))
        live.put(some(chance, "m100"))
        live.remove("m101")


def test_room_that_estimators_and_recent_placements_leave_counts() -> None:
    settings = Settings(FeatureGates({"SchedulingOvercommitProtection": True}))
    taken = AssumedWorkload("ns", (from_tree({"name": "c", "replicas": 4}, Component),))
    fleet = [cluster("m1", 10), cluster("m2", 10), cluster("m3", 10)]
    live = Snapshot(fleet, assumed={"m2": (taken,), "gone": (taken,)})
    subject = binding(12, {"replicaScheduling": DYNAMIC})
    made = decide(live, subject, {"m1": 8, "m3": -1, "m9": 1}, settings)
    assert dict(made.decisive.estimates) == {"m1": 8, "m2": 6, "m3": 10}
    assert dict(decide(live, subject, {}, settings).decisive.estimates) == {"m1": 10, "m2": 6, "m3": 10}
    assert dict(decide(live, subject, {}, DEFAULT_SETTINGS).decisive.estimates) == {"m1": 10, "m2": 10, "m3": 10}


# Peers.


@dataclass
class Others(NoPeers):
    """Bindings that are placed already."""

    together: list[PeerGroup] = field(default_factory=list)
    apart: list[PeerGroup] = field(default_factory=list)

    def attracted(self, namespace: str, group: str) -> list[PeerGroup]:
        return self.together if (namespace, group) == ("default", "app") else []

    def repelled(self, namespace: str, group: str) -> list[PeerGroup]:
        return self.apart if (namespace, group) == ("default", "app") else []


AFFINE = Settings(FeatureGates({"WorkloadAffinity": True}))


def beside(peers: Others, settings: Settings = AFFINE, **groups: str) -> set[str]:
    fleet = Snapshot([cluster(name) for name in ("m1", "m2", "m3")], peers)
    made = decide(fleet, binding(1, {}, workloadAffinityGroups=groups), {}, settings)
    assert isinstance(made.outcome, Placed)
    return {target.name for target in made.outcome.clusters}


def test_workloads_of_a_group_go_together_or_apart_and_never_mind_themselves() -> None:
    peers = Others(
        [
            PeerGroup("default", "other", frozenset({"m1", "m2"})),
            PeerGroup("default", "web-deployment", frozenset({"m3"})),
        ],
        [PeerGroup("default", "other", frozenset({"m1"})), PeerGroup("default", "web-deployment", frozenset({"m2"}))],
    )
    assert beside(peers, affinityGroup="app") == {"m1", "m2"}
    assert beside(peers, antiAffinityGroup="app") == {"m2", "m3"}
    assert beside(peers, antiAffinityGroup="another") == {"m1", "m2", "m3"}
    assert beside(peers, Settings(FeatureGates({"WorkloadAffinity": False})), affinityGroup="app") == {"m1", "m2", "m3"}
    unplaced = Others([PeerGroup("default", "other", frozenset())])
    assert beside(unplaced, affinityGroup="app") == {"m1", "m2", "m3"}
    assert tuple(NoPeers().attracted("", "")) == tuple(NoPeers().repelled("", "")) == ()


# Sets of components.

TEMPLATES = Settings(FeatureGates({"MultiplePodTemplatesScheduling": True}))


def of_parts(placement: Tree, *replicas: int) -> ResourceBinding:
    parts = [{"name": f"c{number}", "replicas": count} for number, count in enumerate(replicas)]
    return binding(sum(replicas), placement, components=parts)


def test_all_components_go_to_one_cluster_as_a_set_where_one_is_asked_for() -> None:
    fleet = Snapshot([cluster("m1", 3), cluster("m2", 7)])
    made = decide(fleet, of_parts(spread("cluster", 1, 1), 1, 3), {}, TEMPLATES)
    assert isinstance(made.outcome, Placed)
    [target] = made.outcome.clusters
    assert (target.name, [(part.name, part.replicas) for part in target.components]) == ("m2", [("c0", 1), ("c1", 3)])
    assert dict(made.decisive.estimates) == {"m1": 0, "m2": 1}
    off = Settings(FeatureGates({"MultiplePodTemplatesScheduling": False}))
    for placement, settings in ((spread("cluster", 1, 2), TEMPLATES), (spread("cluster", 1, 1), off)):
        other = decide(fleet, of_parts(placement, 1, 3), {}, settings)
        assert isinstance(other.outcome, Placed)
        assert all(not target.components for target in other.outcome.clusters)


def test_clusters_that_get_no_replicas_are_kept_where_empty_workloads_propagate() -> None:
    fleet = Snapshot([cluster("m1", 9), cluster("m2", 0)])
    subject = binding(2, {"replicaScheduling": DYNAMIC})
    made = decide(fleet, subject, {}, Settings(empty_workload_propagation=True))
    assert isinstance(made.outcome, Placed)
    assert [(target.name, target.replicas) for target in made.outcome.clusters] == [("m1", 2), ("m2", 0)]


# Answers where nothing fits.


def message(fleet: Snapshot, subject: ResourceBinding) -> str:
    outcome = decide(fleet, subject, {}).outcome
    assert isinstance(outcome, NoClusterFits | ConstraintUnmet)
    return outcome.message


def test_why_nothing_fits_is_counted_by_reason() -> None:
    tainted = cluster("m1", taints=[{"key": "k", "effect": "NoSchedule"}])
    leaving = from_tree({"metadata": {"name": "m2", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}}, Cluster)
    subject = binding(1)
    assert message(Snapshot(), subject) == "no cluster exists"
    assert message(Snapshot([leaving]), subject) == "0/1 clusters are available: no cluster exists."
    text = message(Snapshot([tainted, leaving]), subject)
    assert text.startswith("0/2 clusters are available: 1 cluster(s) had untolerated taint")
    with pytest.raises(NoPlacement, match="default/web-deployment has no placement"):
        decide(Snapshot(), from_tree({**_tree(), "spec": {"resource": RESOURCE}}, ResourceBinding), {})


RESOURCE = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"}


def _tree() -> Tree:
    return {"metadata": {"name": "web-deployment", "namespace": "default"}}


@pytest.mark.parametrize(
    ("placement", "why"),
    [
        (spread("cluster", 4, 5), "the number of feasible clusters is less than spreadConstraint.MinGroups"),
        (spread("region", 3, 3), "the number of feasible region is less than spreadConstraint.MinGroups"),
        (spread("rack", 3, 3), "the number of feasible label rack is less than spreadConstraint.MinGroups"),
        (spread("region", 1, 1, (3, 3)), "the number of clusters is less than the cluster spreadConstraint.MinGroups"),
        ({**spread("cluster", 1, 1), "replicaScheduling": DYNAMIC}, "no enough resource when selecting 1 clusters"),
    ],
)
def test_a_spread_that_cannot_be_met_is_named(placement: Tree, why: str) -> None:
    fleet = [
        cluster(name, 5, labels={"rack": rack}, region=rack) for name, rack in (("m1", "a"), ("m2", "a"), ("m3", "b"))
    ]
    assert message(Snapshot(fleet), binding(12, placement)) == f"failed to select clusters: {why}"


def test_fixed_weights_say_where_replicas_go_whatever_the_spread() -> None:
    fleet = Snapshot([cluster(name, 50) for name in ("m1", "m2", "m3")])
    rules = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in (("m1", 1), ("m2", 2))]
    weighted = {**STATIC, "weightPreference": {"staticWeightList": rules}}
    one = spread("cluster", 1, 1)

    def used(scheduling: Tree) -> dict[str, int]:
        outcome = decide(fleet, binding(6, {**one, "replicaScheduling": scheduling}), {}).outcome
        assert isinstance(outcome, Placed)
        return {target.name: target.replicas for target in outcome.clusters}

    assert used(weighted) == {"m1": 2, "m2": 4}
    assert used(STATIC) == {"m1": 2, "m2": 2, "m3": 2}
    assert used({**STATIC, "weightPreference": {}}) == used(DYNAMIC) == {"m1": 6}


# Terms and the clusters that matter.


def terms(**status: Any) -> ResourceBinding:
    named = [{"affinityName": name, "clusterNames": [f"m{number}"]} for number, name in enumerate("abc")]
    return binding(1, {"clusterAffinities": named}, status=status)


def test_the_clusters_that_fit_are_those_of_the_terms_that_are_tried() -> None:
    fleet = Snapshot([cluster(f"m{number}") for number in range(3)])
    assert fitting_names(fleet, terms(), DEFAULT_SETTINGS, DEFAULT) == (["m0", "m1", "m2"], False)
    later = terms(schedulerObservingAffinityName="b")
    assert fitting_names(fleet, later, DEFAULT_SETTINGS, DEFAULT) == (["m1", "m2"], False)
    assert fitting_names(fleet, binding(0), DEFAULT_SETTINGS, DEFAULT) == ([], False)
    parts = of_parts(spread("cluster", 1, 1), 1, 1)
    assert fitting_names(fleet, parts, TEMPLATES, DEFAULT)[1] is True
    request, found = fits_anywhere(fleet, later, DEFAULT_SETTINGS, DEFAULT)
    assert request is not None
    assert [one.metadata.name for one in found] == ["m1"]


# What a snapshot keeps.


def test_a_snapshot_counts_changes_and_forgets_the_oldest() -> None:
    fleet = Snapshot([cluster("m1"), cluster("m2")])
    start = fleet.version
    assert (start, fleet.total, fleet.changes_since(start)) == (2, 2, frozenset())
    fleet.put(cluster("m2", 3))
    assert (fleet.version, fleet.changes_since(start), fleet.capacity("m2").pods) == (3, {"m2"}, 3)
    leaving = from_tree({"metadata": {"name": "m1", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}}, Cluster)
    fleet.put(leaving)
    assert (fleet.is_leaving("m1"), fleet.total, set(fleet.clusters)) == (True, 2, {"m2"})
    fleet.remove("m1")
    fleet.remove("never")
    assert (fleet.is_leaving("m1"), fleet.total, fleet.version) == (False, 1, 4)
    fleet.lose("m1")
    assert (fleet.is_leaving("m1"), fleet.is_known("m1"), fleet.total, fleet.version) == (True, True, 1, 4)
    for _ in range(LOG):
        fleet.put(cluster("m3"))
    assert fleet.changes_since(start) is None
    assert fleet.version == 4 + LOG


def test_of_what_is_kept_what_was_not_used_for_longest_goes() -> None:
    fleet, memo = Snapshot(), Memo[str](2)
    assert [fleet.kept(memo, key, lambda: "made") for key in "aab"] == ["made"] * 3
    fleet.kept(memo, "a", lambda: "again")
    fleet.kept(memo, "c", lambda: "made")
    assert [fleet.kept(memo, key, lambda: "again") for key in "acb"] == ["made", "made", "again"]


def test_only_clusters_that_were_rejected_have_reasons() -> None:
    made = decide(
        Snapshot([cluster("m1"), cluster("m2", taints=[{"key": "k", "effect": "NoSchedule"}])]), binding(1), {}
    )
    assert list(made.decisive.rejections) == ["m2"]
    assert made.decisive.rejections["m2"]
    with pytest.raises(KeyError):
        made.decisive.rejections["m1"]


@pytest.mark.parametrize("pods", [2**31 - 2, 2**31 - 1, 2**31])
def test_a_cluster_without_limits_counts_as_having_what_is_asked_for(pods: int) -> None:
    live = Snapshot([cluster("m1", pods), cluster("m2", 10)])
    for subject in (binding(6, {"replicaScheduling": DYNAMIC}), binding(6, spread("cluster", 1, 1), {"m2": 1})):
        fresh = Snapshot(live.clusters.values())
        assert comparable(decide(live, subject, {})) == comparable(by_definition(fresh, subject, {}))


def test_where_every_cluster_holds_all_replicas_only_those_with_the_room_count() -> None:
    fleet = [cluster("m1", 100, region="north"), cluster("m2", 10, region="south"), cluster("m3", 10, region="south")]

    def regions(scheduling: Tree) -> set[str]:
        outcome = decide(
            Snapshot(fleet), binding(20, {**spread("region", 1, 1), "replicaScheduling": scheduling}), {}
        ).outcome
        assert isinstance(outcome, Placed)
        return {target.name for target in outcome.clusters}

    assert regions(DUPLICATED) == {"m1"}
    assert regions(DYNAMIC) == {"m2", "m3"}
