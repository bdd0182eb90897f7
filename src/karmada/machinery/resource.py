"""Reads and writes of one collection, in the Python form its codec gives the objects.

Methods are thin: one request each, apart from `list`, which follows pages. Writes that depend on what was read belong
to `machinery.committer`, which adds the guard against lost updates.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from karmada.machinery import limits
from karmada.machinery.codec import TREE, Codec, Identity, reading
from karmada.machinery.errors import AnswerTooLarge, BadAnswer, BadRequest, Gone, NotFound
from karmada.machinery.transport import (
    EventType,
    GroupVersionResource,
    JSONObject,
    PatchType,
    Request,
    Transport,
    Verb,
    WatchStream,
)

T = TypeVar("T")
PAGE_SIZE = 500


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of a collection: one namespace (all when empty), and selectors as the wire spells them."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def params(self) -> dict[str, str]:
        """The query parameters of the selectors."""
        chosen = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {name: value for name, value in chosen.items() if value}


EVERYTHING = Scope()


class Propagation(StrEnum):
    """What a deletion does to the objects owned by the deleted one."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class Listing(NamedTuple, Generic[T]):
    """Objects and the revision at which they were read."""

    items: list[T]
    resource_version: str
    next: str = ""
    """Where the next page starts; empty after the last."""


class ObjectEvent(NamedTuple, Generic[T]):
    """One event of a watch."""

    type: EventType
    object: T


EventBatches = AsyncIterator[list[ObjectEvent[T]]]
Body = bytes | JSONObject | list[Any]


class _ListMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: _ListMeta = _ListMeta()
    items: list[msgspec.Raw] | None = None


_list = msgspec.json.Decoder(_List)


def split_list(body: bytes) -> Listing[bytes]:
    """The encoded objects of an encoded list. Servers may leave out the type of the items: it is put back."""
    answer = reading(_list.decode, body)
    items = [bytes(item) for item in answer.items or ()]
    if items and answer.kind.endswith("List") and b'"kind":' not in items[0][:200] and _is_untyped(items[0]):
        head = b'{"apiVersion":"%s","kind":"%s",' % (answer.api_version.encode(), answer.kind[:-4].encode())
        items = [head + item.lstrip()[1:] for item in items]
    return Listing(items, answer.metadata.resource_version, answer.metadata.continue_)


def check_progress(pages: int, items: int) -> None:
    """Refuse a list that never ends because its pages hold next to nothing."""
    if pages > limits.PAGES and items < 2 * pages:
        raise BadAnswer(f"the server's list has {pages} pages with {items} objects")


class _ScaleSpec(msgspec.Struct, frozen=True, gc=False):
    replicas: int | None = None


class _Scale(msgspec.Struct, frozen=True, gc=False):
    spec: _ScaleSpec = _ScaleSpec()


_scale = msgspec.json.Decoder(_Scale)


class _Kind(msgspec.Struct, frozen=True, gc=False):
    kind: str = ""


def _is_untyped(body: bytes) -> bool:
    return not msgspec.json.decode(body, type=_Kind).kind


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """One collection on one API server, as one identity."""

    transport: Transport
    type: GroupVersionResource
    codec: Codec[T]
    field_manager: str = ""
    timeout: float = 30.0
    field_validation: str = ""
    """What a server does about fields it does not know: Strict, Warn, Ignore, or (empty) what it does by default."""

    def within(self, seconds: float) -> "Resource[T]":
        """The same collection with another deadline per request."""
        return replace(self, timeout=seconds)

    async def get(self, name: str, namespace: str = "", subresource: str = "") -> T:
        """Read one object."""
        return await self._send(Verb.GET, namespace, name, subresource)

    async def is_gone(self, name: str, namespace: str = "") -> bool:
        """Whether the server has no such object, of which absence from a cache is no proof."""
        try:
            await self.get(name, namespace)
        except NotFound:
            return True
        return False

    async def page(self, scope: Scope = EVERYTHING, *, limit: int = PAGE_SIZE, start: str = "") -> Listing[T]:
        """Read one page; pass `next` of the page before as `start`. Raises Gone when that page is too old. A page that
        is too large is asked for again with fewer objects."""
        while True:
            params = scope.params() | ({"limit": str(limit)} if limit else {}) | ({"continue": start} if start else {})
            try:
                listing = split_list(await self._request(Verb.LIST, scope.namespace, params=params))
            except AnswerTooLarge:
                if limit <= 1:
                    raise
                limit = max(1, limit // 10)
                continue
            return Listing([reading(self.codec.decode, item) for item in listing.items], *listing[1:])

    async def list(self, scope: Scope = EVERYTHING, *, page_size: int = PAGE_SIZE) -> Listing[T]:
        """Read all objects, page by page; in one piece if the server forgets the revision on the way."""
        items: list[T] = []
        start = ""
        for pages in count():
            check_progress(pages, len(items))
            try:
                page = await self.page(scope, limit=page_size, start=start)
            except Gone:
                if not start:
                    raise
                return await self.page(scope, limit=0)
            items += page.items
            if not page.next:
                return Listing(items, page.resource_version)
            start = page.next
        raise AssertionError("counting does not end")

    @asynccontextmanager
    async def watch(
        self, scope: Scope = EVERYTHING, resource_version: str = "", **params: str
    ) -> AsyncIterator[EventBatches[T]]:
        """Follow changes after a revision; the stream yields batches. Informers add resuming and a cache."""
        async with self.open_watch(scope, {"resourceVersion": resource_version} | params) as stream:
            yield self._changes(stream)

    def open_watch(self, scope: Scope, params: dict[str, str]) -> AbstractAsyncContextManager[WatchStream]:
        """The transport's own stream of encoded events."""
        query = {name: value for name, value in params.items() if value}
        return self.transport.watch(
            Request(Verb.WATCH, self.type, scope.namespace, params=scope.params() | query, timeout=self.timeout)
        )

    async def _changes(self, stream: WatchStream) -> EventBatches[T]:
        async for batch in stream:
            yield [ObjectEvent(event.type, reading(self.codec.decode, event.object)) for event in batch]

    async def create(self, value: T, namespace: str = "", *, dry_run: bool = False) -> T:
        """Create an object in its own namespace, or in the one given."""
        target = namespace or self.codec.identity(value).namespace
        return await self._send(Verb.CREATE, target, body=self.codec.encode(value), params=_dry(dry_run))

    async def update(self, value: T, subresource: str = "", *, dry_run: bool = False) -> T:
        """Replace an object; its resourceVersion guards against overwriting a newer state."""
        whose = self.codec.identity(value)
        body = self.codec.encode(value)
        return await self._send(Verb.UPDATE, whose.namespace, whose.name, subresource, body, params=_dry(dry_run))

    async def update_status(self, value: T) -> T:
        """Replace the status of an object."""
        return await self.update(value, "status")

    async def patch(
        self,
        name: str,
        patch: Body,
        namespace: str = "",
        *,
        kind: PatchType = PatchType.MERGE,
        subresource: str = "",
        dry_run: bool = False,
    ) -> T:
        """Change parts of an object."""
        params = _dry(dry_run)
        return await self._send(Verb.PATCH, namespace, name, subresource, patch, params=params, patch_type=kind)

    async def apply(
        self, value: T, *, field_manager: str, force: bool = False, subresource: str = "", dry_run: bool = False
    ) -> T:
        """Server-side apply: state the fields this manager owns."""
        whose = self.codec.identity(value)
        params = _dry(dry_run) | {"fieldManager": field_manager} | ({"force": "true"} if force else {})
        body = self.codec.encode(value)
        return await self._send(
            Verb.PATCH, whose.namespace, whose.name, subresource, body, params=params, patch_type=PatchType.APPLY
        )

    async def delete(
        self,
        name: str,
        namespace: str = "",
        *,
        only_if: Identity | None = None,
        propagation: Propagation | None = None,
        grace_seconds: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Ask for the deletion of an object; with `only_if`, of exactly that incarnation (and state)."""
        options: JSONObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if only_if is not None:
            wanted = {"uid": only_if.uid, "resourceVersion": only_if.resource_version}
            options["preconditions"] = {field: value for field, value in wanted.items() if value}
        if propagation is not None:
            options["propagationPolicy"] = propagation.value
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        if dry_run:
            # Servers look at the query of a deletion only when it has no body.
            options["dryRun"] = ["All"]
        await self._request(Verb.DELETE, namespace, name, body=options, params=_dry(dry_run))

    async def delete_collection(self, scope: Scope) -> None:
        """Ask for the deletion of all objects of a scope."""
        await self._request(Verb.DELETE_COLLECTION, scope.namespace, params=scope.params())

    async def scale(self, name: str, namespace: str = "") -> int:
        """The replicas asked for, by the scale subresource."""
        answer = reading(_scale.decode, await self._request(Verb.GET, namespace, name, "scale"))
        return answer.spec.replicas or 0

    async def set_scale(self, name: str, replicas: int, namespace: str = "") -> None:
        """Change the replicas asked for, by the scale subresource."""
        patch = {"spec": {"replicas": replicas}}
        await self._request(Verb.PATCH, namespace, name, "scale", patch, patch_type=PatchType.MERGE)

    async def submit(self, name: str, subresource: str, body: JSONObject, namespace: str = "") -> JSONObject:
        """Create a subresource of an object: an eviction, a binding, a token request."""
        return reading(TREE.decode, await self._request(Verb.CREATE, namespace, name, subresource, body))

    async def _send(
        self,
        verb: Verb,
        namespace: str,
        name: str = "",
        subresource: str = "",
        body: Body | None = None,
        *,
        params: dict[str, str] | None = None,
        patch_type: PatchType | None = None,
    ) -> T:
        answer = await self._request(verb, namespace, name, subresource, body, params=params, patch_type=patch_type)
        return reading(self.codec.decode, answer)

    async def _request(
        self,
        verb: Verb,
        namespace: str,
        name: str = "",
        subresource: str = "",
        body: Body | None = None,
        *,
        params: dict[str, str] | None = None,
        patch_type: PatchType | None = None,
    ) -> bytes:
        if not name and verb in _OF_ONE:
            raise BadRequest("resource name may not be empty")
        query = dict(params or {})
        if self.field_manager and verb in _WRITES:
            query.setdefault("fieldManager", self.field_manager)
        if self.field_validation and verb in _WRITES:
            query["fieldValidation"] = self.field_validation
        request = Request(
            verb,
            self.type,
            namespace,
            name,
            subresource,
            query,
            body,
            patch_type,
            timeout=self.timeout,
        )
        return await self.transport.send(request)


_WRITES = frozenset({Verb.CREATE, Verb.UPDATE, Verb.PATCH})
_OF_ONE = frozenset({Verb.GET, Verb.UPDATE, Verb.PATCH, Verb.DELETE})
"""Without a name their path is the collection's: a deletion would be one of everything."""


def _dry(dry_run: bool) -> dict[str, str]:
    return {"dryRun": "All"} if dry_run else {}
