"""The facts a decision is made from.

A snapshot is read by one decision at a time and must not change meanwhile; the service keeps one and updates it between
decisions. Clusters under deletion take no part, but they are counted when nothing fits.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha2 import Component


class AssumedWorkload(NamedTuple):
    """Something placed recently that the cluster's own figures may not show yet."""

    namespace: str
    components: tuple[Component, ...]


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
        return ()

    def repelled(self, namespace: str, group: str) -> Iterable[PeerGroup]:
        return ()


class Snapshot:
    """All clusters and what is assumed about them."""

    def __init__(
        self,
        clusters: Iterable[Cluster],
        peers: Peers | None = None,
        assumed: Mapping[str, tuple[AssumedWorkload, ...]] | None = None,
    ) -> None:
        known = list(clusters)
        self.total = len(known)
        self.clusters = {
            cluster.metadata.name: cluster
            for cluster in sorted(known, key=lambda cluster: cluster.metadata.name)
            if cluster.metadata.deletion_timestamp is None
        }
        self.peers: Peers = peers or NoPeers()
        self.assumed: Mapping[str, tuple[AssumedWorkload, ...]] = assumed or {}
