"""One collection of one member as a watch cache: listed and watched there, served from memory here.

Objects are kept as bytes, annotated with their cluster when they arrive, their resourceVersion at a fixed place so
that it can be replaced without decoding. Revisions are the member's own: a watch resumes in the cache where it would
have resumed in the member, and what the cache no longer knows is expired.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any

import orjson

from karmada.api.annotations import CACHED_FROM_CLUSTER
from karmada.apiserver.served_resource import Served
from karmada.apiserver.storage.base import (
    EMPTY,
    Change,
    Compacted,
    Listener,
    Outcome,
    Record,
    Snapshot,
    StorageFailed,
    Value,
    Write,
)
from karmada.apiserver.storage.delta import whole
from karmada.apiserver.watchcache import Bounds, Item, Kind, WatchCache
from karmada.apiserver.watchcache.keys import key_of
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.codec import BYTES, Identity, identity
from karmada.machinery.errors import BadAnswer
from karmada.machinery.informers import cache as informers
from karmada.machinery.informers.reflector import Reflector
from karmada.machinery.limits import ITEM_OVERHEAD
from karmada.machinery.resource import EVERYTHING, Resource, Scope
from karmada.machinery.transport import EventType, GroupVersionResource, Held, JSONObject, WatchEvent
from karmada.search.late_index import LateIndex
from karmada.search.plan import Part

HISTORY = Bounds(events=4096)
"""What of the past a mirror keeps for watches and pages that began there."""
Resume = Callable[["Mirror"], Awaitable[Snapshot | None]]
"""What an earlier process kept of a mirror's collection."""
_LARGEST = 2**63 - 1
"""What the file takes, and etcd can have."""
_READ_ONLY = "a mirror of a member is not written to"


class Mirror:
    """The collection `type_` of a cluster, or the part of it that is wanted."""

    def __init__(
        self,
        cluster: str,
        served: Served,
        client: Client,
        part: Part,
        room: informers.Room,
        clock: Clock,
        on_load: Callable[["Mirror"], None],
        resume: "Resume | None" = None,
    ) -> None:
        """`on_load` is called when everything that was there has been read, for the first time only; `resume` knows
        what was there when an earlier process ended."""
        self.cluster = cluster
        self.served = served
        self.part = part
        self.loaded = asyncio.Event()
        """Set once everything that was there has been read."""
        self.left = False
        """Whether the member, or the kind, is not followed any more."""
        self._storage = _Followed()
        self.store = WatchCache(self._storage, self._index, HISTORY)
        type_ = served.type
        gvr = self.type = GroupVersionResource(type_.group, type_.version, type_.plural)
        (single,) = part.namespaces if len(part.namespaces) == 1 else ("",)
        scope = Scope(namespace=single) if single else EVERYTHING
        feed = _Feed(cluster, served, self._storage, part, room)
        resource = Resource(client.transport, gvr, BYTES, timeout=60.0)
        self.reflector = Reflector(resource, scope, feed, lambda changes: None, self._first_load, clock, clock.random())
        self._feed = feed
        self._on_load = on_load
        self._resume = resume

    def _first_load(self) -> None:
        if not self.loaded.is_set():
            self.loaded.set()
            self._on_load(self)

    @property
    def key(self) -> Kind:
        """Under what its objects are in the store."""
        return self.served.key

    async def run(self) -> None:
        """Follow the member until cancelled; watches of the mirror end with it, all read."""
        await self._begin()
        try:
            await self.reflector.run()
        finally:
            self._feed.close()
            self.leave()
            await self.store.stop()

    async def _begin(self) -> None:
        """Begin with what an earlier process kept: it is served as soon as the member goes on from there."""
        kept = await self._resume(self) if self._resume is not None else None
        if kept is not None and self._feed.resume(kept):
            self._storage.kept = kept
        await self.store.start()
        self._storage.kept = EMPTY

    def leave(self) -> None:
        """Nothing comes any more: watches end once they have read what happened."""
        self.left = True
        self.store.finish()

    def trouble(self) -> str:
        """Why the collection cannot be followed right now; empty when it is."""
        failure = self.reflector.failure
        return f"{type(failure).__name__}: {failure}" if failure is not None else ""

    def get(self, namespace: str, name: str) -> Item | None:
        """One object."""
        return self.store.get(self.key, namespace, name)

    def _index(self, kind: Kind, body: bytes) -> LateIndex:
        return LateIndex(self.served, body)


def annotated(served: Served, cluster: str, body: bytes, trimmed: Iterable[list[str]] = ()) -> bytes:
    """An object as it is kept: with the name of its cluster, without the fields at the `trimmed` paths, its
    resourceVersion where it can be replaced."""
    obj: JSONObject = orjson.loads(body)
    for path in trimmed:
        _trim(obj, path)
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise ValueError("the object has no metadata")
    version = metadata.get("resourceVersion") or "0"
    annotations = metadata.get("annotations")
    metadata["annotations"] = {**(annotations if isinstance(annotations, dict) else {}), CACHED_FROM_CLUSTER: cluster}
    return served.encode(obj).at(informers.number(version))


def _trim(part: Any, path: list[str]) -> None:
    """Take a field out of a tree, and out of every element of the lists on the way."""
    if isinstance(part, list):
        for each in part:
            _trim(each, path)
    elif isinstance(part, dict):
        if len(path) == 1:
            part.pop(path[0], None)
        else:
            _trim(part.get(path[0]), path[1:])


class _Feed(informers.Cache[bytes]):
    """Where a reflector delivers: what it loads and hears goes to the watch cache, nothing is kept twice."""

    def __init__(self, cluster: str, served: Served, storage: "_Followed", part: Part, room: informers.Room) -> None:
        trimmed = [path.split(".") for path in part.trimmed]
        super().__init__(BYTES, lambda body: annotated(served, cluster, body, trimmed), room)
        self._key = served.key
        self._storage = storage
        self._within = part.namespaces
        self._sizes: dict[str, int] = {}

    def read(self, body: bytes, which: Identity | None = None, held: Held | None = None) -> informers.Item[bytes]:
        """The item of an encoded object; a version that is no number cannot be compared and is refused."""
        which = which or identity(body)
        if not _number(which.resource_version):
            raise BadAnswer("the server's resource versions are no numbers")
        if "/" in which.name or "/" in which.namespace:
            raise BadAnswer("the server sent an object with a slash in its name")
        return super().read(body, which, held)

    def replace(
        self, items: Iterable[informers.Item[bytes]], resource_version: str, *, initial: bool = False
    ) -> Iterator[list[informers.Change[bytes]]]:
        """Take over a complete load; watches that were open have to begin anew."""
        kept = {self._name(item): item for item in items if self._concerns(item.key.namespace)}
        revision = _number(resource_version)
        self.check_load(sum(item.cost for item in kept.values()))
        self._hold(-self._size)
        self._sizes = {name: item.cost for name, item in kept.items()}
        self._hold(sum(self._sizes.values()))
        records = [Record(name, item.body, informers.number(item.resource_version)) for name, item in kept.items()]
        self._storage.listener.replaced(Snapshot(records, revision))
        self.reached(resource_version)
        yield []

    def resume(self, kept: Snapshot) -> bool:
        """Go on from what was kept; False when there is no room for it."""
        sizes = {record.key: len(whole(record.value)) + ITEM_OVERHEAD for record in kept.records}
        try:
            self.check_load(sum(sizes.values()))
        except BadAnswer:
            return False
        self._sizes = sizes
        self._hold(sum(sizes.values()))
        self.reached(str(kept.revision))
        return True

    def apply(self, events: list[WatchEvent]) -> tuple[list[informers.Change[bytes]], BadAnswer | None]:
        """Take over watch events in order, up to the first that cannot be read or does not fit."""
        changes: list[Change] = []
        fault: BadAnswer | None = None
        for kind, body, which, _ in events:
            try:
                change = self._changed(kind, body, which)
            except BadAnswer as error:
                fault = error
                break
            if change is not None:
                changes.append(change)
        if events and self.revision:
            self._storage.listener.committed(changes, self.revision)
        return [], fault

    def _changed(self, kind: EventType, body: bytes, which: Identity | None) -> Change | None:
        if kind is EventType.BOOKMARK:
            version = identity(body).resource_version
            _number(version)
            self.reached(version)
            return None
        item = self.read(body, which)
        revision = informers.number(item.resource_version)
        if revision <= self.revision:
            return None
        name = self._name(item)
        concerns, known = self._concerns(item.key.namespace), self._sizes.get(name, 0)
        if kind is EventType.DELETED or not concerns:
            self._hold(-self._sizes.pop(name, 0))
        else:
            self._room.check(item.cost - known)
            self._hold(item.cost - known)
            self._sizes[name] = item.cost
        self.reached(item.resource_version)
        if not concerns or (kind is EventType.DELETED and not known):
            return None
        return Change(name, revision, None if kind is EventType.DELETED else item.body, item.body)

    def _name(self, item: informers.Item[bytes]) -> str:
        return key_of(self._key, item.key.namespace, item.key.name)

    def _concerns(self, namespace: str) -> bool:
        return not self._within or namespace in self._within


def _number(resource_version: str) -> int:
    """A revision as a number, 0 when it is none; raises `BadAnswer` for one that no server counts to."""
    number = informers.number(resource_version)
    if number > _LARGEST:
        raise BadAnswer("the server's resource versions are too large")
    return number


class _Followed:
    """A `Storage` that nobody here writes to: what it has comes from a member."""

    listener: Listener

    def __init__(self) -> None:
        self.kept = EMPTY
        """What there is before the member was read."""

    async def open(self, listener: Listener) -> Snapshot:
        """What was kept, until the member was read."""
        self.listener = listener
        return self.kept

    async def put(self, key: str, value: Value, expected: int, context: object = None) -> Record:
        """Refused."""
        raise StorageFailed(_READ_ONLY)

    async def delete(self, key: str, last: Value, expected: int, context: object = None) -> int:
        """Refused."""
        raise StorageFailed(_READ_ONLY)

    async def write_all(self, writes: Sequence[Write]) -> list[Outcome]:
        """Refused."""
        return [StorageFailed(_READ_ONLY)] * len(writes)

    async def history(self, prefix: str, after: int, until: int) -> list[Change]:
        """What the watch cache does not know any more, nobody knows."""
        raise Compacted(until)

    async def sync(self) -> None:
        """The member is not asked."""

    async def check(self) -> None:
        """Nothing can fail."""

    async def compact(self, revision: int) -> None:
        """Nothing is kept."""

    async def close(self) -> None:
        """Nothing is open."""
