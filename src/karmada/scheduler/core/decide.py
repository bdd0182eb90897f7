"""`decide`: facts, a binding and estimates in; a decision with its reasons out.

The steps: filter, score, estimate, select by spread constraints, assign replicas. A placement with a list of affinity
terms is tried term by term, from the one in use.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import encode
from karmada.api.decision import Attempt, Decision, NoClusterFits, Placed, Rejection
from karmada.api.policy.v1alpha1 import ClusterAffinityTerm
from karmada.policies.webster import ties_ascend
from karmada.scheduler.core.assignment import Assignment, assign
from karmada.scheduler.core.capacity import takes_room
from karmada.scheduler.core.facts import Estimates, Facts, facts_of
from karmada.scheduler.core.framework import DEFAULT, Framework
from karmada.scheduler.core.request import DEFAULT_SETTINGS, Binding, Request, Settings, is_failing_back, is_rescheduled
from karmada.scheduler.core.selection import Selection, select
from karmada.scheduler.core.shared_facts import wanted_facts
from karmada.scheduler.core.snapshot import Memo, Snapshot


class _Latest:
    """The latest attempt at requests that are equal in all that matters; only that one, for it holds on to facts."""

    __slots__ = ("attempt", "version")

    def __init__(self) -> None:
        self.version = -1
        self.attempt: Attempt | None = None


_ATTEMPTS = Memo[_Latest](2048)


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
        attempt = attempt_at(snapshot, request, estimates, framework)
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
    fresh, back = is_rescheduled(binding), is_failing_back(binding)
    attracted, repelled = _peers(snapshot, binding, settings)
    for term in terms_to_try(binding) or (None,):
        # On the way back only the terms before the one in use place anew: where they do not fit, nothing moves.
        anew = fresh or (back and term is not None and term.affinity_name != _in_use(binding))
        yield Request(binding, placement, settings, term, anew, attracted, repelled)


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
        wanted = wanted_facts(request, framework)
        names |= dict.fromkeys(facts_of(snapshot, request, {}, framework, wanted).ranking.names())
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
    """The affinity terms from the one in use; from the first when everything is scheduled anew or goes back."""
    placement = binding.spec.placement
    terms = placement.cluster_affinities if placement is not None else ()
    if is_rescheduled(binding) or is_failing_back(binding):
        return terms
    observed = _in_use(binding)
    start = next((index for index, term in enumerate(terms) if term.affinity_name == observed), 0)
    return terms[start:]


def _in_use(binding: Binding) -> str:
    return binding.status.scheduler_observing_affinity_name


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


def attempt_at(snapshot: Snapshot, request: Request, estimates: Estimates, framework: Framework) -> Attempt:
    """What comes of a request: the attempt of an equal one before, as long as no cluster has changed."""
    wanted = wanted_facts(request, framework)
    if wanted is None or estimates or snapshot.assumed or request.spec.components:
        return conclude(snapshot, request, facts_of(snapshot, request, estimates, framework, wanted))
    key = (wanted.key, framework.scorers, *_beyond(request), snapshot.total)
    latest = snapshot.kept(_ATTEMPTS, key, _Latest)
    if latest.attempt is None or latest.version != snapshot.version:
        latest.attempt = conclude(snapshot, request, facts_of(snapshot, request, estimates, framework, wanted))
        latest.version = snapshot.version
    return latest.attempt


def _beyond(request: Request) -> tuple[Hashable, ...]:
    """What an attempt depends on beyond what is asked about clusters."""
    placement, spec = request.placement, request.spec
    return (
        encode((placement.spread_constraints, placement.replica_scheduling)),
        request.term.affinity_name if request.term is not None else "",
        tuple(request.targets.items()),
        spec.replicas,
        request.is_workload,
        request.fresh,
        ties_ascend(spec.resource.uid),
        request.settings.empty_workload_propagation,
    )


def conclude(snapshot: Snapshot, request: Request, facts: Facts) -> Attempt:
    """Select and assign on what is known."""
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
    assigned = assign(snapshot, request, chosen.candidates)
    return Attempt(
        affinity=name,
        outcome=Placed(clusters=assigned.clusters) if isinstance(assigned, Assignment) else assigned,
        rejections=facts.rejections,
        scores=facts.scores,
        estimates=facts.estimates,
        groups=chosen.groups,
        combinations=chosen.combinations,
        selected=chosen.candidates.frozen_names(),
        divisions=assigned.divisions if isinstance(assigned, Assignment) else (),
    )


def _no_fit(total: int, rejections: Mapping[str, tuple[Rejection, ...]]) -> str:
    if not total:
        return "no cluster exists"
    if not rejections:
        return f"0/{total} clusters are available: no cluster exists."
    counts = Counter(reasons[0].reason for reasons in rejections.values())
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{total} clusters are available: {reasons}."
