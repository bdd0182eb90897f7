"""Which clusters fit a request, kept between requests that ask the same.

What a filter says about a cluster depends on the cluster and on the filter's aspect of the request; answers are kept
per aspect and worked out again only for clusters that changed. The dictionaries are never changed in place: decisions
hold on to them as they were.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import overload

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.decision import Rejection
from karmada.scheduler.core.framework import Framework
from karmada.scheduler.core.request import Request
from karmada.scheduler.core.snapshot import Memo, Snapshot
from karmada.scheduler.plugins.base import Filter

Signature = tuple[Hashable, ...]


class _Answers:
    """What one filter says about all clusters for one aspect."""

    def __init__(self, plugin: Filter, snapshot: Snapshot, request: Request) -> None:
        self._plugin = plugin
        self._version = snapshot.version
        self.rejected = self._ask(snapshot.clusters, request)

    def refresh(self, snapshot: Snapshot, request: Request) -> None:
        changed = snapshot.changes_since(self._version)
        if changed is None:
            self.rejected = self._ask(snapshot.clusters, request)
        elif changed:
            again = {name: snapshot.clusters[name] for name in changed if name in snapshot.clusters}
            answers = self._ask(again, request)
            if any(self.rejected.get(name) != answers.get(name) for name in changed):
                kept = {name: why for name, why in self.rejected.items() if name not in changed}
                self.rejected = kept | answers
        self._version = snapshot.version

    def _ask(self, clusters: Mapping[str, Cluster], request: Request) -> dict[str, str]:
        reject = self._plugin.reject
        return {name: why for name, cluster in clusters.items() if (why := reject(cluster, request)) is not None}


class Fit:
    """The clusters that fit a request apart from where its binding already is."""

    def __init__(self, answers: list[tuple[str, _Answers]]) -> None:
        self._answers = answers
        self._version = -1
        self._seen: list[dict[str, str]] = []
        self.names: frozenset[str] = frozenset()
        self.rejections = Rejections([], {})
        """Who was rejected."""

    def refresh(self, snapshot: Snapshot, request: Request) -> None:
        """Bring it up to date with the snapshot."""
        if self._version == snapshot.version:
            return
        for _, answers in self._answers:
            answers.refresh(snapshot, request)
        changed = snapshot.changes_since(self._version) if self._version >= 0 else None
        seen = [answers.rejected for _, answers in self._answers]
        if changed is None:
            rejected: set[str] = set()
            for answers_of in seen:
                rejected.update(answers_of)
            self.names = frozenset(snapshot.clusters.keys() - rejected)
        else:
            fits = {name for name in changed if name in snapshot.clusters and not any(name in why for why in seen)}
            if fits != changed & self.names:
                self.names = (self.names - changed) | fits
        if any(before is not now for before, now in zip_longest(self._seen, seen)):
            self._seen = seen
            self.rejections = Rejections([(plugin, answers.rejected) for plugin, answers in self._answers], {})
        self._version = snapshot.version


class Rejections(Mapping[str, tuple[Rejection, ...]]):
    """Rejected clusters with every filter that said no; worked out when read."""

    def __init__(self, answers: list[tuple[str, Mapping[str, str]]], own: Mapping[str, tuple[Rejection, ...]]) -> None:
        self._answers = answers
        self._own = own
        """What is different for clusters the binding already goes to."""
        self._names: set[str] | None = None

    def overlaid(self, own: Mapping[str, tuple[Rejection, ...]]) -> "Rejections":
        """With other answers for some clusters."""
        return Rejections(self._answers, own) if own else self

    def __getitem__(self, name: str) -> tuple[Rejection, ...]:
        if name in self._own:
            found = self._own[name]
        else:
            found = tuple(Rejection(plugin=plugin, reason=why[name]) for plugin, why in self._answers if name in why)
        if not found:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> set[str]:
        if self._names is None:
            names: set[str] = set()
            for _, rejected in self._answers:
                names.update(rejected)
            names -= self._own.keys()
            names.update(name for name, found in self._own.items() if found)
            self._names = names
        return self._names


class Fitting:
    """Who fits, with the clusters a binding already goes to judged by themselves."""

    def __init__(self, names: frozenset[str], own: Mapping[str, tuple[Rejection, ...]]) -> None:
        self._names = names
        self._own = own

    def __contains__(self, name: object) -> bool:
        return not self._own[name] if isinstance(name, str) and name in self._own else name in self._names

    def __iter__(self) -> Iterator[str]:
        yield from (name for name in self._names if name not in self._own)
        yield from (name for name, rejections in self._own.items() if not rejections)

    def names(self) -> frozenset[str]:
        """All of them."""
        if not self._own:
            return self._names
        return (self._names - self._own.keys()).union(name for name, why in self._own.items() if not why)


class Scores(Mapping[str, Mapping[str, int]]):
    """Scores by cluster and plugin; worked out when read."""

    def __init__(self, names: Fitting, own: Mapping[str, Mapping[str, int]], others: Mapping[str, int]) -> None:
        self._names = names
        self._own = own
        self._others = others

    def __getitem__(self, name: str) -> Mapping[str, int]:
        if name not in self._names:
            raise KeyError(name)
        return self._own.get(name, self._others)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return sum(1 for _ in self._names)

    def plain(self) -> dict[str, object]:
        """See `View`; most clusters score the same, which is encoded once."""
        found: dict[str, object] = dict.fromkeys(self._names.names(), msgspec.Raw(msgspec.json.encode(self._others)))
        return found | {name: scores for name, scores in self._own.items() if name in found}


class Estimated(Mapping[str, int]):
    """The room of the clusters that fit."""

    def __init__(self, names: Fitting, room: Mapping[str, int]) -> None:
        self._names = names
        self._room = room

    def __getitem__(self, name: str) -> int:
        if name not in self._names:
            raise KeyError(name)
        return self._room[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return sum(1 for _ in self._names)

    def plain(self) -> dict[str, int]:
        """See `View`."""
        room = self._room
        return {name: room[name] for name in self._names.names()}


class Preferred(Sequence[str]):
    """All clusters that fit, best first; put in order when read. The facts it stands on never change."""

    def __init__(self, names: Fitting, own: Sequence[str], room: Mapping[str, int]) -> None:
        self._names = names
        self._own = own
        self._room = room
        self._ordered: list[str] | None = None

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all() == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self._all()))

    def _all(self) -> list[str]:
        if self._ordered is None:
            others = (name for name in self._names if name not in self._own)
            room = self._room
            self._ordered = [*self._own, *sorted(others, key=lambda name: (-room.get(name, 0), name))]
        return self._ordered


_ANSWERS = Memo[_Answers]()
_FITS = Memo[Fit]()


def fit(snapshot: Snapshot, framework: Framework, request: Request, signature: Signature) -> Fit:
    """Who fits, to be brought up to date; the signature is the framework's of the request."""

    def answers(plugin: Filter, aspect: Hashable) -> _Answers:
        return snapshot.kept(_ANSWERS, (plugin.name, aspect), lambda: _Answers(plugin, snapshot, request))

    def make() -> Fit:
        aspects = zip(framework.filters, signature, strict=True)
        return Fit([(plugin.name, answers(plugin, aspect)) for plugin, aspect in aspects])

    return snapshot.kept(_FITS, signature, make)
