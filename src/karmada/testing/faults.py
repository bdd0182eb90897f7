"""A transport that misbehaves as networks, servers and processes do, by a seeded source of randomness.

What it does is what real ones do, no more: a lost request may or may not have taken effect, a list may be old, a watch
may break, lag or repeat itself, but events are never silently left out of a watch that goes on.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from random import Random

import orjson

from karmada.machinery.errors import ApiError, Conflict, Gone, Invalid, ServerError, TooManyRequests, Unavailable
from karmada.machinery.transport import Request, Transport, Verb, WatchEvent, WatchStream

SLOW = 5.0
_READS = frozenset({Verb.GET, Verb.LIST, Verb.WATCH})


@dataclass(frozen=True, slots=True)
class Faults:
    """How likely each fault is, per request (for watches: per batch of events)."""

    delay: float = 0.0
    """Seconds a request may take at most, on its way there and back."""
    slow: float = 0.0
    """A request takes up to `SLOW` seconds."""
    drop: float = 0.0
    """The connection breaks; half of the time the server has already done what was asked."""
    duplicate: float = 0.0
    """The request arrives twice, or a batch of events comes again."""
    stale_list: float = 0.0
    """A load is answered as it was answered before, by a replica that lags. Who asks for the objects of one owner is
    not loading a cache, and gets the most recent state, as servers promise."""
    no_streaming: float = 0.0
    """The server does not know streaming lists."""
    watch_cut: float = 0.0
    """A watch ends or breaks."""
    watch_gone: float = 0.0
    """A watch must start over because its revision is forgotten."""
    burst: float = 0.0
    """A burst of refusals begins: 409 for writes, 429 or 500 for all."""
    burst_length: int = 3
    crash: float = 0.0
    """The process dies right before or right after a write."""


CALM = Faults()
STORMY = Faults(
    delay=0.2,
    drop=0.03,
    duplicate=0.02,
    stale_list=0.2,
    no_streaming=0.3,
    watch_cut=0.05,
    watch_gone=0.1,
    burst=0.02,
    crash=0.03,
)


class FaultyTransport:
    """Wraps the transport of one process (one incarnation of a component)."""

    def __init__(
        self, inner: Transport, faults: Callable[[], Faults], random: Random, crash: Callable[[], None] | None = None
    ) -> None:
        self._inner = inner
        self._faults = faults
        self._random = random
        self._crash = crash
        self._burst: list[ApiError] = []
        self._lists: dict[str, bytes] = {}
        self.partitioned = False
        """Nothing gets through in either direction."""
        self.deaf = False
        """Requests arrive and take effect, answers do not come back."""
        self.dead = False
        """The process is gone: whatever its remains still try has no effect."""

    async def send(self, request: Request) -> bytes:
        """Pass a request on, or not."""
        faults = self._faults()
        await self._travel(faults)
        self._refuse(faults, request)
        writing = request.verb not in _READS
        if writing and self._happens(faults.crash):
            await self._die(request, written=self._random.random() < 0.5)
        if self._happens(faults.drop):
            if self._random.random() < 0.5:
                await self._inner.send(request)
            raise Unavailable("the connection broke (injected)")
        if request.verb is Verb.LIST:
            return await self._list(request, faults)
        if writing and self._happens(faults.duplicate):
            with contextlib.suppress(ApiError):
                await self._inner.send(_copied(request))
        answer = await self._inner.send(request)
        await self._receive()
        await self._travel(faults)
        return answer

    @contextlib.asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        """Pass a watch on; it may break later."""
        faults = self._faults()
        await self._travel(faults)
        await self._receive()
        self._refuse(faults, request)
        if "sendInitialEvents" in request.params:
            if self._happens(faults.no_streaming):
                raise Invalid("sendInitialEvents is forbidden for watch (injected)")
        elif self._happens(faults.watch_gone):
            raise Gone("too old resource version (injected)")
        async with self._inner.watch(request) as stream, contextlib.aclosing(self._stream(stream)) as faulty:
            yield faulty

    async def _stream(self, stream: WatchStream) -> AsyncGenerator[list[WatchEvent], None]:
        async for batch in stream:
            faults = self._faults()
            await self._travel(faults)
            await self._receive()
            if self._happens(faults.watch_cut):
                if self._random.random() < 0.5:
                    return
                raise Unavailable("the watch broke (injected)")
            yield batch
            if self._happens(faults.duplicate):
                yield batch

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Pass a page request on, or not."""
        await self._travel(self._faults())
        answer = await self._inner.raw(method, path, body, accept)
        await self._receive()
        return answer

    async def close(self) -> None:
        """The inner transport is closed by whoever made it."""

    def _happens(self, chance: float) -> bool:
        return chance > 0 and self._random.random() < chance

    async def _travel(self, faults: Faults) -> None:
        if faults.delay:
            await asyncio.sleep(self._random.random() ** 3 * faults.delay)
        if self._happens(faults.slow):
            await asyncio.sleep(self._random.random() * SLOW)
        if self.dead or self.partitioned:
            await asyncio.sleep(1.0)
            raise Unavailable("no route to the server (injected)")

    async def _receive(self) -> None:
        if self.deaf:
            await asyncio.sleep(1.0)
            raise Unavailable("no answer from the server (injected)")

    def _refuse(self, faults: Faults, request: Request) -> None:
        if not self._burst and self._happens(faults.burst):
            kinds: list[ApiError] = [TooManyRequests("busy (injected)"), ServerError("internal error (injected)")]
            if request.verb not in _READS:
                kinds.append(Conflict("the object has been modified (injected)"))
            self._burst = [self._random.choice(kinds)] * self._random.randint(1, faults.burst_length)
        if self._burst:
            error = self._burst.pop()
            if not (isinstance(error, Conflict) and request.verb in _READS):
                raise error

    async def _die(self, request: Request, written: bool) -> None:
        if written:
            with contextlib.suppress(ApiError):
                await self._inner.send(request)
        self.dead = True
        if self._crash is not None:
            self._crash()
        await asyncio.Event().wait()

    async def _list(self, request: Request, faults: Faults) -> bytes:
        key = f"{request.resource} {request.namespace} {sorted(request.params.items())}"
        old = self._lists.get(key)
        if old is not None and _is_load(request) and self._happens(faults.stale_list):
            return old
        answer = await self._inner.send(request)
        await self._receive()
        self._lists[key] = answer
        return answer

    def remember(self, before: "FaultyTransport") -> None:
        """Old lists of an earlier incarnation may come back: the server's replica that lags is still there."""
        self._lists = before._lists


def _is_load(request: Request) -> bool:
    """Whether a list fills a cache: everything, or everything that is ours."""
    return request.params.get("labelSelector", "=true").endswith("=true")


def _copied(request: Request) -> Request:
    """The same request again: the body of the first one belongs to whoever got it."""
    body = request.body
    return request if body is None or isinstance(body, bytes) else request._replace(body=orjson.dumps(body))
