"""EndpointSlices read in members: one small watch per Service that a route needs, in each cluster that runs it."""

from collections.abc import Callable

from karmada.api import labels
from karmada.gateway.endpoints import is_local
from karmada.machinery.clock import Clock
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject, Transport
from karmada.membership.connections import MemberConnection, connection_of

SLICES = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")
OpenMember = Callable[[str], Transport]
"""A transport to a cluster by its name."""
ServiceKey = tuple[str, str]
"""Namespace and name of a Service."""


class MemberSlices:
    """Follows Services in members; `changed` hears of every change and every load."""

    def __init__(self, open_member: OpenMember, changed: Callable[[ServiceKey], None], clock: Clock) -> None:
        self._open = open_member
        self._changed = changed
        self._clock = clock
        self._connections: dict[str, MemberConnection] = {}
        self._followed: dict[str, dict[ServiceKey, Informer[JSONObject]]] = {}

    async def follow(self, key: ServiceKey, clusters: set[str]) -> None:
        """Follow a Service in these clusters and in no other."""
        for cluster in clusters:
            if key not in self._followed.get(cluster, {}):
                self._begin(key, cluster)
        for cluster in [known for known, services in self._followed.items() if key in services]:
            if cluster not in clusters:
                await self._end(key, cluster)

    def slices(self, key: ServiceKey) -> list[tuple[str, JSONObject]]:
        """What the members say of their own pods, each slice with its cluster; nothing of those not yet heard."""
        return [
            (cluster, one)
            for cluster, services in self._followed.items()
            if (informer := services.get(key)) is not None and informer.has_synced
            for one in informer.values()
            if is_local(one)
        ]

    def unheard(self, key: ServiceKey) -> dict[str, str]:
        """Clusters whose slices are not known, with the reason."""
        return {
            cluster: str(services[key].reflector.failure or "it has not answered yet")
            for cluster, services in self._followed.items()
            if key in services and not services[key].has_synced
        }

    async def forget(self, cluster: str) -> None:
        """The cluster left."""
        self._followed.pop(cluster, None)
        connection = self._connections.pop(cluster, None)
        if connection is not None:
            await connection.close()

    async def close(self) -> None:
        """Stop following everything."""
        for cluster in list(self._connections):
            await self.forget(cluster)

    def _begin(self, key: ServiceKey, cluster: str) -> None:
        connection = self._connections.get(cluster)
        if connection is None:
            connection = connection_of(cluster, self._open(cluster), self._clock)
            self._connections[cluster] = connection
        namespace, name = key
        scope = Scope(namespace, f"{labels.KUBERNETES_SERVICE_NAME}={name}")
        informer = connection.informers.resource(SLICES, scope)
        self._followed.setdefault(cluster, {})[key] = informer
        informer.add_handler(lambda changes: self._changed(key))
        informer.add_load_handler(lambda: self._changed(key))

    async def _end(self, key: ServiceKey, cluster: str) -> None:
        informer = self._followed[cluster].pop(key)
        await self._connections[cluster].informers.release(informer)
        if not self._followed[cluster]:
            await self.forget(cluster)
