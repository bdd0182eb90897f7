"""The link from a binding to clusters: every cluster's verdict, by the scheduler's own core on the facts of now."""

from collections.abc import Iterable
from typing import Any

from karmada.api import conditions
from karmada.api.decision import Attempt, Decision, Placed, Rejection
from karmada.explain.why.facts import Binding, Facts
from karmada.explain.why.links import Link, broken
from karmada.scheduler.core.decide import NoPlacement, decide
from karmada.scheduler.core.snapshot import Snapshot

_REMEDIES = {
    "ClusterAffinity": "let the policy's placement mean {cluster} (clusterAffinity)",
    "TaintToleration": "take the taint off {cluster} (karmadactl taint, karmadactl uncordon), or tolerate it in "
    "placement.clusterTolerations",
    "APIEnablement": "install the kind in {cluster} first (its CRD), for example by propagating the CRD too",
    "SpreadConstraint": "give {cluster} the property the spread constraint asks for",
    "ClusterEviction": "wait until the eviction from {cluster} is over",
    "WorkloadAntiAffinity": "let fewer workloads of the same anti-affinity group claim clusters",
    "WorkloadAffinity": "place the workload it wants to be with first",
}


def scheduling_link(facts: Facts, binding: Binding, focus: str = "") -> Link:
    """Where it goes, and why; with a focus, whether that cluster is among them."""
    decision = decided(facts, binding)
    shares = {target.name: target.replicas for target in binding.spec.clusters}
    known = [cluster.metadata.name for cluster in facts.clusters]
    table = _table(decision.decisive, shares, known) if decision else []
    data = _data(decision, shares)
    suspension = binding.spec.suspension
    if suspension is not None and suspension.scheduling:
        return broken("scheduling", "scheduling is suspended", "Set spec.suspension.scheduling to false.", **data)
    if not facts.clusters:
        return broken(
            "scheduling", "there are no clusters", "Join one: karmadactl join NAME --cluster-kubeconfig=FILE."
        )
    condition = next((found for found in binding.status.conditions if found.type == conditions.SCHEDULED), None)
    if not shares or (condition is not None and condition.status != "True"):
        return _refused(facts, decision, condition.message if condition else "", table, data)
    if focus and focus not in shares:
        return _left_out(focus, decision, table, data)
    said = ", ".join(f"{name}: {count}" if count else name for name, count in sorted(shares.items()))
    if sum(shares.values()) and binding.spec.replicas:
        said = f"{sum(shares.values())} replicas in {len(shares)} clusters ({said})"
    return Link("scheduling", said, table=table, data=data)


def decided(facts: Facts, binding: Binding) -> Decision | None:
    """What the scheduler would say now."""
    try:
        return decide(Snapshot(facts.clusters), binding, {})
    except NoPlacement:
        return None


def _refused(
    facts: Facts, decision: Decision | None, message: str, table: list[list[str]], data: dict[str, Any]
) -> Link:
    if decision is None:
        remedy = "Give the policy a placement."
        return broken("scheduling", "the binding has no placement", remedy, **data)
    outcome = decision.outcome
    if isinstance(outcome, Placed):
        if not message:
            said = "the scheduler has not decided yet"
            remedy = "Look whether karmada-scheduler runs, and whether schedulerName of the policy names it."
            return broken("scheduling", said, remedy, table=table, **data)
        said = f"it was refused ({message}), but would be placed now"
        return broken("scheduling", said, "Wait: the scheduler tries again by itself.", table=table, **data)
    remedy = _remedy(decision.decisive)
    return broken("scheduling", message or outcome.message, remedy, table=table, **data)


def _left_out(focus: str, decision: Decision | None, table: list[list[str]], data: dict[str, Any]) -> Link:
    rejections = decision.decisive.rejections.get(focus, ()) if decision else ()
    if rejections:
        said = f"{focus} was not chosen: {'; '.join(rejection.reason for rejection in rejections)}"
        return broken("scheduling", said, _one_remedy(rejections, focus), table=table, **data)
    if decision is not None and focus not in decision.decisive.scores:
        return broken(
            "scheduling", f"there is no cluster {focus}", "See `karmadactl get clusters`.", table=table, **data
        )
    said = f"{focus} fits, but others were preferred"
    remedy = "Change the weights or spread constraints of the placement, or add replicas."
    return broken("scheduling", said, remedy, table=table, **data)


def _remedy(attempt: Attempt) -> str:
    """What would help the cluster that is closest to fitting."""
    if not attempt.rejections:
        return "Make room in the clusters that fit, ask for less, or relax the placement."
    closest = min(
        attempt.rejections, key=lambda name: (len(attempt.rejections[name]), _rank(attempt.rejections[name]), name)
    )
    return _one_remedy(attempt.rejections[closest], closest)


def _rank(rejections: Iterable[Rejection]) -> int:
    """Affinity is what people meant, so it is questioned last."""
    return max((1 if rejection.plugin == "ClusterAffinity" else 0 for rejection in rejections), default=0)


def _one_remedy(rejections: Iterable[Rejection], cluster: str) -> str:
    known = [_REMEDIES[one.plugin].format(cluster=cluster) for one in rejections if one.plugin in _REMEDIES]
    text = "; and ".join(known) or f"see to what keeps {cluster} away"
    return text[0].upper() + text[1:] + "."


def _table(attempt: Attempt, shares: dict[str, int], clusters: list[str]) -> list[list[str]]:
    rows = [["CLUSTER", "VERDICT", "SCORE", "ROOM", "REPLICAS", "BECAUSE"]]
    for name in sorted({*clusters, *attempt.rejections, *attempt.scores}):
        rejections = attempt.rejections.get(name, ())
        verdict = "chosen" if name in shares else "rejected" if rejections else "left out"
        score = str(sum(attempt.scores[name].values())) if name in attempt.scores else "-"
        room = str(attempt.estimates[name]) if name in attempt.estimates else "-"
        because = "; ".join(rejection.reason for rejection in rejections) or _weights(attempt, name)
        rows.append([name, verdict, score, room, str(shares.get(name, "-")), because])
    return rows


def _weights(attempt: Attempt, name: str) -> str:
    for division in attempt.divisions:
        if name in division.weights:
            return f"{division.strategy}, weight {division.weights[name]}"
    return ""


def _data(decision: Decision | None, shares: dict[str, int]) -> dict[str, Any]:
    if decision is None:
        return {"clusters": shares}
    import orjson

    from karmada.api.decision import encode

    return {"clusters": shares, "decision": orjson.loads(encode(decision))}
