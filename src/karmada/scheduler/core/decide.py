"""`decide`: facts, a binding and estimates in; a decision with its reasons out.

The steps: filter, score, estimate, select by spread constraints, assign replicas. A placement with a list of affinity
terms is tried term by term, from the one in use.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.decision import Attempt, Decision, NoClusterFits, Placed, Rejection
from karmada.api.policy.v1alpha1 import ClusterAffinityTerm
from karmada.policies.cluster_affinity import cluster_matches
from karmada.scheduler.core.amounts import NO_OPINION, UNLIMITED
from karmada.scheduler.core.assignment import Assignment, assign
from karmada.scheduler.core.candidates import Candidate, in_order
from karmada.scheduler.core.estimation import Capacity, demands_of
from karmada.scheduler.core.fitting import Estimated, Fit, Fitting, Preferred, Scores, fit
from karmada.scheduler.core.framework import DEFAULT, Framework
from karmada.scheduler.core.ranking import Kept, Listed, Order, Ranking
from karmada.scheduler.core.request import DEFAULT_SETTINGS, Binding, Request, Settings, is_rescheduled
from karmada.scheduler.core.room import Room, needs_of, room
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


def fitting_names(
    snapshot: Snapshot, binding: Binding, settings: Settings, framework: Framework
) -> tuple[list[str], bool]:
    """The clusters whose estimates matter for a binding, and whether they are about sets of components."""
    names: dict[str, None] = {}
    sets = False
    for request in requests(snapshot, binding, settings):
        if not takes_room(request):
            return [], False
        sets = request.places_sets
        names |= {
            name: None for name, cluster in snapshot.clusters.items() if not framework.rejections(cluster, request)
        }
    return list(names), sets


def fits_anywhere(
    snapshot: Snapshot, binding: Binding, settings: Settings, framework: Framework
) -> tuple[Request | None, list[Cluster]]:
    """The clusters that fit the affinity term in use, with the request they were asked for."""
    for request in requests(snapshot, binding, settings):
        return request, [
            cluster for cluster in snapshot.clusters.values() if not framework.rejections(cluster, request)
        ]
    return None, []


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
    facts = _on_kept_order(snapshot, request, framework) if not estimates else None
    return _concluded(snapshot, request, facts or _one_by_one(snapshot, request, estimates, framework))


def _concluded(snapshot: Snapshot, request: Request, facts: "_Facts") -> Attempt:
    name = request.term.affinity_name if request.term is not None else ""
    if not len(facts.ranking):
        outcome = NoClusterFits(message=_no_fit(snapshot.total, facts.rejections))
        return Attempt(affinity=name, outcome=outcome, rejections=facts.rejections)
    chosen = select(request, facts.ranking)
    if not isinstance(chosen, Selection):
        return Attempt(
            affinity=name,
            outcome=chosen,
            rejections=facts.rejections,
            scores=facts.scores,
            estimates=facts.estimates,
        )
    assigned = assign(request, chosen.candidates)
    return Attempt(
        affinity=name,
        outcome=Placed(clusters=assigned.clusters) if isinstance(assigned, Assignment) else assigned,
        rejections=facts.rejections,
        scores=facts.scores,
        estimates=facts.estimates,
        groups=chosen.groups,
        combinations=chosen.combinations,
        selected=chosen.candidates.names(),
        divisions=assigned.divisions if isinstance(assigned, Assignment) else (),
    )


class _Facts(NamedTuple):
    """What is known about the clusters for a request."""

    ranking: Ranking
    rejections: Mapping[str, tuple[Rejection, ...]]
    scores: Mapping[str, Mapping[str, int]]
    estimates: Mapping[str, int]


def _on_kept_order(snapshot: Snapshot, request: Request, framework: Framework) -> _Facts | None:
    """The facts from what is kept between requests; None where the request is not of the usual kind."""
    gates = request.settings.gates
    if (
        len(request.tiers) > 1
        or request.places_sets
        or not framework.scores_by_locality
        or (snapshot.assumed and gates.enabled("SchedulingOvercommitProtection"))
    ):
        return None
    fitting = fit(snapshot, framework, request)
    if fitting is None:
        return None
    rooms = None
    if takes_room(request):
        by_model = gates.enabled("CustomizedClusterResourceModeling")
        rooms = room(snapshot, request.spec.replica_requirements, by_model)
        if rooms.unlimited:
            return None
    order = _order(snapshot, fitting, rooms)
    own: list[Candidate] = []
    answers: dict[str, tuple[Rejection, ...]] = {}
    skipped: dict[str, int] = {}
    scores: dict[str, dict[str, int]] = {}
    for name in request.targets:
        cluster = snapshot.clusters.get(name)
        if cluster is None:
            continue
        space = UNLIMITED if rooms is None else rooms.of[name]
        if name in fitting.names:
            skipped[name] = space
        answers[name] = framework.rejections(cluster, request)
        if not answers[name]:
            scores[name] = framework.scores(cluster, request)
            own.append(_candidate(request, cluster, scores[name], None if rooms is None else space))
    names = Fitting(fitting.names, answers)
    space_of: Mapping[str, int] = {} if rooms is None else rooms.of
    ranking = Kept(own, order, skipped, snapshot.clusters, lambda first: Preferred(names, first, space_of))
    return _Facts(
        ranking,
        fitting.rejections().overlaid(answers),
        Scores(names, scores, dict.fromkeys((plugin.name for plugin in framework.scorers), 0)),
        Estimated(names, rooms.of) if rooms is not None else {},
    )


def _order(snapshot: Snapshot, fitting: Fit, rooms: Room | None) -> Order:
    key = (fitting.signature, None if rooms is None else rooms.key)
    order: Order | None = snapshot.kept("order", key)
    if order is None:
        order = snapshot.keep("order", key, Order())
    order.refresh(snapshot, fitting.names, None if rooms is None else rooms.of)
    return order


def _one_by_one(snapshot: Snapshot, request: Request, estimates: Estimates, framework: Framework) -> _Facts:
    """The facts worked out for every cluster: the definition of what they are."""
    rejections: dict[str, tuple[Rejection, ...]] = {}
    fitting: list[Cluster] = []
    for cluster in snapshot.clusters.values():
        reasons = framework.rejections(cluster, request)
        if reasons:
            rejections[cluster.metadata.name] = reasons
        else:
            fitting.append(cluster)
    scores = {cluster.metadata.name: framework.scores(cluster, request) for cluster in fitting}
    estimated = estimate(snapshot, request, fitting, estimates)
    candidates = in_order(
        _candidate(request, cluster, scores[cluster.metadata.name], estimated.get(cluster.metadata.name))
        for cluster in fitting
    )
    return _Facts(Listed(candidates), rejections, scores, estimated)


def takes_room(request: Request) -> bool:
    """Whether the binding takes room in clusters at all."""
    return request.spec.replicas != 0 or bool(request.spec.components)


def estimate(snapshot: Snapshot, request: Request, clusters: Iterable[Cluster], accurate: Estimates) -> dict[str, int]:
    """What fits into each cluster; empty when the binding takes no room."""
    if not takes_room(request):
        return {}
    spec, gates = request.spec, request.settings.gates
    by_model = gates.enabled("CustomizedClusterResourceModeling")
    protects = gates.enabled("SchedulingOvercommitProtection")
    found = {}
    demands = demands_of(spec.components) if request.places_sets else []
    needs = needs_of(spec.replica_requirements)
    for cluster in clusters:
        name = cluster.metadata.name
        assumed = snapshot.assumed.get(name, ()) if protects else ()
        capacity = Capacity(cluster, assumed) if assumed else snapshot.capacity(name)
        count = capacity.sets(demands, by_model) if request.places_sets else capacity.replicas(needs, by_model)
        opinion = accurate.get(name, NO_OPINION)
        found[name] = count if opinion < 0 else min(count, opinion)
    return found


def _candidate(request: Request, cluster: Cluster, scores: Mapping[str, int], estimated: int | None) -> Candidate:
    name = cluster.metadata.name
    if estimated is None:
        space = UNLIMITED
    else:
        space = estimated if estimated != UNLIMITED else request.spec.replicas
    tier = 0
    if len(request.tiers) > 1:
        tier = next(i for i, affinity in enumerate(request.tiers) if cluster_matches(affinity, cluster))
    return Candidate(name, cluster, sum(scores.values()), space, space + request.targets.get(name, 0), tier)


def _no_fit(total: int, rejections: Mapping[str, tuple[Rejection, ...]]) -> str:
    if not total:
        return "no cluster exists"
    counts = Counter(reasons[0].reason for reasons in rejections.values())
    told = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{total} clusters are available: {told}." if told else f"0/{total} clusters are available."
