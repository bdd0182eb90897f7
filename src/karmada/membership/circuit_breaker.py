"""A circuit breaker per member: after an invalid answer no request is sent for a while, and its Cluster says why.

An offence is an answer that no conformant API server gives (`BadAnswer`: too large, too deep, not readable). Pauses
grow with every offence, so that a hostile member costs one bounded answer a minute. It stays suspected for as long
again as it was cut off; whoever behaves until then is trusted as before. A member that sends many events commits no
offence: they are taken at a rate, and wait in its own buffers.
"""

import contextlib
from collections.abc import AsyncIterator, Callable

from karmada.machinery import limits
from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.clock import Clock
from karmada.machinery.codec import Identity, identity
from karmada.machinery.errors import AnswerTooLarge, BadAnswer
from karmada.machinery.throttle import TokenBucket
from karmada.machinery.transport import Request, Transport, Verb, WatchEvent, WatchStream

PAUSES = BackoffPolicy(initial=5.0, maximum=60.0)
PROVEN = 300.0
"""Seconds without an offence after which the next offence counts as the first."""
_LONGEST_NAME = 253


class CutOff(BadAnswer):
    """Nothing was asked: the member misbehaved a short time ago."""


class CircuitBreaker:
    """Refuses requests to one member after invalid answers, for pauses that grow with each."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._offences = 0
        self._last: BadAnswer | None = None
        self._until = float("-inf")
        self._suspected_until = float("-inf")
        self.on_offence: Callable[[], None] = lambda: None
        """Called when the member is cut off."""

    def offence(self, error: BadAnswer) -> None:
        """Cut the member off; what is found out meanwhile, or again, is the same offence."""
        now = self.clock.monotonic()
        if isinstance(error, CutOff) or error is self._last or now < self._until:
            return
        if now - self._suspected_until > PROVEN:
            self._offences = 0
        pause = PAUSES.pause(self._offences)
        self._offences += 1
        self._last = error
        self._until = now + pause
        self._suspected_until = self._until + pause
        self.on_offence()

    def check(self) -> None:
        """Raise `CutOff` while nothing may be asked."""
        if self.clock.monotonic() < self._until:
            raise CutOff(f"nothing is asked of the cluster for a while: {self._last}")

    @property
    def complaint(self) -> str:
        """What the member did wrong; empty when it is trusted."""
        return limits.printable(str(self._last)) if self.clock.monotonic() < self._suspected_until else ""


class GuardedTransport:
    """A transport to a member that notes its offences, and is silent while it is cut off."""

    def __init__(self, inner: Transport, breaker: CircuitBreaker) -> None:
        self._inner = inner
        self._breaker = breaker
        self._rate = TokenBucket(limits.WATCH_BURST, limits.WATCH_RATE, breaker.clock.monotonic())

    async def send(self, request: Request) -> bytes:
        """Answer every verb but watch with an object that can be identified."""
        self._breaker.check()
        try:
            answer = await self._inner.send(request)
            if request.verb is not Verb.LIST and not request.accept:
                _identified(answer)
        except BadAnswer as error:
            # Large pages are no offence: smaller ones are asked for.
            if not (isinstance(error, AnswerTooLarge) and request.verb is Verb.LIST and _is_page(request)):
                self._breaker.offence(error)
            raise
        return answer

    @contextlib.asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        """Open a watch; its events are identified."""
        self._breaker.check()
        try:
            async with self._inner.watch(request) as stream:
                yield self._taken(stream)
        except BadAnswer as error:
            self._breaker.offence(error)
            raise

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Request a path that is no resource."""
        self._breaker.check()
        try:
            return await self._inner.raw(method, path, body, accept)
        except BadAnswer as error:
            self._breaker.offence(error)
            raise

    async def close(self) -> None:
        """Release connections."""
        await self._inner.close()

    async def _taken(self, stream: WatchStream) -> WatchStream:
        clock = self._breaker.clock
        async for batch in stream:
            yield [
                event if event.which is not None else WatchEvent(event.type, event.object, _identified(event.object))
                for event in batch
            ]
            size = sum(len(event.object) for event in batch)
            pause = self._rate.take(max(len(batch), size / limits.WATCH_EVENT), clock.monotonic())
            if pause:
                await clock.sleep(pause)


def _identified(body: bytes) -> Identity:
    found = identity(body)
    if max(map(len, (found.name, found.namespace, found.uid, found.resource_version))) > _LONGEST_NAME:
        raise BadAnswer("the server sent an object whose name, uid or resourceVersion is too long")
    return found


def _is_page(request: Request) -> bool:
    return request.params.get("limit") != "1"
