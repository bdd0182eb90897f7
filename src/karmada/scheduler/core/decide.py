"""`decide`: facts, a binding and estimates in; a decision with its reasons out.

The steps: filter, score, estimate, select by spread constraints, assign replicas. A placement with a list of affinity
terms is tried term by term, from the one in use.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.decision import Attempt, Decision, NoClusterFits, Placed, Rejection
from karmada.api.policy.v1alpha1 import ClusterAffinityTerm
from karmada.policies.cluster_affinity import cluster_matches
from karmada.scheduler.core import estimation
from karmada.scheduler.core.amounts import NO_OPINION, UNLIMITED
from karmada.scheduler.core.assignment import Assignment, assign
from karmada.scheduler.core.candidates import Candidate, in_order
from karmada.scheduler.core.framework import DEFAULT, Framework
from karmada.scheduler.core.request import DEFAULT_SETTINGS, Binding, Request, Settings, is_rescheduled
from karmada.scheduler.core.selection import Selection, select
from karmada.scheduler.core.snapshot import Snapshot

Estimates = Mapping[str, int]
"""What accurate estimators answered, by cluster; -1 or absence is no opinion."""


class NoPlacement(ValueError):
    """The binding has no placement: there is nothing to decide."""


def decide(
    snapshot: Snapshot,
    binding: Binding,
    estimates: Estimates,
    settings: Settings = DEFAULT_SETTINGS,
    framework: Framework = DEFAULT,
) -> Decision:
    """Decide where a binding goes."""
    placement = binding.spec.placement
    if placement is None:
        raise NoPlacement(f"{binding.metadata.namespace}/{binding.metadata.name} has no placement")
    attempts = []
    for request in requests(snapshot, binding, settings):
        attempt = _attempt(snapshot, request, estimates, framework)
        attempts.append(attempt)
        if isinstance(attempt.outcome, Placed):
            return Decision(
                previous=binding.spec.clusters,
                attempts=tuple(attempts),
                outcome=attempt.outcome,
                affinity=attempt.affinity,
            )
    return Decision(previous=binding.spec.clusters, attempts=tuple(attempts), outcome=attempts[0].outcome)


def requests(snapshot: Snapshot, binding: Binding, settings: Settings) -> Iterable[Request]:
    """One request per affinity term, in the order in which they are tried."""
    placement = binding.spec.placement
    if placement is None:
        return
    fresh = is_rescheduled(binding)
    attracted, repelled = _peers(snapshot, binding, settings)
    for term in terms_to_try(binding) or (None,):
        yield Request(binding, placement, settings, term, fresh, attracted, repelled)


def terms_to_try(binding: Binding) -> Sequence[ClusterAffinityTerm]:
    """The affinity terms from the one in use; from the first when everything is scheduled anew."""
    placement = binding.spec.placement
    terms = placement.cluster_affinities if placement is not None else ()
    if is_rescheduled(binding):
        return terms
    observed = binding.status.scheduler_observing_affinity_name
    start = next((index for index, term in enumerate(terms) if term.affinity_name == observed), 0)
    return terms[start:]


def _peers(
    snapshot: Snapshot, binding: Binding, settings: Settings
) -> tuple[tuple[frozenset[str], ...], frozenset[str]]:
    groups = binding.spec.workload_affinity_groups
    if groups is None or not settings.gates.enabled("WorkloadAffinity"):
        return (), frozenset()
    namespace, name = binding.metadata.namespace, binding.metadata.name
    attracted: tuple[frozenset[str], ...] = ()
    repelled: frozenset[str] = frozenset()
    if groups.affinity_group:
        peers = snapshot.peers.attracted(namespace, groups.affinity_group)
        attracted = tuple(sorted((p.clusters for p in peers if p.name != name and p.clusters), key=sorted))
    if groups.anti_affinity_group:
        others = snapshot.peers.repelled(namespace, groups.anti_affinity_group)
        repelled = frozenset(cluster for peer in others if peer.name != name for cluster in peer.clusters)
    return attracted, repelled


def _attempt(snapshot: Snapshot, request: Request, estimates: Estimates, framework: Framework) -> Attempt:
    name = request.term.affinity_name if request.term is not None else ""
    rejections: dict[str, tuple[Rejection, ...]] = {}
    fitting: list[Cluster] = []
    for cluster in snapshot.clusters.values():
        reasons = framework.rejections(cluster, request)
        if reasons:
            rejections[cluster.metadata.name] = reasons
        else:
            fitting.append(cluster)
    if not fitting:
        outcome = NoClusterFits(message=_no_fit(snapshot.total, rejections))
        return Attempt(affinity=name, outcome=outcome, rejections=rejections)
    scores = {cluster.metadata.name: framework.scores(cluster, request) for cluster in fitting}
    estimated = estimate(snapshot, request, fitting, estimates)
    candidates = in_order(
        _candidate(request, cluster, scores[cluster.metadata.name], estimated.get(cluster.metadata.name))
        for cluster in fitting
    )
    found = select(request, candidates)
    if not isinstance(found, Selection):
        return Attempt(affinity=name, outcome=found, rejections=rejections, scores=scores, estimates=estimated)
    assigned = assign(request, found.candidates)
    return Attempt(
        affinity=name,
        outcome=Placed(clusters=assigned.clusters) if isinstance(assigned, Assignment) else assigned,
        rejections=rejections,
        scores=scores,
        estimates=estimated,
        groups=found.groups,
        combinations=found.combinations,
        selected=tuple(candidate.name for candidate in found.candidates),
        divisions=assigned.divisions if isinstance(assigned, Assignment) else (),
    )


def estimate(snapshot: Snapshot, request: Request, clusters: Iterable[Cluster], accurate: Estimates) -> dict[str, int]:
    """What fits into each cluster; empty when the binding takes no room."""
    spec = request.spec
    if spec.replicas == 0 and not spec.components:
        return {}
    gates = request.settings.gates
    by_model = gates.enabled("CustomizedClusterResourceModeling")
    protects = gates.enabled("SchedulingOvercommitProtection")
    found = {}
    for cluster in clusters:
        name = cluster.metadata.name
        assumed = snapshot.assumed.get(name, ()) if protects else ()
        if request.places_sets:
            count = estimation.available_sets(cluster, spec.components, by_model, assumed)
        else:
            count = estimation.available_replicas(cluster, spec.replica_requirements, by_model, assumed)
        opinion = accurate.get(name, NO_OPINION)
        found[name] = count if opinion < 0 else min(count, opinion)
    return found


def _candidate(request: Request, cluster: Cluster, scores: Mapping[str, int], estimated: int | None) -> Candidate:
    name = cluster.metadata.name
    if estimated is None:
        room = UNLIMITED
    else:
        room = estimated if estimated != UNLIMITED else request.spec.replicas
    tier = 0
    if len(request.tiers) > 1:
        tier = next(i for i, affinity in enumerate(request.tiers) if cluster_matches(affinity, cluster))
    return Candidate(name, cluster, sum(scores.values()), room, room + request.targets.get(name, 0), tier)


def _no_fit(total: int, rejections: Mapping[str, tuple[Rejection, ...]]) -> str:
    if not total:
        return "no cluster exists"
    counts = Counter(reasons[0].reason for reasons in rejections.values())
    told = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{total} clusters are available: {told}." if told else f"0/{total} clusters are available."
