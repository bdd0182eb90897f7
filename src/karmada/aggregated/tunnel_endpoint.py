"""Where agents open their tunnels: `GET clusters/<name>/tunnel` with an upgrade.

Authorisation is the server's: the role of an agent names its own cluster only. Whoever holds a cluster's tunnel answers
in the cluster's place, and sees what it is sent; that is not a right to read, though it is a GET that opens it: who is
not the cluster's agent must be allowed to `create` there as well. A tunnel ends when its opener may no longer do so,
and with the Cluster: it is never that of another one with the same name.

Behind a Service there may be several replicas, and each answers through tunnels of its own only. So an agent says which
replicas hold one already; of these none takes another, and the agent comes again until it has found all of them.
"""

from karmada.api import names
from karmada.apiserver.auth.model import Attributes
from karmada.apiserver.failures import conflict, not_found
from karmada.apiserver.requests.model import AnyAnswer, Call, Context, Upgraded
from karmada.machinery.httpserver.failure import bad_request
from karmada.machinery.httpserver.model import ByteStream
from karmada.membership.tunnel.frames import KNOWN, PROTOCOL, REPLICA
from karmada.membership.tunnel.tunnels import Tunnels


class TunnelEndpoint:
    """The handler of `clusters/<name>/tunnel`."""

    def __init__(self, tunnels: Tunnels) -> None:
        self._tunnels = tunnels

    async def __call__(self, context: Context, call: Call) -> AnyAnswer:
        """Switch to the tunnel's protocol."""
        type_ = call.served.type
        if call.user.name != names.agent_user(call.name):
            asked = Attributes("create", type_.group, type_.version, type_.plural, call.subresource, "", call.name)
            call.require(context.authorizer, asked)
        cluster = context.store.get(call.served.key, "", call.name)
        if cluster is None:
            raise not_found(type_.group, type_.plural, call.name)
        if call.http is None or call.http.headers.get("upgrade") != PROTOCOL:
            raise bad_request(f"a tunnel needs the header Upgrade: {PROTOCOL}")
        known = (one.strip() for one in call.http.headers.get(KNOWN, "").split(","))
        if self._tunnels.replica in known and self._tunnels.has(call.name):
            why = "this replica holds its tunnel already"
            raise conflict(type_.group, type_.plural, call.name, why)

        async def serve(stream: ByteStream) -> None:
            found = context.store.get(call.served.key, "", call.name)
            if found is None or found.index.uid != cluster.index.uid:
                return  # It went meanwhile: nobody would drop this tunnel any more, nor is it one of the next Cluster.
            await self._tunnels.serve(call.name, stream)

        return Upgraded({"Connection": "Upgrade", "Upgrade": PROTOCOL, REPLICA: self._tunnels.replica}, serve)
