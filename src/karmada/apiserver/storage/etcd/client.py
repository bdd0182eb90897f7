"""The few calls to etcd that a storage needs, typed, with a deadline each.

With several endpoints one is used until it cannot be reached, then the next. A call that fails is not repeated:
whether a write took effect is then unknown, and its author must look again.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import grpc
import grpc.aio

from karmada.apiserver.storage.base import Compacted, StorageFailed
from karmada.apiserver.storage.etcd.messages import COMPARE_EQUAL, COMPARE_MOD, EVENT_DELETE, MESSAGES

_DEADLINE = 10.0
_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.use_local_subchannel_pool", 1),  # else channels of one process share how long they wait to connect again
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),  # two minutes unless said: too long after etcd has come back
]


class Tls(NamedTuple):
    """PEM texts; without a certificate the client stays anonymous."""

    ca: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = None


class KeyValue(NamedTuple):
    """A key at a revision."""

    key: bytes
    value: bytes
    revision: int


class Span(NamedTuple):
    """Keys with start <= key < end."""

    start: bytes
    end: bytes


class Found(NamedTuple):
    """A part of a range, and the revision it was read at."""

    items: list[KeyValue]
    revision: int
    more: bool


class Swap(NamedTuple):
    """Whether a conditional write took place; if not, `actual` is the key's revision, 0 without one."""

    done: bool
    revision: int
    actual: int


class Event(NamedTuple):
    """A change; `value` is None for a deletion.

    `previous` is None for a creation, when it was not asked for, and when it was compacted before etcd looked it up.
    """

    key: bytes
    revision: int
    value: bytes | None
    previous: KeyValue | None
    creates: bool = False


class Batch(NamedTuple):
    """Events of whole revisions; one without events says that all up to `revision` have been sent."""

    events: list[Event]
    revision: int


def key_value(message: Any) -> KeyValue:
    """From its message."""
    return KeyValue(message.key, message.value, message.mod_revision)


def _numbers(status: Any) -> tuple[int, ...]:
    return tuple(int(part) for part in status.version.partition("-")[0].split("."))


class EtcdClient:
    """Connections to the members of one etcd cluster."""

    def __init__(self, endpoints: tuple[str, ...], tls: Tls | None = None) -> None:
        self._endpoints = endpoints
        if tls is None:
            self._channels = [grpc.aio.insecure_channel(endpoint, _OPTIONS) for endpoint in endpoints]
        else:
            credentials = grpc.ssl_channel_credentials(tls.ca, tls.key, tls.certificate)
            self._channels = [grpc.aio.secure_channel(endpoint, credentials, _OPTIONS) for endpoint in endpoints]
        self._current = 0
        self._methods: dict[tuple[int, str], Any] = {}
        """Callables by endpoint and path; making one costs more than using it."""

    async def close(self) -> None:
        """Close all connections."""
        for channel in self._channels:
            await channel.close(None)

    async def version(self) -> tuple[int, ...]:
        """The version of the first member that answers."""
        request = MESSAGES["StatusRequest"]()
        for _ in self._endpoints[1:]:
            with contextlib.suppress(StorageFailed):
                return _numbers(await self._call("Maintenance/Status", "Status", request))
        return _numbers(await self._call("Maintenance/Status", "Status", request))

    async def range(self, span: Span, limit: int, revision: int) -> Found:
        """Keys and values of a span in key order, at a revision or, with 0, the latest one."""
        request = MESSAGES["RangeRequest"](key=span.start, range_end=span.end, limit=limit, revision=revision)
        answer = await self._call("KV/Range", "Range", request)
        return Found([key_value(message) for message in answer.kvs], answer.header.revision, answer.more)

    async def revision(self) -> int:
        """The latest revision that a majority agreed on."""
        request = MESSAGES["RangeRequest"](key=b"\x00", count_only=True)
        return int((await self._call("KV/Range", "Range", request)).header.revision)

    async def touch(self, key: bytes) -> int:
        """Write an empty value; the revision of that."""
        answer = await self._call("KV/Put", "Put", MESSAGES["PutRequest"](key=key))
        return int(answer.header.revision)

    async def put(self, key: bytes, value: bytes, expected: int) -> Swap:
        """Write a key that is at the expected revision."""
        operation = MESSAGES["RequestOp"](request_put=MESSAGES["PutRequest"](key=key, value=value))
        return await self._swap(key, operation, expected)

    async def delete(self, key: bytes, expected: int) -> Swap:
        """Delete a key that is at the expected revision."""
        operation = MESSAGES["RequestOp"](request_delete_range=MESSAGES["DeleteRangeRequest"](key=key))
        return await self._swap(key, operation, expected)

    async def _swap(self, key: bytes, operation: Any, expected: int) -> Swap:
        compare = MESSAGES["Compare"](result=COMPARE_EQUAL, target=COMPARE_MOD, key=key, mod_revision=expected)
        look = MESSAGES["RequestOp"](request_range=MESSAGES["RangeRequest"](key=key, keys_only=True))
        request = MESSAGES["TxnRequest"](compare=[compare], success=[operation], failure=[look])
        answer = await self._call("KV/Txn", "Txn", request)
        if answer.succeeded:
            return Swap(True, answer.header.revision, answer.header.revision)
        found = answer.responses[0].response_range.kvs
        return Swap(False, answer.header.revision, found[0].mod_revision if found else 0)

    async def compact(self, revision: int) -> None:
        """Forget history; without effect when it is forgotten already."""
        try:
            await self._call("KV/Compact", "Compaction", MESSAGES["CompactionRequest"](revision=revision))
        except StorageFailed as error:
            cause = error.__cause__
            if not isinstance(cause, grpc.aio.AioRpcError) or cause.code() is not grpc.StatusCode.OUT_OF_RANGE:
                raise

    @contextlib.asynccontextmanager
    async def watch(self, span: Span, after: int, previous: bool = False) -> AsyncIterator["WatchStream"]:
        """The changes of a span after a revision; the watch is registered when this is entered."""
        channel = self._channels[self._current]
        method: Any = channel.stream_stream(
            "/etcdserverpb.Watch/Watch",
            request_serializer=MESSAGES["WatchRequest"].SerializeToString,
            response_deserializer=MESSAGES["WatchResponse"].FromString,
        )
        call = method()
        try:
            stream = WatchStream(call, self._failed)
            await stream.create(span, after, previous)
            yield stream
        finally:
            call.cancel()

    async def _call(self, path: str, name: str, request: Any) -> Any:
        place = (self._current, path)
        method = self._methods.get(place)
        if method is None:
            method = self._methods[place] = self._channels[self._current].unary_unary(
                f"/etcdserverpb.{path}",
                request_serializer=type(request).SerializeToString,
                response_deserializer=MESSAGES[f"{name}Response"].FromString,
            )
        try:
            return await method(request, timeout=_DEADLINE)
        except grpc.aio.AioRpcError as error:
            raise self._failed(error) from error

    def _failed(self, error: grpc.aio.AioRpcError) -> StorageFailed:
        endpoint = self._endpoints[self._current]
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            self._current = (self._current + 1) % len(self._channels)
        return StorageFailed(f"etcd {endpoint}: {error.code().name}: {error.details()}")


class WatchStream:
    """An open watch."""

    def __init__(self, call: Any, failed: Callable[[grpc.aio.AioRpcError], StorageFailed]) -> None:
        self._call = call
        self._failed = failed

    async def create(self, span: Span, after: int, previous: bool) -> None:
        """Register; raises `Compacted` when the revision is gone."""
        create = MESSAGES["WatchCreateRequest"](
            key=span.start, range_end=span.end, start_revision=after + 1, progress_notify=True, prev_kv=previous
        )
        await self._guard(self._call.write(MESSAGES["WatchRequest"](create_request=create)))
        await self._read()

    async def ask_progress(self) -> None:
        """Request a progress notification of the watch."""
        request = MESSAGES["WatchRequest"]()
        request.progress_request.SetInParent()
        # Whoever asks may be cancelled; gRPC would cancel the whole call with it.
        await asyncio.shield(self._guard(self._call.write(request)))

    async def read(self) -> Batch:
        """The next batch; raises `Compacted` or `StorageFailed` when the watch has ended."""
        message = await self._read()
        events = [
            Event(
                event.kv.key,
                event.kv.mod_revision,
                None if event.type == EVENT_DELETE else event.kv.value,
                key_value(event.prev_kv) if event.HasField("prev_kv") else None,
                event.type != EVENT_DELETE and event.kv.create_revision == event.kv.mod_revision,
            )
            for event in message.events
        ]
        # A watch that catches up is sent old events under the newest revision: only the events say how far it is.
        return Batch(events, events[-1].revision if events else message.header.revision)

    async def _read(self) -> Any:
        message = await self._guard(self._call.read())
        if not isinstance(message, MESSAGES["WatchResponse"]):
            raise StorageFailed("etcd closed the watch")
        if message.compact_revision:
            raise Compacted(message.compact_revision)
        if message.canceled:
            raise StorageFailed(f"etcd cancelled the watch: {message.cancel_reason}")
        return message

    async def _guard(self, operation: Awaitable[Any]) -> Any:
        try:
            return await operation
        except grpc.aio.AioRpcError as error:
            raise self._failed(error) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise StorageFailed("the watch on etcd was cancelled") from None
        except asyncio.InvalidStateError as error:  # it ended before it was used again
            raise StorageFailed(f"the watch on etcd has ended: {error}") from error
