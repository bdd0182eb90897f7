"""The link from a binding to clusters: every cluster's verdict, as the scheduler recorded it or by its own core now."""

from collections.abc import Iterable
from typing import Any

from karmada.api import conditions
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.counting import counted
from karmada.api.decision import Attempt, Decision, NotEnoughRoom, Placed, Rejection
from karmada.api.meta import find_condition
from karmada.explain.nearest import did_you_mean
from karmada.explain.why.affinity import misses, unknown_names
from karmada.explain.why.facts import Binding, Facts
from karmada.explain.why.links import Link, broken
from karmada.explain.why.moves import move_lines
from karmada.explain.why.verdicts import affinity_of, reason, rows, short
from karmada.scheduler.core.decide import NoPlacement, decide
from karmada.scheduler.core.request import Settings
from karmada.scheduler.core.snapshot import Snapshot

RECOMPUTED = "(computed now under {gates} feature gates and without estimators: not the scheduler's own record)"
_REMEDIES = {
    "ClusterAffinity": "let the policy's placement include {cluster} (clusterAffinity)",
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
    shares = {target.name: target.replicas for target in binding.spec.clusters}
    decision, recorded = decision_about(facts, binding)
    link = _judged(facts, binding, decision, focus)
    link.data = _data(decision, shares, recomputed=not recorded)
    link.details += move_lines(binding)
    link.warnings = unknown_names(binding.spec.placement, facts.clusters) if facts.clusters else []
    if decision is not None and facts.clusters:
        link.table = rows(decision.decisive, binding, shares, facts.clusters, focus)
        again = RECOMPUTED.format(gates="the control plane's" if facts.terms.known else "default")
        link.details.append(f"(recorded by the scheduler at {facts.recorded_at})" if recorded else again)
    return link


def decision_about(facts: Facts, binding: Binding) -> tuple[Decision | None, bool]:
    """The decision about a binding, and whether the scheduler recorded it; else it is computed now."""
    shares = {target.name: target.replicas for target in binding.spec.clusters}
    recorded = _recorded(facts, binding, shares)
    return (recorded, True) if recorded is not None else (decided(facts, binding), False)


def _judged(facts: Facts, binding: Binding, decision: Decision | None, focus: str) -> Link:
    shares = {target.name: target.replicas for target in binding.spec.clusters}
    suspension = binding.spec.suspension
    if suspension is not None and suspension.scheduling:
        return broken("scheduling", "scheduling is suspended", "Set spec.suspension.scheduling to false.")
    if not facts.clusters:
        return broken(
            "scheduling", "there are no clusters", "Join one: karmadactl join NAME --cluster-kubeconfig=FILE."
        )
    condition = find_condition(binding.status.conditions, conditions.SCHEDULED)
    if not shares or (condition is not None and condition.status != "True"):
        return _refused(facts, binding, decision, condition.message if condition else "")
    if focus and focus not in shares:
        return _left_out(facts, binding, decision, focus)
    text = ", ".join(f"{name}: {count}" if count else name for name, count in sorted(shares.items()))
    if sum(shares.values()) and binding.spec.replicas:
        text = f"{counted(sum(shares.values()), 'replica')} in {counted(len(shares), 'cluster')} ({text})"
    return Link("scheduling", text)


def decided(facts: Facts, binding: Binding) -> Decision | None:
    """What the scheduler would say now."""
    try:
        return decide(Snapshot(facts.clusters), binding, {}, Settings(facts.terms.gates))
    except NoPlacement:
        return None


def _recorded(facts: Facts, binding: Binding, shares: dict[str, int]) -> Decision | None:
    """What the scheduler recorded, if it is about the binding and the clusters as they are."""
    decision = facts.recorded
    if decision is None or binding.status.scheduler_observed_generation != binding.metadata.generation:
        return None
    attempt = decision.decisive
    if {*attempt.rejections, *attempt.scores} != {cluster.metadata.name for cluster in facts.clusters}:
        return None
    if isinstance(decision.outcome, Placed):
        placed = {target.name: target.replicas for target in decision.outcome.clusters}
        return decision if placed == shares else None
    return decision


def _refused(facts: Facts, binding: Binding, decision: Decision | None, message: str) -> Link:
    if decision is None:
        return broken("scheduling", "the binding has no placement", "Give the policy a placement.")
    outcome = decision.outcome
    if isinstance(outcome, Placed):
        if not message:
            text = "the scheduler has not decided yet"
            remedy = "Look whether karmada-scheduler runs, and whether schedulerName of the policy names it."
            return broken("scheduling", text, remedy)
        text = f"it was refused ({message}), but would be placed now"
        return broken("scheduling", text, "Wait: the scheduler tries again by itself.")
    return broken("scheduling", message or outcome.message, _remedy(facts, binding, decision.decisive))


def _left_out(facts: Facts, binding: Binding, decision: Decision | None, focus: str) -> Link:
    cluster = next((one for one in facts.clusters if one.metadata.name == focus), None)
    if cluster is None:
        known = [one.metadata.name for one in facts.clusters]
        text = f"there is no cluster {focus}{did_you_mean(focus, known)}"
        return broken("scheduling", text, "See `karmadactl get clusters`.")
    rejections = decision.decisive.rejections.get(focus, ()) if decision else ()
    if decision is not None and rejections:
        reasons = "; ".join(reason(one, decision.decisive, binding, cluster) for one in rejections)
        remedy = one_remedy(decision.decisive, binding, rejections, cluster)
        return broken("scheduling", f"{focus} was not chosen: {reasons}", remedy)
    text = f"{focus} fits, but others were preferred"
    return broken("scheduling", text, "Change the weights or spread constraints of the placement, or add replicas.")


def _remedy(facts: Facts, binding: Binding, attempt: Attempt) -> str:
    """What would help: room where clusters fit, else what the cluster wants that is closest to fitting."""
    by_name = {cluster.metadata.name: cluster for cluster in facts.clusters}
    if isinstance(attempt.outcome, NotEnoughRoom):
        found = {
            name: lack
            for name in attempt.scores
            if name in by_name and (lack := short(attempt, binding, by_name[name]))
        }
        if not found:
            return "Make room in the clusters that fit, ask for less, or relax the placement."
        most = max(sorted(found), key=lambda name: found[name].fits)
        text = f"{most}, which has most room, takes {found[most].fits} of {binding.spec.replicas}"
        return f"Make room, ask for less, or let the placement include more clusters: {text} ({found[most].amounts})."
    rejected = {name: found for name, found in attempt.rejections.items() if name in by_name}
    if unknown := unknown_names(binding.spec.placement, facts.clusters):
        return f"Correct the placement: {'; '.join(unknown)}."
    if fewest := _more_than_there_are(facts, binding):
        there = f"it asks for {counted(fewest, 'cluster')}, and there are {len(facts.clusters)}"
        return f"Lower minGroups of the spread constraint by cluster, or join more clusters: {there}."
    if not rejected:
        return "Relax the placement, its spread constraints above all."
    closest = min(rejected, key=lambda name: (len(rejected[name]), _rank(rejected[name]), name))
    return one_remedy(attempt, binding, rejected[closest], by_name[closest])


def _more_than_there_are(facts: Facts, binding: Binding) -> int:
    """How many clusters a spread constraint asks for, if no cluster that is let in could make them enough."""
    placement = binding.spec.placement
    asked = (
        [one.min_groups for one in placement.spread_constraints if one.spread_by_field == "cluster"]
        if placement
        else []
    )
    return max((count for count in asked if count > len(facts.clusters)), default=0)


def _rank(rejections: Iterable[Rejection]) -> int:
    """Affinity is what people meant, so it is questioned last."""
    return max((1 if rejection.plugin == "ClusterAffinity" else 0 for rejection in rejections), default=0)


def one_remedy(attempt: Attempt, binding: Binding, rejections: Iterable[Rejection], cluster: Cluster) -> str:
    """What would let a cluster in that filters keep out."""
    name = cluster.metadata.name
    affinity = affinity_of(attempt, binding)
    known: list[str] = []
    for one in rejections:
        specific = misses(affinity, cluster)[1] if one.plugin == "ClusterAffinity" and affinity is not None else ""
        if specific or one.plugin in _REMEDIES:
            known.append(specific or _REMEDIES[one.plugin].format(cluster=name))
    text = "; and ".join(known) or f"see to what keeps {name} away"
    return text[0].upper() + text[1:] + "."


def _data(decision: Decision | None, shares: dict[str, int], *, recomputed: bool) -> dict[str, Any]:
    if decision is None:
        return {"clusters": shares}
    import orjson

    from karmada.api.decision import encode

    return {"clusters": shares, "decision": orjson.loads(encode(decision)), "recomputed": recomputed}
