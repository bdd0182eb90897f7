"""The shards that this process holds, the work on their keys, and the fence around that work's writes.

A tenure is one hold of one shard. Work on a key happens within the tenure of its shard: writes it sends, to whatever
server, are refused as soon as that tenure is over, also when this process has won the shard again since. A tenure that
is closed begins no more work; when the work that had begun is done it is drained, and the shard can be handed over.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar

from karmada.machinery.leader import READS, Fence, NotLeader, send_fenced
from karmada.machinery.sharding.balance import shard_of
from karmada.machinery.transport import Request, Transport, WatchStream

_WITHIN: "ContextVar[Tenure | None]" = ContextVar("tenure", default=None)
_UNGUARDED = frozenset(
    {("", "events"), ("authentication.k8s.io", "tokenreviews"), ("authorization.k8s.io", "subjectaccessreviews")}
)
"""What is created outside of any key's work and decides nothing."""


class Tenure:
    """One hold of one shard."""

    def __init__(self, shard: int, lease: Fence) -> None:
        self.shard = shard
        self._lease = lease
        self._closed = False
        self._ended = False
        self._under_way = 0
        self._drained: asyncio.Future[None] | None = None

    @property
    def identity(self) -> str:
        """Who holds the shard."""
        return self._lease.identity

    @property
    def leads(self) -> bool:
        """Whether work of this tenure may write now."""
        return not self._ended and self._lease.leads

    @property
    def exclusive(self) -> float:
        """For how long nobody else can hold the shard."""
        return self._lease.exclusive

    @property
    def is_open(self) -> bool:
        """Whether work on another key may begin."""
        return not self._closed and self.leads

    @property
    def is_busy(self) -> bool:
        """Whether work is under way."""
        return self._under_way > 0

    @contextmanager
    def working(self) -> Iterator[None]:
        """Whatever happens in this context, tasks it starts included, writes for this tenure."""
        token = _WITHIN.set(self)
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            _WITHIN.reset(token)
            if not self._under_way and self._drained is not None and not self._drained.done():
                self._drained.set_result(None)

    async def drain(self) -> None:
        """Begin no more work, and wait for what is under way."""
        self._closed = True
        if self._under_way:
            self._drained = asyncio.get_running_loop().create_future()
            await self._drained

    def end(self) -> None:
        """The shard is no longer held: nothing of this tenure may write any more."""
        self._closed = self._ended = True


class Ownership:
    """Which shards this process holds."""

    def __init__(self, count: int, first: int = 0) -> None:
        """`first`: the shards before it have no keys; what cannot be divided is done by who holds the first one."""
        self.count = count
        self.first = first
        self._tenures: dict[int, Tenure] = {}
        self._acquired: list[Callable[[int], None]] = []
        self._lost: list[Callable[[int], Awaitable[None]]] = []

    def shard(self, key: str) -> int:
        """The shard of a key."""
        return shard_of(key, self.count, self.first)

    def of(self, key: str) -> Tenure | None:
        """The tenure in which work on a key may begin now; None when the key is not this process's."""
        tenure = self._tenures.get(self.shard(key))
        return tenure if tenure is not None and tenure.is_open else None

    def holds(self, shard: int) -> bool:
        """Whether a shard is held."""
        return shard in self._tenures

    def on_acquired(self, call: Callable[[int], None]) -> None:
        """Call a function with every shard that is acquired: it has all keys of that shard looked at."""
        self._acquired.append(call)

    def on_lost(self, call: Callable[[int], Awaitable[None]]) -> None:
        """Call a function with every shard that was lost or given up: it forgets what it knows of its keys."""
        self._lost.append(call)

    def begin(self, tenure: Tenure) -> None:
        """A shard was acquired."""
        self._tenures[tenure.shard] = tenure
        for call in self._acquired:
            call(tenure.shard)

    def end(self, tenure: Tenure) -> None:
        """A shard was lost or given up."""
        tenure.end()
        if self._tenures.get(tenure.shard) is tenure:
            del self._tenures[tenure.shard]

    async def forget(self, shard: int) -> None:
        """Have what is known of the keys of a shard that is gone forgotten."""
        for call in self._lost:
            await call(shard)


class ShardedTransport:
    """Refuses writes outside of the tenure for which they are made; events and reviews need none."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: Request) -> bytes:
        """Pass reads on; pass writes on only within a tenure that lasts, and only for as long."""
        if request.verb in READS or request.resource[::2] in _UNGUARDED:
            return await self._transport.send(request)
        tenure = _WITHIN.get()
        if tenure is None:
            raise NotLeader(f"a write to {request.resource.resource} belongs to no shard")
        return await send_fenced(self._transport, tenure, request)

    def watch(self, request: Request) -> AbstractAsyncContextManager[WatchStream]:
        """Watches are reads."""
        return self._transport.watch(request)

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Paths that are no resources are only read."""
        return await self._transport.raw(method, path, body, accept)

    async def close(self) -> None:
        """Close the wrapped transport."""
        await self._transport.close()
