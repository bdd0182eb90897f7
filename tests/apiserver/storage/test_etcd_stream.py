"""A watch of etcd, message by message."""

import asyncio
from collections.abc import Sequence
from typing import Any

import grpc
import grpc.aio
import pytest

from karmada.apiserver.storage.base import Compacted, StorageFailed
from karmada.apiserver.storage.etcd.client import Event, KeyValue, Span, WatchStream
from karmada.apiserver.storage.etcd.messages import MESSAGES

SPAN = Span(b"/a", b"/b")
UNAVAILABLE = grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata(), "gone")


class Scripted:
    """A call that gives prepared answers, and waits when there are no more."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.written: list[Any] = []

    async def write(self, message: Any) -> None:
        self.written.append(message)

    async def read(self) -> Any:
        if not self.answers:
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def stream(*answers: Any) -> tuple[WatchStream, Scripted]:
    call = Scripted(*answers)
    return WatchStream(call, lambda error: StorageFailed(f"failed: {error.details()}")), call


def response(events: Sequence[Any] = (), revision: int = 9, **fields: Any) -> Any:
    header = MESSAGES["ResponseHeader"](revision=revision)
    return MESSAGES["WatchResponse"](header=header, events=events, **fields)


def event(key: bytes, created: int, revision: int, value: bytes = b"", **fields: Any) -> Any:
    kv = MESSAGES["KeyValue"](key=key, create_revision=created, mod_revision=revision, value=value)
    return MESSAGES["Event"](kv=kv, **fields)


async def test_a_watch_asks_for_what_comes_after_a_revision_and_takes_the_confirmation() -> None:
    watch, call = stream(response(created=True, revision=30), response(revision=31))
    await watch.create(SPAN, 5, True)
    [request] = call.written
    asked = request.create_request
    assert (asked.key, asked.range_end, asked.start_revision) == (b"/a", b"/b", 6)
    assert (asked.progress_notify, asked.prev_kv) == (True, True)
    assert await watch.read() == ([], 31)


async def test_progress_is_asked_for_by_its_own_message() -> None:
    watch, call = stream()
    await watch.ask_progress()
    [request] = call.written
    assert request.HasField("progress_request")
    assert not request.HasField("create_request")


async def test_events_say_how_far_a_watch_is() -> None:
    before = MESSAGES["KeyValue"](key=b"/a/2", mod_revision=3, value=b"old")
    events = [
        event(b"/a/1", 4, 4, b"v"),
        event(b"/a/2", 3, 5, b"new", prev_kv=before),
        event(b"/a/3", 0, 6, type=1),
        event(b"/a/4", 7, 7, type=1),
    ]
    watch, _ = stream(response(events, revision=99))
    assert await watch.read() == (
        [
            Event(b"/a/1", 4, b"v", None, True),
            Event(b"/a/2", 5, b"new", KeyValue(b"/a/2", b"old", 3), False),
            Event(b"/a/3", 6, None, None, False),
            Event(b"/a/4", 7, None, None, False),
        ],
        7,
    )


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (grpc.aio.EOF, StorageFailed, "etcd closed the watch"),
        (response(canceled=True, cancel_reason="because"), StorageFailed, "etcd cancelled the watch: because"),
        (response(canceled=True, compact_revision=7), Compacted, "7"),
        (UNAVAILABLE, StorageFailed, "failed: gone"),
    ],
    ids=["closed", "cancelled", "compacted", "failed"],
)
async def test_the_end_of_a_watch_has_a_reason(answer: Any, error: type[Exception], message: str) -> None:
    for use in ("read", "create"):
        watch, _ = stream(answer)
        with pytest.raises(error, match=message):
            await (watch.read() if use == "read" else watch.create(SPAN, 5, False))


async def test_whoever_gives_up_reading_is_cancelled() -> None:
    watch, _ = stream()
    reading = asyncio.create_task(watch.read())
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
