"""Connections to members: one per cluster, shared by all controllers, renewed when what it was made from changes.

A connection is used only while it leads to the cluster that joined: an address that now belongs to another cluster is
refused. A member that does not answer is asked who it is as soon as it does. One that misbehaves is cut off
(`membership.circuit_breaker`), and all that is kept of it is bounded.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from karmada.api import labels
from karmada.api.cluster.v1alpha1 import Cluster, ResourceModel
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.errors import ApiError, BadAnswer
from karmada.machinery.informers.cache import Room
from karmada.machinery.informers.factory import InformerFactory, Projection
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import EVERYTHING, Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, JSONObject, Transport
from karmada.membership.circuit_breaker import CircuitBreaker, GuardedTransport
from karmada.membership.credentials import cluster_id
from karmada.membership.members import Member, MemberUnavailable
from karmada.membership.resource_counts import COUNTED, ResourceCounter, Trimming
from karmada.membership.summary import Summary

OpenTransport = Callable[[Cluster], Awaitable[Transport]]
"""Makes a transport for a cluster; raises `MemberUnavailable` with the reason when it cannot."""
IDENTITY_SECONDS = 5.0
MANAGED = Scope(labels=f"{labels.MANAGED}=true")


@dataclass(slots=True)
class MemberConnection:
    """A connected member."""

    name: str
    client: Client
    informers: InformerFactory
    supervisor: Supervisor
    breaker: CircuitBreaker
    verified: bool = False
    """Whether the member has said that it is the cluster that joined."""
    trimming: Trimming = COUNTED
    """What is kept of its nodes and pods: more than counting reads where somebody else follows them too."""
    _counter: ResourceCounter | None = None

    async def count(self, models: Sequence[ResourceModel]) -> Summary:
        """Its nodes, what they offer and what of it is taken."""
        if self._counter is None:
            self._counter = ResourceCounter(self.informers, self.trimming)
        return await self._counter.count(models)

    def trouble(self) -> str:
        """Why its nodes and pods cannot be read."""
        return self._counter.trouble() if self._counter is not None else ""

    def blame(self, error: BadAnswer) -> None:
        """The member sent what no server may send: cut it off."""
        self.breaker.offence(error)

    def on_offence(self, act: Callable[[], None]) -> None:
        """Have something done whenever the member is cut off, in place of what was done before."""
        self.breaker.on_offence = act

    def complaint(self) -> str:
        """What it did wrong that it is cut off or suspected for; empty when nothing."""
        for informer in self.informers:
            if isinstance(informer.reflector.failure, BadAnswer):
                self.breaker.offence(informer.reflector.failure)
        return self.breaker.complaint

    def managed(self, type_: GroupVersionResource) -> Informer[JSONObject]:
        """The informer of the objects Karmada manages there."""
        return self.informer(type_, MANAGED)

    def informer(
        self, type_: GroupVersionResource, scope: Scope = EVERYTHING, project: Projection | None = None
    ) -> Informer[JSONObject]:
        """The informer of a collection there, or of the part in `scope`."""
        return self.informers.resource(type_, scope, project)

    async def close(self) -> None:
        """Stop following the member."""
        await self.supervisor.stop()
        await self.client.close()


class PushMembers:
    """Members the control plane reaches by itself."""

    def __init__(self, open_transport: OpenTransport, clock: Clock, trimming: Trimming = COUNTED) -> None:
        self._open = open_transport
        self._trimming = trimming
        self._clock = clock
        self._connections: dict[str, tuple[object, MemberConnection]] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def concerns(self, cluster: Cluster) -> bool:
        """Push clusters are the control plane's business, pull clusters their agent's."""
        return cluster.spec.sync_mode == "Push"

    async def connect(self, cluster: Cluster) -> Member:
        """The connection to a member; a cluster whose address or credentials changed gets a new one."""
        connection = await self._connected(cluster)
        if not connection.verified:
            connection.verified = await _is_itself(connection.client, cluster)
        return connection

    async def _connected(self, cluster: Cluster) -> MemberConnection:
        name = cluster.metadata.name
        made_from = _fingerprint(cluster)
        known = self._connections.get(name)
        if known is not None and known[0] == made_from:
            return known[1]
        async with self._locks.setdefault(name, asyncio.Lock()):
            known = self._connections.get(name)
            if known is not None and known[0] == made_from:
                return known[1]
            if known is not None:
                del self._connections[name]
                await known[1].close()
            connection = self._connection(name, await self._open(cluster))
            self._connections[name] = (made_from, connection)
            return connection

    async def forget(self, name: str) -> None:
        """The cluster left."""
        known = self._connections.pop(name, None)
        self._locks.pop(name, None)
        if known is not None:
            await known[1].close()

    async def close(self) -> None:
        """Close all connections."""
        for name in list(self._connections):
            await self.forget(name)

    def _connection(self, name: str, transport: Transport) -> MemberConnection:
        connection = connection_of(name, transport, self._clock)
        connection.trimming = self._trimming
        return connection


def connection_of(name: str, transport: Transport, clock: Clock) -> MemberConnection:
    """A connection on a transport."""
    breaker = CircuitBreaker(clock)
    client = Client(GuardedTransport(transport, breaker), field_manager="karmada")
    supervisor = Supervisor(clock)
    informers = InformerFactory(client, supervisor, clock=clock, room=Room())
    return MemberConnection(name, client, informers, supervisor, breaker)


async def _is_itself(client: Client, cluster: Cluster) -> bool:
    """Whether a member is the cluster that joined; False when it does not say."""
    known = cluster.spec.id
    if not known:
        return True
    try:
        async with asyncio.timeout(IDENTITY_SECONDS):
            identity = await cluster_id(client)
    except (ApiError, TimeoutError):
        return False
    if identity != known:
        raise MemberUnavailable(
            f"the cluster at {cluster.spec.api_endpoint} is another one (ID {identity}) than the one that joined as "
            f"{cluster.metadata.name} (ID {known})"
        )
    return True


def _fingerprint(cluster: Cluster) -> object:
    spec = cluster.spec
    return (
        cluster.metadata.uid,
        spec.api_endpoint,
        spec.secret_ref,
        spec.insecure_skip_tls_verification,
        spec.proxy_url,
        tuple(sorted(spec.proxy_header.items())),
    )
