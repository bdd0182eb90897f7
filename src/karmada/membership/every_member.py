"""Members of either mode for components that only read: by the Secret of the Cluster, else by the cluster proxy.

A pull cluster has a Secret if its agent reported one (`--report-secrets KubeCredentials`), and an address if its token
allowed the agent to give one. Otherwise the control plane's proxy goes through the tunnel of the agent
(`--enable-tunnel`), and the component is a user of its own in the member: the owner of the cluster says what that user
may read. Nothing is opened before somebody asks for a member.
"""

import asyncio
import contextlib
from collections.abc import Callable

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.machinery.clock import Clock
from karmada.machinery.http.target import Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import Transport
from karmada.membership.access import NoAddress
from karmada.membership.connections import OpenTransport, PushMembers
from karmada.membership.members import Member, Members

PROXY = "/apis/cluster.karmada.io/v1alpha1/clusters/{}/proxy"


def by_proxy(hub: Target, agent: str) -> Callable[[Cluster], Transport]:
    """Transports by the cluster proxy of a control plane; `hub` is the control plane as the component itself."""

    def through(cluster: Cluster) -> Transport:
        server = hub.server.rstrip("/") + PROXY.format(cluster.metadata.name)
        return HttpTransport(hub._replace(server=server), agent=agent)

    return through


class SecretOrTunnel:
    """An `OpenTransport` to members of either mode."""

    def __init__(self, by_secret: OpenTransport, through: Callable[[Cluster], Transport]) -> None:
        """`through` makes a transport by the cluster proxy."""
        self._by_secret = by_secret
        self._through = through

    async def __call__(self, cluster: Cluster) -> Transport:
        """A transport to a member. Whether there is a tunnel shows when something is asked."""
        if cluster.spec.secret_ref is not None:
            with contextlib.suppress(NoAddress):
                return await self._by_secret(cluster)
        return self._through(cluster)


class EveryMember:
    """`Members` for reading: the push clusters over connections that exist, the others over its own, made when asked.

    Whoever owns `push` closes it.
    """

    def __init__(self, push: Members, open_other: OpenTransport, clock: Clock) -> None:
        self._push = push
        self._others = PushMembers(open_other, clock)
        self._leaving: set[asyncio.Task[None]] = set()

    def concerns(self, cluster: Cluster) -> bool:
        """All of them."""
        return True

    async def connect(self, cluster: Cluster) -> Member:
        """The connection to a member, made once and renewed when the Cluster changes."""
        return await (self._push if self._push.concerns(cluster) else self._others).connect(cluster)

    async def forget(self, name: str) -> None:
        """The cluster left."""
        await self._push.forget(name)
        await self._others.forget(name)

    def forget_left(self, clusters: Informer[Cluster]) -> None:
        """Forget every cluster that leaves from now on."""
        clusters.add_handler(self._changed)

    async def close(self) -> None:
        """Close its own connections."""
        await asyncio.gather(*self._leaving)
        await self._others.close()

    def _changed(self, changes: list[Change[Cluster]]) -> None:
        for change in changes:
            if change.new is None:
                task = asyncio.get_running_loop().create_task(self.forget(change.key.name))
                self._leaving.add(task)
                task.add_done_callback(self._leaving.discard)
