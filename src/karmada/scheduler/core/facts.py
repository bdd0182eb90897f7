"""What is known about the clusters for a request: who fits, how they score, how much room they have, in what order.

`one_by_one` works everything out for every cluster: it is the definition. `on_kept_order` gives the same from what is
kept between requests, for requests of the usual kinds; what makes a request special (own clusters, assumed workloads,
answers of accurate estimators) changes a few entries of a kept order.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.decision import Rejection
from karmada.policies.cluster_affinity import cluster_matches
from karmada.scheduler.core.amounts import NO_OPINION, UNLIMITED
from karmada.scheduler.core.candidate import Candidate, in_order
from karmada.scheduler.core.capacity import Question, Room, question_of, takes_room
from karmada.scheduler.core.estimation import Capacity
from karmada.scheduler.core.fitting import Estimated, Fitting, Preferred, Scores
from karmada.scheduler.core.framework import Framework
from karmada.scheduler.core.ranking import Kept, Ranked, Ranking
from karmada.scheduler.core.request import Request
from karmada.scheduler.core.shared_facts import WantedFacts, basis_of
from karmada.scheduler.core.snapshot import Snapshot

Estimates = Mapping[str, int]
"""What accurate estimators answered, by cluster; -1 or absence is no opinion."""


class Facts(NamedTuple):
    """What is known about the clusters for a request."""

    ranking: Ranking
    rejections: Mapping[str, tuple[Rejection, ...]]
    scores: Mapping[str, Mapping[str, int]]
    estimates: Mapping[str, int]


def facts_of(
    snapshot: Snapshot, request: Request, accurate: Estimates, framework: Framework, wanted: WantedFacts | None
) -> Facts:
    """The facts, from what is kept where the request asks what others may ask too."""
    known = None if wanted is None else on_kept_order(snapshot, request, accurate, framework, wanted)
    return known or one_by_one(snapshot, request, accurate, framework)


def one_by_one(snapshot: Snapshot, request: Request, accurate: Estimates, framework: Framework) -> Facts:
    """The facts worked out for every cluster."""
    rejections: dict[str, tuple[Rejection, ...]] = {}
    fitting: list[Cluster] = []
    for cluster in snapshot.clusters.values():
        reasons = framework.rejections(cluster, request)
        if reasons:
            rejections[cluster.metadata.name] = reasons
        else:
            fitting.append(cluster)
    scores = {cluster.metadata.name: framework.scores(cluster, request) for cluster in fitting}
    estimated = estimate(snapshot, request, fitting, accurate)
    candidates = in_order(
        _candidate(request, cluster, scores[cluster.metadata.name], estimated.get(cluster.metadata.name))
        for cluster in fitting
    )
    return Facts(Ranked(candidates), rejections, scores, estimated)


def estimate(snapshot: Snapshot, request: Request, clusters: Iterable[Cluster], accurate: Estimates) -> dict[str, int]:
    """What fits into each cluster; empty when the binding takes no room."""
    if not takes_room(request):
        return {}
    question = question_of(request)
    return {
        cluster.metadata.name: _space(snapshot, request, cluster.metadata.name, question, accurate)
        for cluster in clusters
    }


def _space(snapshot: Snapshot, request: Request, name: str, question: Question, accurate: Estimates) -> int:
    assumed = snapshot.assumed.get(name, ()) if request.settings.protects else ()
    capacity = Capacity(snapshot.clusters[name], assumed) if assumed else snapshot.capacity(name)
    count = question.answer(capacity)
    opinion = accurate.get(name, NO_OPINION)
    return count if opinion < 0 else min(count, opinion)


def on_kept_order(
    snapshot: Snapshot, request: Request, accurate: Estimates, framework: Framework, wanted: WantedFacts
) -> Facts | None:
    """The facts from what is kept between requests; None where the room of a cluster is unlimited."""
    basis = basis_of(snapshot, framework, request, wanted)
    fitting, rooms, order = basis.fit, basis.room, basis.order
    spaces: Mapping[str, int] = {}
    if rooms is not None:
        special = _special(snapshot, request, rooms, accurate)
        spaces = rooms.of | special if special else rooms.of
        if rooms.unlimited or any(count >= UNLIMITED for count in special.values()):
            return None
        if special:
            order = order.adjusted({name: special[name] for name in special if name in fitting.names}, snapshot)
    own: list[Candidate] = []
    answers: dict[str, tuple[Rejection, ...]] = {}
    skipped: dict[str, int] = {}
    scores: dict[str, dict[str, int]] = {}
    for name in request.targets:
        cluster = snapshot.clusters.get(name)
        if cluster is None:
            continue
        if name in fitting.names:
            skipped[name] = spaces.get(name, UNLIMITED)
        answers[name] = framework.rejections(cluster, request)
        if not answers[name]:
            scores[name] = framework.scores(cluster, request)
            own.append(_candidate(request, cluster, scores[name], spaces.get(name)))
    names = Fitting(fitting.names, answers)
    return Facts(
        Kept(own, order, skipped, snapshot.clusters, names, lambda first: Preferred(names, first, spaces)),
        fitting.rejections.overlaid(answers),
        Scores(names, scores, framework.neutral),
        Estimated(names, spaces) if rooms is not None else {},
    )


def _special(snapshot: Snapshot, request: Request, rooms: Room, accurate: Estimates) -> dict[str, int]:
    """The clusters whose room is not what they report."""
    assumed = snapshot.assumed if request.settings.protects else {}
    if not assumed and not accurate:
        return {}
    question = rooms.question
    concerned = [name for name in {**assumed, **accurate} if name in snapshot.clusters]
    found = {name: _space(snapshot, request, name, question, accurate) for name in concerned}
    return {name: count for name, count in found.items() if count != rooms.of[name]}


def _candidate(request: Request, cluster: Cluster, scores: Mapping[str, int], estimated: int | None) -> Candidate:
    name = cluster.metadata.name
    if estimated is None:
        space = UNLIMITED
    else:
        space = estimated if estimated < UNLIMITED else request.spec.replicas
    tier = 0
    if len(request.tiers) > 1:
        tier = next(i for i, affinity in enumerate(request.tiers) if cluster_matches(affinity, cluster))
    return Candidate(name, cluster, sum(scores.values()), space, space + request.targets.get(name, 0), tier)
