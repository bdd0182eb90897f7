"""The tunnels that are open. The newest of a cluster is used: its agent opened it because the last one broke."""

import secrets

from karmada.machinery.channel import Channel
from karmada.membership.tunnel.multiplexer import Multiplexer, Stream, TunnelBroken


class Tunnels:
    """Open tunnels of a control plane."""

    def __init__(self) -> None:
        self.replica = secrets.token_hex(8)
        """The name of this process among the replicas of the server."""
        self._open: dict[str, Multiplexer] = {}

    async def serve(self, cluster: str, channel: Channel) -> None:
        """Keep a cluster's tunnel until it ends."""
        tunnel = Multiplexer(channel)
        previous = self._open.get(cluster)
        self._open[cluster] = tunnel
        if previous is not None:
            await previous.close()
        try:
            await tunnel.run()
        finally:
            if self._open.get(cluster) is tunnel:
                del self._open[cluster]

    async def drop(self, cluster: str) -> None:
        """Close a cluster's tunnel, which is out of use at once."""
        tunnel = self._open.pop(cluster, None)
        if tunnel is not None:
            await tunnel.close()

    def has(self, cluster: str) -> bool:
        """Whether a cluster can be reached through a tunnel."""
        return cluster in self._open

    async def open(self, cluster: str) -> Stream:
        """A connection to a cluster's agent."""
        tunnel = self._open.get(cluster)
        if tunnel is None:
            raise TunnelBroken(f"cluster {cluster} has no tunnel")
        return await tunnel.open()
