"""Candidates as the choice of clusters reads them, best first, and by what they have in common.

`Listed` holds candidates that were worked out one by one; `ranking` has those that stand on a kept order.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.policies.cluster_affinity import zones_of
from karmada.scheduler.core.candidate import Candidate, preference

FEW = 16
"""Names that are looked through sooner than a set of them is made."""


def group_of(cluster: Cluster, by: str, label: str = "") -> str:
    """The value a cluster is grouped by."""
    match by:
        case "region":
            return cluster.spec.region
        case "provider":
            return cluster.spec.provider
        case "zone":
            return min(zones_of(cluster), default="")
    return cluster.metadata.labels.get(label, "")


class Reach(NamedTuple):
    """How far a walk over candidates went, and the room and the scores met on the way."""

    room: int
    score: int
    walked: int


class Candidates(Protocol):
    """Candidates, best first."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Candidate]: ...
    def first(self, count: int) -> list[Candidate]:
        """So many of the best, or all."""
        ...

    def names(self) -> list[str]:
        """The names, best first."""
        ...

    def frozen_names(self) -> Sequence[str]:
        """The same in a form that can be kept."""
        ...

    def holds(self, name: str) -> bool:
        """Whether a cluster is among them."""
        ...

    def roomiest(self, count: int, ascending: bool) -> list[Candidate]:
        """Enough of them to share so many replicas by room, in order: nobody left out could get any.

        Among those with equal room names decide, in the given direction.
        """
        ...

    def able(self, replicas: int) -> tuple[int, int]:
        """How many have room for so many replicas, and the sum of their scores."""
        ...

    def reach(self, share: int, fewest: int) -> Reach:
        """Walk until so many replicas have room in at least so many clusters, or to the end."""
        ...


class Listed:
    """Candidates in a list, best first."""

    def __init__(self, candidates: list[Candidate]) -> None:
        self._candidates = candidates
        self._frozen_names: tuple[str, ...] | None = None
        self._names: frozenset[str] | None = None

    def __len__(self) -> int:
        return len(self._candidates)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self._candidates)

    def first(self, count: int) -> list[Candidate]:
        """See `Candidates`."""
        return self._candidates[:count]

    def names(self) -> list[str]:
        """See `Candidates`."""
        return [candidate.name for candidate in self._candidates]

    def frozen_names(self) -> Sequence[str]:
        """See `Candidates`."""
        if self._frozen_names is None:
            self._frozen_names = tuple(self.names())
        return self._frozen_names

    def holds(self, name: str) -> bool:
        """See `Candidates`."""
        if len(self._candidates) <= FEW:
            return name in self.frozen_names()
        if self._names is None:
            self._names = frozenset(self.frozen_names())
        return name in self._names

    def roomiest(self, count: int, ascending: bool) -> list[Candidate]:
        """See `Candidates`."""
        return self._candidates

    def able(self, replicas: int) -> tuple[int, int]:
        """See `Candidates`."""
        scores = [candidate.score for candidate in self._candidates if candidate.available >= replicas]
        return len(scores), sum(scores)

    def reach(self, share: int, fewest: int) -> Reach:
        """See `Candidates`."""
        return walk(self._candidates, share, fewest)


def walk(candidates: Iterable[Candidate], share: int, fewest: int) -> Reach:
    """Walk over candidates until so many replicas have room in at least so many clusters, or to the end."""
    room = score = walked = 0
    for candidate in candidates:
        room += candidate.available
        score += candidate.score
        walked += 1
        if walked >= fewest and room >= share:
            break
    return Reach(room, score, walked)


def best_of(groups: Sequence[Candidates], count: int) -> list[Candidate]:
    """The best of every group, then the best of all others together: so many, or one of each group if that is more."""
    chosen, others = [], []
    most = max(1, count - len(groups) + 1)
    for members in groups:
        first, *rest = members.first(most)
        chosen.append(first)
        others += rest
    if count > len(chosen):
        chosen += sorted(others, key=preference)[: count - len(chosen)]
    return chosen
