"""Topic `scheduler`: whole decisions, and the division of seats by votes."""

from typing import Any

from karmada.api import names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.decision import Attempt, ConstraintUnmet, NoClusterFits, NotEnoughRoom, Placed
from karmada.api.feature_gates import FeatureGates
from karmada.api.work.v1alpha2 import Component, ResourceBinding, TargetCluster
from karmada.policies import webster
from karmada.scheduler.core.amounts import UNLIMITED
from karmada.scheduler.core.assumptions import AssumedWorkload
from karmada.scheduler.core.capacity import Question, Room, needs_of
from karmada.scheduler.core.decide import decide
from karmada.scheduler.core.request import Settings, Strategy, strategy_of
from karmada.scheduler.core.snapshot import PeerGroup, Snapshot
from karmada.testing.golden.case import Case, Excuse, Record, Topic
from karmada.testing.golden.compare import first_difference

_TYPES = {NoClusterFits: "FitError", NotEnoughRoom: "UnschedulableError", ConstraintUnmet: "Error"}


class _Peers:
    def __init__(self, bindings: list[ResourceBinding]) -> None:
        self._bindings = bindings

    def attracted(self, namespace: str, group: str) -> list[PeerGroup]:
        return self._of("affinity_group", namespace, group)

    def repelled(self, namespace: str, group: str) -> list[PeerGroup]:
        return self._of("anti_affinity_group", namespace, group)

    def _of(self, field: str, namespace: str, group: str) -> list[PeerGroup]:
        return [
            PeerGroup(namespace, other.metadata.name, frozenset(target.name for target in other.spec.clusters))
            for other in self._bindings
            if other.metadata.namespace == namespace
            and other.spec.workload_affinity_groups is not None
            and getattr(other.spec.workload_affinity_groups, field) == group
        ]


def _schedule(given: dict[str, Any]) -> dict[str, Any]:
    binding = _binding(given)
    decision = decide(snapshot_of(given), binding, {}, _settings(given))
    attempts = [_comparable(attempt) for attempt in decision.attempts]
    shown = attempts[-1] if isinstance(decision.outcome, Placed) else attempts[0]
    outcome = {key: value for key, value in shown.items() if key != "affinityName"}
    if binding.spec.placement is not None and binding.spec.placement.cluster_affinities:
        outcome["attempts"] = attempts
    placed = isinstance(decision.outcome, Placed)
    wiped = isinstance(decision.outcome, NoClusterFits)
    kept = decision.outcome.clusters if isinstance(decision.outcome, Placed) else () if wiped else decision.previous
    outcome["binding"] = {
        "clusters": _targets(kept),
        "condition": {"reason": decision.outcome.REASON, "status": "True" if placed else "False", "type": "Scheduled"},
        "requeue": not placed and not wiped,
        "schedulerObservingAffinityName": decision.affinity or binding.status.scheduler_observing_affinity_name,
    }
    return outcome


def _binding(given: dict[str, Any]) -> ResourceBinding:
    resource = given["binding"]["spec"]["resource"]
    metadata = {
        "namespace": resource.get("namespace", ""),
        "name": names.binding_name(resource["kind"], resource["name"]),
    }
    return from_tree({"metadata": metadata, **given["binding"]}, ResourceBinding)


def _settings(given: dict[str, Any]) -> Settings:
    return Settings(
        FeatureGates(given.get("featureGates") or {}),
        bool((given.get("options") or {}).get("enableEmptyWorkloadPropagation")),
    )


def snapshot_of(given: dict[str, Any]) -> Snapshot:
    """The facts of a case."""
    assumed: dict[str, tuple[AssumedWorkload, ...]] = {}
    for workload in given.get("assumedWorkloads") or ():
        parts = tuple(from_tree(part, Component) for part in workload.get("components") or ())
        noted = AssumedWorkload(workload.get("namespace", ""), parts)
        assumed[workload["cluster"]] = (*assumed.get(workload["cluster"], ()), noted)
    peers = _Peers([from_tree(other, ResourceBinding) for other in given.get("existingBindings") or ()])
    return Snapshot([from_tree(cluster, Cluster) for cluster in given["clusters"]], peers, assumed)


def _comparable(attempt: Attempt) -> dict[str, Any]:
    outcome = attempt.outcome
    observed: dict[str, Any] = {
        "affinityName": attempt.affinity,
        "error": None,
        "suggestedClusters": [],
        "filter": dict.fromkeys(attempt.scores),
        "scores": {name: sum(scores.values()) for name, scores in attempt.scores.items()},
        "selected": sorted(attempt.selected),
    }
    for name, rejections in attempt.rejections.items():
        reasons = sorted(rejection.reason for rejection in rejections)
        observed["filter"][name] = reasons if len(reasons) > 1 else reasons[0]
    if attempt.estimates:
        observed["estimated"] = {name: _as_int32(count) for name, count in attempt.estimates.items()}
    if isinstance(outcome, Placed):
        observed["suggestedClusters"] = _targets(outcome.clusters)
    else:
        observed["error"] = {"type": _TYPES[type(outcome)], "message": outcome.message}
    return observed


def _targets(clusters: tuple[TargetCluster, ...]) -> list[dict[str, Any]]:
    return [
        {
            "name": target.name,
            "replicas": target.replicas,
            "components": [{"name": part.name, "replicas": part.replicas} for part in target.components] or None,
        }
        for target in sorted(clusters, key=lambda target: target.name)
    ]


def _as_int32(count: int) -> int:
    """The recorded figures are those of the reference's 32 bits; only what is decided from them must be right."""
    return (count + 2**31) % 2**32 - 2**31


def _dispense(given: dict[str, Any]) -> dict[str, Any]:
    seats = webster.divide(
        given["replicas"],
        given["votes"].items(),
        given.get("initial") or {},
        ascending=webster.ties_ascend(given.get("uid", "")),
    )
    return {"result": {share.name: share.seats for share in seats}}


def _read(record: Record) -> Case:
    """These records are flat; several results may be right when equal clusters compete."""
    operation = "dispense" if record.get("kind") == "dispenser" else "schedule"
    expected = record["expect"]
    others = (
        {**expected, "suggestedClusters": clusters, "binding": {**expected["binding"], "clusters": clusters}}
        for clusters in record.get("expectAnyOf") or ()
    )
    return Case(record["id"], operation, record, (expected, *others))


def _compare(expected: Any, actual: Any) -> str | None:
    return first_difference(_with_wording(expected, actual), actual)


def _with_wording(expected: Any, actual: Any) -> Any:
    """Where several wordings are right, the one that was used."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        if "messageAnyOf" in expected:
            used = actual.get("message")
            wording = used if used in expected["messageAnyOf"] else expected["messageAnyOf"][0]
            return {**{key: value for key, value in expected.items() if key != "messageAnyOf"}, "message": wording}
        return {key: _with_wording(value, actual.get(key)) for key, value in expected.items()}
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [_with_wording(*pair) for pair in zip(expected, actual, strict=True)]
    return expected


def _groups_without_clusters(case: Case) -> bool:
    """Only where it matters: fixed weights ignore constraints, and so do too few groups or groups of one cluster."""
    placement = case.input.get("binding", {}).get("spec", {}).get("placement") or {}
    constraints = {item.get("spreadByField"): item for item in placement.get("spreadConstraints") or ()}
    weights = (placement.get("replicaScheduling") or {}).get("weightPreference") or {}
    if not constraints or "cluster" in constraints or weights.get("staticWeightList"):
        return False
    if "region" not in constraints:
        return True
    regions = [region for cluster in case.input["clusters"] if (region := cluster["spec"].get("region"))]
    return bool(len(regions) > len(set(regions)) >= constraints["region"].get("minGroups", 0))


def _wraps(case: Case) -> bool:
    """Only where it matters: room is shared by, clusters are selected by it, or its sum turns negative."""
    if case.operation != "schedule":
        return False
    if "available replicas -" in str(case.alternatives):
        return True
    spec = _binding(case.input).spec
    placement = spec.placement
    if placement is None or strategy_of(placement) not in (Strategy.DYNAMIC_WEIGHT, Strategy.AGGREGATED):
        return False
    by_model = _settings(case.input).by_model
    room = Room(snapshot_of(case.input), Question(needs_of(spec.replica_requirements), by_model)).of.values()
    wrapped = [spec.replicas if count == UNLIMITED else _as_int32(count) for count in room]
    if _as_int32(sum(wrapped)) < spec.replicas <= sum(room):
        return True
    by_room = strategy_of(placement) is Strategy.DYNAMIC_WEIGHT or bool(placement.spread_constraints)
    return by_room and max(room, default=0) > UNLIMITED


EXCUSES = (
    Excuse("the source documents allow a spread constraint by group without one by cluster", _groups_without_clusters),
    Excuse("room for more than 2147483647 replicas wraps around in the reference, here it is ample", _wraps),
)
TOPIC = Topic("scheduler", {"schedule": _schedule, "dispense": _dispense}, EXCUSES, _read, _compare)
