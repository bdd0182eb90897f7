"""The agent's end of the tunnels: it opens them, and answers the requests that come through them from the member.

Every replica of the control plane's server needs one. A Service in front of them leads to any: the agent says which it
has, and looks for others, soon after a tunnel opened or ended and less and less often while it finds none.

Each stream carries one request in the name of a user. The agent adds its own credentials and lets the member judge what
that user may do; a request that names no user is refused, so nobody acts there with the agent's own rights.
"""

import asyncio
import logging
from typing import NamedTuple
from urllib.parse import urlsplit

from karmada.agent.hub import HubTransport
from karmada.machinery.backoff import Backoff, BackoffPolicy
from karmada.machinery.channel import Channel, splice
from karmada.machinery.clock import Clock
from karmada.machinery.errors import ApiError
from karmada.machinery.http.credentials import CredentialSource
from karmada.machinery.http.head import is_field_value, request_head
from karmada.machinery.http.target import Target
from karmada.machinery.http.tls import TLSSettings
from karmada.machinery.os_errors import spelled
from karmada.membership.dialing import dial
from karmada.membership.tunnel.frames import KNOWN, PROTOCOL, REPLICA
from karmada.membership.tunnel.multiplexer import Multiplexer, Stream

log = logging.getLogger(__name__)

HEAD_LIMIT = 256 * 1024
HEAD_SECONDS = 30.0
PAUSES = BackoffPolicy(initial=1.0, maximum=30.0, jitter=0.5)
LOOKS = BackoffPolicy(initial=0.2, maximum=300.0, factor=1.5, jitter=0.5)
"""How long to wait before looking for another replica."""
MOST_TUNNELS = 16


class Refusal(Exception):
    """A request that is not passed on; the text is the answer."""


class AlreadyOpen(Exception):
    """The replica that answered has a tunnel of this agent."""


class Head(NamedTuple):
    """The head of a request, and what of its body came with it."""

    lines: list[str]
    rest: bytes


class Opened(NamedTuple):
    """A connection that became a tunnel, and the replica at its other end; one of an earlier version has no name."""

    channel: Channel
    replica: str


class TunnelClient:
    """Keeps the tunnels of a cluster open."""

    def __init__(self, hub: HubTransport, member: Target, cluster: str, clock: Clock) -> None:
        self._hub = hub
        self._member = member
        self._cluster = cluster
        self._clock = clock
        self._credentials = CredentialSource(member)
        self._tls = TLSSettings(member)
        self._tunnels: dict[str, asyncio.Task[None]] = {}
        """By the replicas that hold them."""

    async def run(self) -> None:
        """Open a tunnel to every replica, and again whenever one breaks."""
        failed, looked = (Backoff(policy, self._clock.random()) for policy in (PAUSES, LOOKS))
        async with asyncio.TaskGroup() as tasks:
            while True:
                try:
                    opened = await self._open()
                except AlreadyOpen:
                    failed.reset()
                except (OSError, ApiError) as error:
                    log.warning("a tunnel of cluster %s cannot be opened: %s", self._cluster, error)
                    if not self._tunnels:
                        await self._clock.sleep(failed.next())
                        continue
                else:
                    failed.reset()
                    looked.reset()
                    self._tunnels[opened.replica] = tasks.create_task(self._keep(opened))
                if await self._ends_within(looked.next()):
                    looked.reset()
                    await self._clock.sleep(failed.next())

    async def _keep(self, opened: Opened) -> None:
        log.info("the tunnel of cluster %s to replica %s is open", self._cluster, opened.replica)
        try:
            await Multiplexer(opened.channel, self.serve, self._clock).run()
        except (OSError, ApiError) as error:
            log.warning("the tunnel of cluster %s to replica %s broke: %s", self._cluster, opened.replica, error)
        else:
            log.info("the tunnel of cluster %s to replica %s has ended", self._cluster, opened.replica)
        finally:
            if self._tunnels.get(opened.replica) is asyncio.current_task():
                del self._tunnels[opened.replica]

    async def _ends_within(self, seconds: float) -> bool:
        """Wait; whether a tunnel ended meanwhile. Where no other replica can be found, for nothing but that."""
        before = set(self._tunnels)
        waits = list(self._tunnels.values())
        pause = asyncio.ensure_future(self._clock.sleep(seconds))
        if "" not in before and len(before) < MOST_TUNNELS:
            waits.append(pause)
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pause.cancel()
        return not before <= set(self._tunnels)

    async def _open(self) -> Opened:
        target = self._hub.target
        channel = await _connect(target, TLSSettings(target), CredentialSource(target))
        try:
            head = await self._upgrade(channel, target)
            return Opened(_Resumed(channel, head.rest), _field(head, REPLICA))
        except BaseException:
            await channel.close()
            raise

    async def _upgrade(self, channel: Channel, target: Target) -> Head:
        """Have the control plane take a connection for a tunnel; its answer, with what of the tunnel came with it."""
        url = urlsplit(target.server)
        path = f"{url.path.rstrip('/')}/apis/cluster.karmada.io/v1alpha1/clusters/{self._cluster}/tunnel"
        headers = (await CredentialSource(target).current()).headers.decode("latin-1")
        fields = [("Host", url.netloc), ("Connection", "Upgrade"), ("Upgrade", PROTOCOL)]
        if self._tunnels:
            fields.append((KNOWN, ",".join(self._tunnels)))
        request = request_head("GET", path, fields).removesuffix(b"\r\n")
        await channel.write(request + headers.encode("latin-1") + b"\r\n")
        async with asyncio.timeout(HEAD_SECONDS):
            head = await _read_head(channel)
        status = f"{head.lines[0]} "
        if " 409 " in status and self._tunnels:
            raise AlreadyOpen
        if " 101 " not in status:
            raise ConnectionError(f"the control plane answered {head.lines[0]}")
        return head

    async def serve(self, stream: Stream) -> None:
        """Answer one request."""
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                head = await _read_head(stream)
                lines = await self._in_its_name(head.lines)
                channel = await _connect(self._member, self._tls, self._credentials)
        except (Refusal, OSError, ApiError, TimeoutError) as error:
            await stream.write(_refused(spelled(error) or "the member did not answer"))
            return
        try:
            await channel.write("\r\n".join([*lines, "", ""]).encode("latin-1") + head.rest)
            await splice(stream, channel)
        finally:
            await channel.close()

    async def _in_its_name(self, lines: list[str]) -> list[str]:
        """The head with the agent's credentials in place of any others."""
        if not all(map(is_field_value, lines)):
            raise Refusal("a request through the tunnel has control characters in its head")
        names = [line.partition(":")[0].strip().lower() for line in lines[1:]]
        if names.count("impersonate-user") != 1:
            raise Refusal("a request through the tunnel must name the one user it is made for")
        url = urlsplit(self._member.server)
        kept = [
            line
            for line, name in zip(lines[1:], names, strict=True)
            if name not in ("host", "authorization", "proxy-authorization")
        ]
        credentials = (await self._credentials.current()).headers.decode("latin-1")
        own = [line for line in credentials.split("\r\n") if line and not line.lower().startswith("impersonate-")]
        return [lines[0], f"Host: {url.netloc}", *kept, *own]


class _Resumed:
    """A channel some of whose bytes were read already."""

    def __init__(self, inner: Channel, rest: bytes) -> None:
        self._inner = inner
        self._rest = rest

    async def read(self) -> bytes:
        """Next bytes."""
        if self._rest:
            rest, self._rest = self._rest, b""
            return rest
        return await self._inner.read()

    async def write(self, data: bytes) -> None:
        """Write with back-pressure."""
        await self._inner.write(data)

    async def close(self) -> None:
        """Drop the connection."""
        await self._inner.close()


def _field(head: Head, name: str) -> str:
    """A header that holds a plain word, else nothing."""
    found = [line.partition(":")[2].strip() for line in head.lines if line.lower().startswith(f"{name}:")]
    return found[0] if found and found[0].isalnum() else ""


async def _connect(target: Target, tls: TLSSettings, credentials: CredentialSource) -> Channel:
    present = await credentials.current()
    secure = target.server.startswith("https://")
    context = tls.context(present.certificate, present.key) if secure else None
    return await dial(target, context)


async def _read_head(channel: Channel) -> Head:
    data = b""
    while b"\r\n\r\n" not in data:
        more = await channel.read()
        data += more
        if not more or len(data) > HEAD_LIMIT:
            raise ConnectionError("the connection ended before the head of a message was complete")
    head, _, rest = data.partition(b"\r\n\r\n")
    return Head(head.decode("latin-1").split("\r\n"), rest)


def _refused(text: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
