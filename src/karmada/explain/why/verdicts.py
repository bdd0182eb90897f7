"""Every cluster's verdict as rows: chosen, rejected or left out, and because of what."""

from collections.abc import Iterable, Mapping

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.decision import Attempt, NotEnoughRoom, Rejection
from karmada.api.policy.v1alpha1 import ClusterAffinity
from karmada.explain.why.affinity import misses
from karmada.explain.why.capacity import Shortage, shortage
from karmada.explain.why.facts import Binding

HEADINGS = ["CLUSTER", "VERDICT", "SCORE", "ROOM", "REPLICAS", "BECAUSE"]
MANY = 4
"""So many rejected rows that say the same become one."""


def rows(
    attempt: Attempt, binding: Binding, shares: Mapping[str, int], clusters: Iterable[Cluster], focus: str
) -> list[list[str]]:
    """The table, its headings first; a cluster that was asked for keeps a row of its own."""
    known = {cluster.metadata.name: cluster for cluster in clusters}
    made: list[list[str]] = []
    for name in sorted({*known, *attempt.rejections, *attempt.scores}):
        rejections = attempt.rejections.get(name, ())
        verdict = "chosen" if name in shares else "rejected" if rejections else "left out"
        score = str(sum(attempt.scores[name].values())) if name in attempt.scores else "-"
        room = str(attempt.estimates[name]) if name in attempt.estimates else "-"
        because = "; ".join(reason(one, attempt, binding, known.get(name)) for one in rejections)
        made.append(
            [name, verdict, score, room, str(shares.get(name, "-")), because or _fit(attempt, binding, known, name)]
        )
    return [HEADINGS, *_grouped(made, focus)]


def reason(rejection: Rejection, attempt: Attempt, binding: Binding, cluster: Cluster | None) -> str:
    """Why a filter said no; of an affinity, which part of it."""
    affinity = affinity_of(attempt, binding)
    if rejection.plugin != "ClusterAffinity" or affinity is None or cluster is None:
        return rejection.reason
    return misses(affinity, cluster)[0] or rejection.reason


def affinity_of(attempt: Attempt, binding: Binding) -> ClusterAffinity | None:
    """The affinity that an attempt was about."""
    placement = binding.spec.placement
    if placement is None:
        return None
    named = (term for term in placement.cluster_affinities if term.affinity_name == attempt.affinity)
    return next(named, placement.cluster_affinity)


def short(attempt: Attempt, binding: Binding, cluster: Cluster) -> Shortage | None:
    """What a cluster that fits lacks; who looks at its nodes may know of less room than is free in all."""
    found = shortage(binding.spec, cluster)
    room = attempt.estimates.get(cluster.metadata.name)
    if found is None or room is None or room >= found.fits:
        return found
    return found._replace(fits=room, scattered=True)


def _fit(attempt: Attempt, binding: Binding, known: Mapping[str, Cluster], name: str) -> str:
    """What there is to say about a cluster that fits."""
    lacks = isinstance(attempt.outcome, NotEnoughRoom) or attempt.estimates.get(name) == 0
    if lacks and name in known and (found := short(attempt, binding, known[name])) is not None:
        return str(found)
    for division in attempt.divisions:
        if name in division.weights:
            return f"{division.strategy}, weight {division.weights[name]}"
    return ""


def _grouped(made: list[list[str]], focus: str) -> list[list[str]]:
    alike: dict[tuple[str, ...], list[list[str]]] = {}
    for row in made:
        alone = row[1] != "rejected" or row[0] == focus
        alike.setdefault((row[0],) if alone else tuple(row[1:]), []).append(row)
    shown: list[list[str]] = []
    for group in alike.values():
        if len(group) < MANY:
            shown += group
        else:
            shown.append([f"{group[0][0]} and {len(group) - 1} more", *group[0][1:]])
    return shown
