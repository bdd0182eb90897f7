"""What can be wrong with a member as its clients see it. The cluster itself goes on working behind its faulty endpoint.

A `Gate` holds the present faults of one member. It stands before both endpoints: the HTTP listener and transports in
the same process. Controllers of the member itself go around it.

A hanging member is like a process that is stopped: requests it has taken and watches that are open wait, and go on when
it wakes up. Whoever gave up meanwhile has gone; nobody waits any longer than the fault lasts.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import msgspec
import orjson

from karmada.machinery import errors
from karmada.machinery.clock import Clock
from karmada.machinery.httpserver.model import Handler, HttpAnswer, HttpRequest, HttpResponse, StreamResponse
from karmada.machinery.transport import Request, Transport, WatchEvent, WatchStream
from karmada.simulator.interference import WebhookRule

RAW_TIMEOUT = 30.0
"""Seconds for requests of paths that are no resources."""
BROKE = "the connection broke: the member has a fault"


class Faults(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Everything that can be wrong at once."""

    down: bool = False
    """Nobody listens."""
    hanging: bool = False
    """Requests are taken and not answered as long as this lasts."""
    slow_milliseconds: int = 0
    """Every answer takes this much longer."""
    rejecting: int = 0
    """Every request is answered with this status code (500 to 599)."""
    network_down: bool = False
    """Nobody outside reaches its pods, and they reach nobody outside."""
    certificate_expired: bool = False
    """The serving certificate is out of date."""
    clock_skew_seconds: float = 0.0
    """How far the member's clock is ahead."""
    full_namespaces: tuple[str, ...] = ()
    """Patterns of namespaces whose quota is used up: no new pods."""
    webhooks: tuple[WebhookRule, ...] = ()
    """Webhooks in the member that change or refuse objects."""

    def __post_init__(self) -> None:
        if self.rejecting and not 500 <= self.rejecting <= 599:
            raise ValueError(f"rejecting: {self.rejecting} is not a status code between 500 and 599")
        if self.slow_milliseconds < 0:
            raise ValueError("slowMilliseconds must not be negative")


class SkewedClock:
    """A member's own clock: as far ahead as its faults say."""

    def __init__(self, inner: Clock, skew: Callable[[], float]) -> None:
        self._inner = inner
        self._skew = skew
        self.monotonic = inner.monotonic
        self.sleep = inner.sleep
        self.call_later = inner.call_later
        self.random = inner.random

    def now(self) -> float:
        """Seconds since the epoch, as the member believes."""
        return self._inner.now() + self._skew()


class Gate:
    """The faults of one member, enforced."""

    def __init__(self, clock: Clock, faults: Faults, latency: float = 0.0) -> None:
        self._clock = clock
        self._latency = latency
        """Seconds that every request takes on its way, faults or not."""
        self.faults = faults
        self._broken = asyncio.Event()
        """Set, and replaced, when what is open now breaks."""
        self._changed = asyncio.Event()
        """Set, and replaced, when faults change."""

    def set(self, faults: Faults) -> None:
        """Change what is wrong; open watches break when the member goes down or rejects."""
        self.faults = faults
        self._changed.set()
        self._changed = asyncio.Event()
        if faults.down or faults.rejecting:
            self._broken.set()
            self._broken = asyncio.Event()

    async def pass_through(self) -> None:
        """Wait as long as the faults say; raises what they do to a request."""
        self._check_reachable()
        delay = self._latency + self.faults.slow_milliseconds / 1000
        if delay:
            await self._clock.sleep(delay)
        await self.answers()
        self._check_reachable()
        if self.faults.rejecting:
            raise errors.from_status(self.faults.rejecting, {"message": "the member rejects requests on purpose"})

    def _check_reachable(self) -> None:
        if self.faults.down:
            raise errors.Unavailable("connection refused: the member is down")
        if self.faults.certificate_expired:
            raise errors.Unavailable("the certificate of the member has expired")

    async def answers(self) -> None:
        """Wait while the member hangs."""
        while self.faults.hanging and not self.faults.down:
            await self._changed.wait()

    def handler(self, inner: Handler) -> Handler:
        """The HTTP handler behind this gate."""

        async def gated(request: HttpRequest) -> HttpAnswer:
            try:
                await self.pass_through()
            except errors.ApiError as error:
                code = self.faults.rejecting or 503
                status = {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "metadata": {},
                    "status": "Failure",
                    "message": error.message,
                    "reason": "ServiceUnavailable" if code == 503 else "InternalError",
                    "code": code,
                }
                return HttpResponse(code, orjson.dumps(status))
            answer = await inner(request)
            if isinstance(answer, StreamResponse):
                answer.chunks = self._held(answer.chunks)
            return answer

        return gated

    async def _held(
        self, chunks: AsyncIterator[bytes | Iterable[bytes]]
    ) -> AsyncGenerator[bytes | Iterable[bytes], None]:
        """What a stream sends, held back while the member hangs."""
        try:
            async for chunk in chunks:
                if self.faults.hanging:
                    await self.answers()
                yield chunk
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()

    def transport(self, inner: Transport) -> "GatedTransport":
        """A transport behind this gate."""
        return GatedTransport(self, inner)

    @property
    def breaks(self) -> asyncio.Event:
        """Set when what is open now breaks."""
        return self._broken

    async def until_broken(self, stream: WatchStream, breaks: asyncio.Event) -> AsyncGenerator[list[WatchEvent], None]:
        """The events of a watch until a fault ends it."""
        broken = asyncio.ensure_future(breaks.wait())
        following: asyncio.Future[list[WatchEvent] | None] = broken.get_loop().create_future()
        try:
            while True:
                following = asyncio.ensure_future(anext(stream, None))
                await asyncio.wait((following, broken), return_when=asyncio.FIRST_COMPLETED)
                if not following.done():
                    raise errors.Unavailable(BROKE)
                batch = following.result()
                if batch is None:
                    return
                if self.faults.hanging:
                    await self.answers()
                    if breaks.is_set():
                        raise errors.Unavailable(BROKE)
                yield batch
        finally:
            # The stream can be closed by its owner only when nobody waits for its next event any more.
            for waiting in (following, broken):
                waiting.cancel()
            await asyncio.gather(following, broken, return_exceptions=True)


class GatedTransport:
    """A transport that suffers the faults of a member."""

    def __init__(self, gate: Gate, inner: Transport) -> None:
        self._gate = gate
        self._inner = inner

    async def send(self, request: Request) -> bytes:
        """Pass on, within the request's deadline."""
        try:
            async with asyncio.timeout(request.timeout):
                await self._gate.pass_through()
                return await self._inner.send(request)
        except TimeoutError:
            raise errors.Timeout("the member did not answer in time") from None

    @asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        """Pass on; faults end the stream. The request's deadline is for the start."""
        try:
            async with asyncio.timeout(request.timeout):
                await self._gate.pass_through()
        except TimeoutError:
            raise errors.Timeout("the member did not start the watch in time") from None
        breaks = self._gate.breaks
        async with self._inner.watch(request) as stream:
            events = self._gate.until_broken(stream, breaks)
            try:
                yield events
            finally:
                await events.aclose()

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Pass on, within the deadline that raw requests have."""
        try:
            async with asyncio.timeout(RAW_TIMEOUT):
                await self._gate.pass_through()
                return await self._inner.raw(method, path, body, accept)
        except TimeoutError:
            raise errors.Timeout("the member did not answer in time") from None

    async def close(self) -> None:
        """Pass on."""
        await self._inner.close()
