"""The `direct` transport: the pipeline without HTTP, for components in the server's own process.

It enters with a given identity, after the same authorisation as HTTP requests, and turns refusals into the typed
errors every transport raises. Bytes it hands out are the store's own.
"""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator

import orjson

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.event_batches import EventBatches
from karmada.apiserver.refusals import REFUSALS, typed
from karmada.apiserver.requests import reading
from karmada.apiserver.requests.dispatcher import Dispatcher
from karmada.apiserver.requests.model import Answer, Call, Upgraded
from karmada.apiserver.requests.routing import not_served
from karmada.apiserver.requests.watch import Watch, batches, bookmark_object
from karmada.apiserver.watchcache import StoreEvent
from karmada.machinery import errors
from karmada.machinery.client import Client
from karmada.machinery.codec import Identity
from karmada.machinery.event_sink import EventSink, RequestSink
from karmada.machinery.transport import EventType, Request, WatchEvent, WatchStream


class DirectTransport:
    """Implements `machinery.transport.Transport` on the server's own pipeline."""

    def __init__(self, dispatcher: Dispatcher, user: UserInfo, agent: str = "karmada") -> None:
        self._dispatcher = dispatcher
        self._user = user
        self._agent = agent
        self._closed = False

    async def send(self, request: Request) -> bytes:
        """Answer every verb but watch."""
        self._check_open()
        try:
            call = self._dispatcher.call_for(request, self._user, self._agent)
            answer = await self._dispatcher.pipeline.run(call)
        except REFUSALS as refusal:
            raise typed(refusal) from None
        if isinstance(answer, Answer):
            return answer.body
        if isinstance(answer, Upgraded):
            raise errors.BadRequest("this subresource needs a connection of its own; use HTTP")
        return b"".join([chunk async for chunk in answer.chunks])

    @contextlib.asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        """Open a watch; leaving the context closes it."""
        self._check_open()
        with _typed_errors():
            call = self._dispatcher.call_for(request, self._user, self._agent)
            opened = await self._dispatcher.pipeline.watch(call)
        stream = self._events(opened)
        try:
            yield stream
        finally:
            opened.watcher.close()
            await stream.aclose()

    async def _events(self, opened: Watch) -> AsyncGenerator[list[WatchEvent], None]:
        call = opened.call
        plain, since = call.served.is_storage_version, call.served.since
        with _typed_errors():
            async for events in batches(self._dispatcher.pipeline.context, opened):
                if plain and (not since or all(event.item.revision >= since for event in events)):
                    yield [_plain(call, event) for event in events]
                else:
                    yield [await _converted(call, event) for event in events]

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Request a path that is no resource."""
        self._check_open()
        with _typed_errors():
            answer = await self._dispatcher.page(method, path, {}, accept, self._user)
            if answer is None:
                raise not_served()
        return answer.body

    def events(self) -> EventSink:
        """Where events are written in batches, as the same user."""
        return EventBatches(self._dispatcher, self._user, RequestSink(Client(self)))

    async def close(self) -> None:
        """Later calls raise."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise errors.Unavailable("the transport is closed")


def _plain(call: Call, event: StoreEvent) -> WatchEvent:
    """An event about an object that is stored as it is served: its name need not be looked for in it."""
    item = event.item
    body = item.body
    if not body:
        return WatchEvent(event.type, _bookmark(call, event))
    which = Identity(item.name, item.namespace, item.index.uid, str(item.revision))
    return WatchEvent(event.type, body, which, item)


def _bookmark(call: Call, event: StoreEvent) -> bytes:
    return orjson.dumps(bookmark_object(call, event))


async def _converted(call: Call, event: StoreEvent) -> WatchEvent:
    if event.type is EventType.BOOKMARK:
        return WatchEvent(event.type, _bookmark(call, event))
    return WatchEvent(event.type, orjson.dumps(await reading.decoded(call.served, event.item.body)))


@contextlib.contextmanager
def _typed_errors() -> Iterator[None]:
    try:
        yield
    except REFUSALS as refusal:
        raise typed(refusal) from None
