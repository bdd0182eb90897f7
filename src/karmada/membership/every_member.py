"""Members of either mode for components that only read: push clusters by their Secrets, pull clusters by the proxy.

The control plane's cluster proxy goes through the tunnel of a pull cluster's agent, and the component is a user of its
own in the member: the owner of the cluster says what that user may read.
"""

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.machinery.clock import Clock
from karmada.machinery.http.target import Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import Transport
from karmada.membership.connections import OpenTransport, PushMembers
from karmada.membership.members import Member

PROXY = "/apis/cluster.karmada.io/v1alpha1/clusters/{}/proxy"


class EveryMember:
    """Connections to members of both modes."""

    def __init__(self, hub: Target, open_push: OpenTransport, agent: str, clock: Clock) -> None:
        """`hub` is the control plane as the component itself."""
        self._hub = hub
        self._open_push = open_push
        self._agent = agent
        self._connections = PushMembers(self._open, clock)

    def concerns(self, cluster: Cluster) -> bool:
        """All of them."""
        return True

    async def connect(self, cluster: Cluster) -> Member:
        """The connection to a member, made once and renewed when the Cluster changes."""
        return await self._connections.connect(cluster)

    async def forget(self, name: str) -> None:
        """The cluster left."""
        await self._connections.forget(name)

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()

    async def _open(self, cluster: Cluster) -> Transport:
        if cluster.spec.sync_mode == "Push":
            return await self._open_push(cluster)
        server = self._hub.server.rstrip("/") + PROXY.format(cluster.metadata.name)
        return HttpTransport(self._hub._replace(server=server), agent=self._agent)
