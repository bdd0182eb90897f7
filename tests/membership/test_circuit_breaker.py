"""When a member counts as misbehaving, and for how long."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from karmada.machinery import limits
from karmada.machinery.errors import AnswerTooLarge, BadAnswer
from karmada.machinery.transport import EventType, GroupVersionResource, Request, Verb, WatchEvent, WatchStream
from karmada.membership.circuit_breaker import PAUSES, PROVEN, CircuitBreaker, CutOff, GuardedTransport
from karmada.testing.loop import VirtualClock, run_virtual

PODS = GroupVersionResource("", "v1", "pods")
GET = Request(Verb.GET, PODS, "default", "a")
LIST = Request(Verb.LIST, PODS, params={"limit": "500"})


class Scripted:
    """A transport that gives prepared answers; an exception is raised."""

    def __init__(self) -> None:
        self.answer: bytes | Exception = b"{}"
        self.requests = 0
        self.events = self.batch = 1

    async def send(self, request: Request) -> bytes:
        return await self.raw("", "")

    @contextlib.asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        yield self._events()

    async def _events(self) -> AsyncIterator[list[WatchEvent]]:
        for _ in range(self.events // self.batch):
            yield [WatchEvent(EventType.ADDED, await self.raw("", ""))] * self.batch

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        self.requests += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def close(self) -> None:
        pass


def guarded(clock: VirtualClock) -> tuple[Scripted, CircuitBreaker, GuardedTransport]:
    inner, breaker = Scripted(), CircuitBreaker(clock)
    return inner, breaker, GuardedTransport(inner, breaker)


def test_nothing_is_asked_of_a_member_after_an_offence_and_pauses_grow() -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        inner, breaker, transport = guarded(clock)
        inner.answer = BadAnswer("too large")
        for offence in range(6):
            pause = PAUSES.pause(offence)
            inner.answer = BadAnswer("too large")
            with pytest.raises(BadAnswer):
                await transport.send(GET)
            before = inner.requests
            await clock.sleep(pause - 0.1)
            with pytest.raises(CutOff, match="too large"):
                await transport.raw("GET", "/readyz")
            assert inner.requests == before
            assert breaker.complaint == "too large"
            await clock.sleep(0.2)
        inner.answer = b"ok"
        await transport.raw("GET", "/readyz")
        assert breaker.complaint, "it is suspected for a while"
        await clock.sleep(PAUSES.maximum)
        assert not breaker.complaint
        await clock.sleep(PROVEN)
        inner.answer = BadAnswer("again")
        with pytest.raises(BadAnswer):
            await transport.send(GET)
        await clock.sleep(PAUSES.initial)
        inner.answer = b"ok"
        await transport.raw("GET", "/readyz")

    run_virtual(scenario)


@pytest.mark.parametrize(
    "answer",
    [
        b"garbage",
        b"[]",
        b'{"metadata":[]}',
        b'{"metadata":{"name":5}}',
        b'{"metadata":{"name":"' + b"a" * 300 + b'"}}',
        b'{"metadata":{"resourceVersion":"' + b"9" * 300 + b'"}}',
        b'{"metadata":{},"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
    ids=["garbage", "a list", "metadata", "a number", "a long name", "a long revision", "deep"],
)
def test_answers_and_events_that_are_no_objects_are_offences(answer: bytes) -> None:
    async def scenario() -> None:
        for watching in (False, True):
            inner, breaker, transport = guarded(VirtualClock())
            inner.answer = answer
            with pytest.raises(BadAnswer):
                await (_first(transport) if watching else transport.send(GET))
            assert breaker.complaint

    run_virtual(scenario)


async def _first(transport: GuardedTransport) -> list[WatchEvent]:
    async with transport.watch(Request(Verb.WATCH, PODS)) as stream:
        return [event async for batch in stream for event in batch]


def test_large_pages_and_refusals_are_no_offences() -> None:
    async def scenario() -> None:
        inner, breaker, transport = guarded(VirtualClock())
        inner.answer = AnswerTooLarge("a page of 500")
        with pytest.raises(AnswerTooLarge):
            await transport.send(LIST)
        assert not breaker.complaint
        with pytest.raises(AnswerTooLarge):
            await transport.send(LIST._replace(params={"limit": "1"}))
        assert breaker.complaint

    run_virtual(scenario)


@pytest.mark.parametrize("each", [1, 3], ids=["usual events", "large events"])
def test_a_flood_of_events_is_taken_at_a_rate_and_is_no_offence(each: int) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        inner, breaker, transport = guarded(clock)
        inner.answer = b'{"metadata":{"name":"a"}}'.ljust(each * limits.WATCH_EVENT)
        inner.events, inner.batch = 3 * limits.WATCH_BURST // each, 100
        begin = clock.monotonic()
        assert len(await _first(transport)) == inner.events
        wanted = 2 * limits.WATCH_BURST / limits.WATCH_RATE
        assert wanted - 1 <= clock.monotonic() - begin <= wanted + 1
        assert not breaker.complaint

    run_virtual(scenario)
