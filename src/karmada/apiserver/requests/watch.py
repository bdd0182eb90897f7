"""WATCH: the store's events as clients asked for them.

Each event is encoded once for all plain watchers, and converted once for all who want it in another version or form.
What is large is joined while it is written: a client that does not read holds no copy of it.
Two consumers: the HTTP dispatcher writes lines, the direct transport takes typed events.
"""

import asyncio
import random
from bisect import bisect_left
from collections.abc import AsyncIterator, Hashable, Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

import orjson

from karmada.apiserver.failures import gone
from karmada.apiserver.managedfields.zero import zero_object
from karmada.apiserver.requests import offload, reading
from karmada.apiserver.requests.freshness import wait_for
from karmada.apiserver.requests.model import Call, Context
from karmada.apiserver.requests.negotiation import JSON, Form
from karmada.apiserver.requests.options import ListOptions, flag, list_options, unparsable_version
from karmada.apiserver.requests.selection import select
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.served_resource import Served
from karmada.apiserver.storage.base import Compacted
from karmada.apiserver.watchcache import StoreEvent, TooSlow, Watcher
from karmada.machinery.httpserver.encoding import cut
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import PIECE
from karmada.machinery.transport import EventType

_DEFAULT_SECONDS = (1800, 3600)
_LONGEST_SECONDS = 3600.0
"""A watch is authorised when it begins: whoever loses the right to it keeps it no longer than this."""


class Watch(NamedTuple):
    """An open watch; whoever iterates it must close the watcher."""

    call: Call
    watcher: Watcher
    after: int
    seconds: float


async def open_watch(context: Context, call: Call) -> Watch:
    """Check the options and attach to the store; refusals come before any event."""
    # The options of the old `/watch/` paths are judged as those of a list unless they ask for a watch once more.
    options = list_options(dict(call.params), watch=call.http is None or flag(dict(call.params), "watch"))
    served = call.served
    selection = await select(served, options.label_selector, options.field_selector)
    version = options.resource_version
    if version and not version.isdigit():
        raise unparsable_version(version)
    after = int(version or 0)
    initial = options.send_initial_events if options.send_initial_events is not None else after == 0
    if after > context.store.revision:
        await wait_for(context, after, call.params)
    name = call.name or selection.name
    try:
        watcher = context.store.watch(
            served.key,
            call.namespace,
            name,
            selection.match,
            after,
            initial,
            options.bookmarks,
            initial and options.bookmarks,
        )
    except Compacted as error:
        raise gone(f"too old resource version: {after} ({error.oldest})") from None
    return Watch(call, watcher, after, _seconds(options))


def _seconds(options: ListOptions) -> float:
    seconds = options.timeout_seconds or random.randint(*_DEFAULT_SECONDS)
    return min(float(seconds), _LONGEST_SECONDS)


async def batches(context: Context, watch: Watch) -> AsyncIterator[list[StoreEvent]]:
    """The events of a watch until its time is over; raises `Failure` for what clients see as an error event."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + watch.seconds
    with watch.watcher as watcher:
        ending = loop.call_at(deadline, watcher.close)
        try:
            async for events in watcher:
                yield events
        except Compacted as error:
            raise gone(f"too old resource version: {watch.after} ({error.oldest})") from None
        except TooSlow as error:
            raise Failure(410, "Expired", f"too old resource version: {error}") from None
        finally:
            ending.cancel()


async def lines(context: Context, watch: Watch) -> AsyncIterator[bytes | Iterable[bytes]]:
    """The watch as the body of an HTTP answer."""
    call = watch.call
    first = True
    try:
        async for events in batches(context, watch):
            if not _stored_as_served(call, events):
                async for data in _converted(context, call, events, first):
                    yield data
                first = False
            else:
                sizes = [event.item.size for event in events]
                yield _shared(call, events) if sum(sizes) <= PIECE else _pieces(call, events, sizes)
    except Failure as failure:
        yield b'{"type":"ERROR","object":%b}\n' % orjson.dumps(failure.status())


class Joined:
    """What watchers of the same place have gathered: its lines, joined once for all of them that ask in a row."""

    def __init__(self) -> None:
        self._served: Served | None = None
        self._view = JSON
        self._events: list[StoreEvent] = []
        self._data = b""
        """The lines of the events for all who watch them in the same version and form."""

    def gathered(self, watch: Watch) -> bytes:
        """What `lines` would yield next, if that is there and shared with other watchers; it then counts as read."""
        call, watcher = watch.call, watch.watcher
        if call.served is self._served and call.view == self._view and watcher.take(self._events):
            return self._data
        events = watcher.gathered()
        if not events or not _stored_as_served(call, events):
            return b""
        data = _shared(call, events)
        watcher.take(events)
        self._served, self._view, self._events, self._data = call.served, call.view, events, data
        return data


def _stored_as_served(call: Call, events: list[StoreEvent]) -> bool:
    """Whether the watcher wants the events as they are stored."""
    served = call.served
    if call.view.form is not Form.OBJECT or not served.is_storage_version:
        return False
    return not served.since or all(event.item.revision >= served.since for event in events)


def _shared(call: Call, events: list[StoreEvent]) -> bytes:
    if len(events) == 1 and events[0].item.name:
        # The usual case: the line is shared by all watchers, not copied for each.
        return events[0].line
    return b"".join([event.line if event.item.name else _bookmark_line(call, event) for event in events])


def _pieces(call: Call, events: list[StoreEvent], sizes: list[int]) -> Iterator[bytes]:
    """The lines joined to pieces; a large object's line is never made, as it would be a copy."""
    ends = list(accumulate(sizes))
    start = done = 0
    while start < len(events):
        stop = min(bisect_left(ends, done + PIECE, start), len(events) - 1)
        event = events[stop]
        if sizes[stop] > PIECE:
            yield _shared(call, events[start:stop]) + b'{"type":"%b","object":' % event.type.encode()
            yield from cut(event.item.body)
            yield b"}\n"
        else:
            yield _shared(call, events[start : stop + 1])
        start, done = stop + 1, ends[stop]


def bookmark_object(call: Call, event: StoreEvent) -> JSONObject:
    """The object of a bookmark: its kind and the revision, and what an object of its type shows in any case."""
    metadata: JSONObject = {"resourceVersion": str(event.item.revision)}
    if event.initial_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    if call.view.form is Form.METADATA or call.view.form is Form.METADATA_LIST:
        return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    head = {"kind": call.served.kind, "apiVersion": call.served.api_version, "metadata": metadata}
    zero = {**zero_object(call.served.type.schema), **head}
    if (call.served.type.group, call.served.kind) in _COUNTING:
        zero["spec"] = {**zero["spec"], "replicas": 0}
    return zero


_COUNTING = (("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"))
"""Kinds whose replicas are a number and no pointer where the reference keeps them."""


def _bookmark_line(call: Call, event: StoreEvent) -> bytes:
    return b'{"type":"BOOKMARK","object":%b}\n' % orjson.dumps(bookmark_object(call, event))


async def _converted(context: Context, call: Call, events: list[StoreEvent], first: bool) -> AsyncIterator[bytes]:
    """The lines of events in another version or form, with turns for others in between."""
    parts: list[bytes] = []
    size = worked = 0
    for event in events:
        parts.append(await _converted_line(context, call, event, first))
        first = False
        size += len(parts[-1])
        worked += event.item.size
        if size >= PIECE:
            yield b"".join(parts)
            parts, size = [], 0
        elif worked >= offload.LARGE:
            await asyncio.sleep(0)
            worked = 0
    yield b"".join(parts)


async def _converted_line(context: Context, call: Call, event: StoreEvent, first: bool) -> bytes:
    if call.view.form is Form.METADATA_LIST:
        return b""
    item = event.item
    if event.type is EventType.BOOKMARK:
        return _line(call, event, bookmark_object(call, event), first)
    key: Hashable = (item, event.type, call.served, call.view)
    if call.view.form is Form.TABLE:
        key = (key, first, call.params.get("includeObject", ""), int(call.now()))
    return await context.conversions.line(key, item.size, lambda: _convert(call, event, first))


async def _convert(call: Call, event: StoreEvent, first: bool) -> bytes:
    if call.view.form is Form.METADATA and reading.is_plain(call.served, event.item.revision):
        return _metadata_line(call, event)
    [obj] = await reading.objects(call.served, [event.item])
    return await offload.run(event.item.size, _line, call, event, obj, first)


def _metadata_line(call: Call, event: StoreEvent) -> bytes:
    """The stored metadata as it is: nothing else of the object is read."""
    metadata = reading.raw_metadata(event.item.body)
    head = b'{"type":"%b","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%b","metadata":'
    return b"%b%b}}\n" % (head % (event.type.encode(), call.view.version.encode()), metadata)


def _line(call: Call, event: StoreEvent, obj: JSONObject, first: bool) -> bytes:
    if call.view.form is Form.METADATA and event.type is not EventType.BOOKMARK:
        obj = reading.partial(call, obj)
    elif call.view.form is Form.TABLE:
        body = orjson.loads(reading.table(call, [obj], obj["metadata"]["resourceVersion"]))
        if event.type is EventType.BOOKMARK:
            body["rows"] = body["rows"] if event.initial_end else []
        if not first:
            body["columnDefinitions"] = None
        obj = body
    return b'{"type":"%b","object":%b}\n' % (event.type.encode(), orjson.dumps(obj))
