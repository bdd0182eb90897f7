"""The facts a decision is made from, and what was worked out from them.

A snapshot is read by one decision at a time and must not change meanwhile; the service keeps one and updates it between
decisions. Clusters under deletion take no part, but they are counted when nothing fits.

What decisions work out (who fits, how much room there is, in which order clusters are preferred) is kept and brought up
to date cluster by cluster: a change costs as much as the change, not as much as the fleet. Kept things share one
discipline: they remember how far into `log` they have read, and `changes_since` gives the clusters to work out again.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.scheduler.core.assumptions import AssumedWorkload
from karmada.scheduler.core.estimation import Capacity

T = TypeVar("T")

LOG = 4096
"""After so many changes at once it is cheaper to work everything out again."""

MOST_LOST = 1024
"""Names that are remembered of clusters which do not exist."""


class Memo(Generic[T]):
    """A kind of result that snapshots keep: so many of it, the least recently used go first."""

    def __init__(self, limit: int = 1024) -> None:
        self.limit = limit


class PeerGroup(NamedTuple):
    """Where one other binding of a workload group goes."""

    namespace: str
    name: str
    clusters: frozenset[str]


class Peers(Protocol):
    """Other bindings by the groups they belong to."""

    def attracted(self, namespace: str, group: str) -> Iterable[PeerGroup]:
        """Bindings of an affinity group."""
        ...

    def repelled(self, namespace: str, group: str) -> Iterable[PeerGroup]:
        """Bindings of an anti-affinity group."""
        ...


class NoPeers:
    """Nobody else is there."""

    def attracted(self, namespace: str, group: str) -> Iterable[PeerGroup]:
        """Nobody."""
        return ()

    def repelled(self, namespace: str, group: str) -> Iterable[PeerGroup]:
        """Nobody."""
        return ()


class Snapshot:
    """All clusters and what is assumed about them."""

    def __init__(
        self,
        clusters: Iterable[Cluster] = (),
        peers: Peers | None = None,
        assumed: Mapping[str, tuple[AssumedWorkload, ...]] | None = None,
    ) -> None:
        self.clusters: dict[str, Cluster] = {}
        """The clusters that can be used, in no particular order."""
        self.peers: Peers = peers or NoPeers()
        self.assumed: Mapping[str, tuple[AssumedWorkload, ...]] = assumed or {}
        self._leaving: set[str] = set()
        self._lost: set[str] = set()
        self._capacities: dict[str, Capacity] = {}
        self._log: list[str] = []
        self._base = 0
        """How many changes were dropped from the log."""
        self._changes: tuple[int, int, frozenset[str]] = (0, 0, frozenset())
        """What changed between two versions, as asked last: all that is kept asks the same."""
        self._kept: dict[Memo[Any], OrderedDict[Hashable, Any]] = {}
        for cluster in clusters:
            self.put(cluster)

    @property
    def total(self) -> int:
        """All clusters, those under deletion too."""
        return len(self.clusters) + len(self._leaving)

    def is_leaving(self, name: str) -> bool:
        """Whether a cluster is under deletion, or was lost."""
        return name in self._leaving or name in self._lost

    def is_known(self, name: str) -> bool:
        """Whether a cluster is there, or it is certain that it is not."""
        return name in self.clusters or self.is_leaving(name)

    @property
    def version(self) -> int:
        """How many changes there have been."""
        return self._base + len(self._log)

    def put(self, cluster: Cluster) -> None:
        """A cluster is there, or has changed."""
        name = cluster.metadata.name
        self._lost.discard(name)
        if cluster.metadata.deletion_timestamp is not None:
            self.remove(name)
            self._leaving.add(name)
            return
        self._leaving.discard(name)
        self.clusters[name] = cluster
        self._changed(name)

    def remove(self, name: str) -> None:
        """A cluster is gone."""
        self._leaving.discard(name)
        if self.clusters.pop(name, None) is not None:
            self._changed(name)

    def lose(self, name: str) -> None:
        """A cluster is certain not to exist: whoever goes there has to leave it."""
        self.remove(name)
        if len(self._lost) >= MOST_LOST:
            self._lost.clear()  # bindings may name what never was; whoever matters is looked for again
        self._lost.add(name)

    def capacity(self, name: str) -> Capacity:
        """What a cluster has left, by its own figures."""
        found = self._capacities.get(name)
        if found is None:
            found = self._capacities[name] = Capacity(self.clusters[name])
        return found

    def changes_since(self, version: int) -> frozenset[str] | None:
        """The clusters that changed since then; None when that was too many changes ago."""
        if version < self._base:
            return None
        if self._changes[:2] != (version, self.version):
            self._changes = (version, self.version, frozenset(self._log[version - self._base :]))
        return self._changes[2]

    def kept(self, memo: Memo[T], key: Hashable, make: Callable[[], T]) -> T:
        """A result of a former decision, made and kept where there is none."""
        store = self._kept.get(memo)
        if store is None:
            store = self._kept[memo] = OrderedDict()
        found: T | None = store.get(key)
        if found is not None:
            store.move_to_end(key)
            return found
        found = store[key] = make()
        if len(store) > memo.limit:
            store.popitem(last=False)
        return found

    def _changed(self, name: str) -> None:
        self._capacities.pop(name, None)
        self._log.append(name)
        if len(self._log) > LOG:
            self._base += len(self._log)
            self._log.clear()
