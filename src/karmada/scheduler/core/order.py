"""Clusters in the order in which they are preferred where all score the same, kept between requests.

The order is brought up to date entry by entry. Weights of groups are remembered with it until their group changes.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.scheduler.core.amounts import UNLIMITED
from karmada.scheduler.core.candidates import group_of
from karmada.scheduler.core.grouping import ClusterGroup, Scale
from karmada.scheduler.core.snapshot import Snapshot

Entry = tuple[int, str]
"""Negative room and name: the order of candidates that score the same."""
REMEMBERED = 32
"""Scales by which groups were weighed that an order remembers."""


class Parts:
    """The order within groups of clusters."""

    def __init__(self, by: str, label: str) -> None:
        self._by = by
        self._label = label
        self.entries: dict[str, list[Entry]] = {}
        self.group_of: dict[str, str] = {}
        """The group of each cluster."""
        self._weights: dict[Scale, dict[str, ClusterGroup]] = {}

    def weights(self, scale: Scale) -> dict[str, ClusterGroup]:
        """The groups that were weighed already; the caller adds those it weighs."""
        found = self._weights.get(scale)
        if found is None:
            if len(self._weights) >= REMEMBERED:
                self._weights.clear()
            found = self._weights[scale] = {}
        return found

    def group(self, cluster: Cluster) -> str:
        """The group a cluster belongs to."""
        return group_of(cluster, self._by, self._label)

    def append(self, entry: Entry, cluster: Cluster) -> None:
        """Add the entry that comes last."""
        group = self.group_of[entry[1]] = self.group(cluster)
        self.entries.setdefault(group, []).append(entry)

    def insert(self, entry: Entry, cluster: Cluster) -> None:
        """Add an entry where it belongs."""
        group = self.group_of[entry[1]] = self.group(cluster)
        insort(self.entries.setdefault(group, []), entry)
        self._forget(group)

    def remove(self, entry: Entry) -> None:
        """Take an entry away."""
        group = self.group_of.pop(entry[1])
        members = self.entries[group]
        del members[bisect_left(members, entry)]
        if not members:
            del self.entries[group]
        self._forget(group)

    def copy(self) -> "Parts":
        """The same, to be changed apart."""
        copy = Parts(self._by, self._label)
        copy.entries = {name: list(members) for name, members in self.entries.items()}
        copy.group_of = dict(self.group_of)
        copy._weights = {scale: dict(known) for scale, known in self._weights.items()}
        return copy

    def _forget(self, group: str) -> None:
        for known in self._weights.values():
            known.pop(group, None)


class Order:
    """Clusters by room and name, and the same within groups."""

    def __init__(self) -> None:
        self._version = -1
        self._room: dict[str, int] = {}
        self.entries: list[Entry] = []
        self._parts: dict[tuple[str, str], Parts] = {}

    def refresh(self, snapshot: Snapshot, names: frozenset[str], room: Mapping[str, int] | None) -> None:
        """Take over who fits and what room there is; without room all are alike."""
        if self._version == snapshot.version:
            return
        changed = snapshot.changes_since(self._version) if self._version >= 0 else None
        if changed is None or len(changed) * 16 > len(names):
            self._room = {name: UNLIMITED if room is None else room[name] for name in names}
            self.entries = sorted([(-count, name) for name, count in self._room.items()])
            self._parts = {}
        else:
            for name in changed:
                self._remove(name)
                if name in names:
                    self._insert(name, UNLIMITED if room is None else room[name], snapshot.clusters)
        self._version = snapshot.version

    def adjusted(self, room: Mapping[str, int], snapshot: Snapshot) -> "Order":
        """A copy in which some clusters have other room."""
        copy = Order()
        copy._room = dict(self._room)
        copy.entries = list(self.entries)
        copy._parts = {which: parts.copy() for which, parts in self._parts.items()}
        for name, count in room.items():
            copy._remove(name)
            copy._insert(name, count, snapshot.clusters)
        return copy

    def parts(self, by: str, label: str, clusters: Mapping[str, Cluster]) -> Parts:
        """The order within groups."""
        found = self._parts.get((by, label))
        if found is None:
            found = self._parts[by, label] = Parts(by, label)
            for entry in self.entries:
                found.append(entry, clusters[entry[1]])
        return found

    def _remove(self, name: str) -> None:
        room = self._room.pop(name, None)
        if room is None:
            return
        entry = (-room, name)
        del self.entries[bisect_left(self.entries, entry)]
        for parts in self._parts.values():
            parts.remove(entry)

    def _insert(self, name: str, room: int, clusters: Mapping[str, Cluster]) -> None:
        self._room[name] = room
        entry = (-room, name)
        insort(self.entries, entry)
        for parts in self._parts.values():
            parts.insert(entry, clusters[name])
