"""The garbage collector: dependents go when their last owner is gone, on the store's index of owners.

Nothing is polled: the deletion of an owner, a dependent that names an absent owner, and an object marked with one of
the two propagation finalizers are events. Owners are judged by uid from memory, so an answer is never stale. Those that
another server keeps, behind an APIService, cannot be judged: what they own stays. Events own nothing and are owned by
nobody, whatever they say: they end by their age.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import orjson

from karmada.apiserver.controllers.pauses import Pauses
from karmada.apiserver.controllers.worker import Worker
from karmada.apiserver.controllers.writing import Writer
from karmada.apiserver.requests.model import Context
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Item, Kind, StoreEvent
from karmada.machinery.transport import EventType

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_FOREGROUND_MARK = b'"foregroundDeletion"'
_ORPHAN_MARK = b'"orphan"'
_EVENTS: Kind = ("", "events")
_BLOCKS_MARK = b'"blockOwnerDeletion":true'
_WIDTH = 32
"""Objects worked on at the same time: durable stores commit them together."""


class Key(NamedTuple):
    """An object at its place; `uid` distinguishes it from a later one of the same name."""

    kind: Kind
    namespace: str
    name: str
    uid: str


class GarbageCollector:
    """Deletes, orphans and waits for dependents."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._store = context.store
        self._writer = Writer(context, "generic-garbage-collector")
        self._worker: Worker[Key] = Worker("garbage-collector", self._process, width=_WIDTH)
        self._blockers: dict[str, Key] = {}
        """By the uids of owners that wait for dependents: one that blocks them. As long as it does, nobody looks at the
        others, which may be tens of thousands, whenever one of them changes."""

    def start(self) -> None:
        """Look at everything once, then follow events."""
        self._store.subscribe(self._changed)
        for served in self._context.catalog.storage_resources():
            for item in self._store.list(served.key).items if served.key != _EVENTS else ():
                self._consider(served.key, item)
        self._worker.start()

    async def stop(self) -> None:
        """Stop working."""
        await self._worker.stop()

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if kind == _EVENTS:
            return
        item = event.item
        if event.type is not EventType.DELETED:
            self._consider(kind, item)
            for owner in event.previous.index.owners if event.previous is not None else ():
                self._revisit(owner)  # which may not be blocked any more
            return
        self._blockers.pop(item.index.uid, None)
        for dependent_kind, dependent in self._dependents(item.index.uid):
            self._add(dependent_kind, dependent)
        for owner in item.index.owners:
            self._revisit(owner)

    def _consider(self, kind: Kind, item: Item) -> None:
        body = item.body
        if ((_FOREGROUND_MARK in body or _ORPHAN_MARK in body) and item.ends) or (
            item.index.owners and any(self._store.by_uid(owner) is None for owner in item.index.owners)
        ):
            self._add(kind, item)

    def _dependents(self, uid: str) -> list[tuple[Kind, Item]]:
        return [(kind, item) for kind, item in self._store.owned_by(uid) if kind != _EVENTS]

    def _revisit(self, uid: str) -> None:
        found = self._store.by_uid(uid)
        if found is not None and _FOREGROUND_MARK in found[1].body:
            self._add(*found)

    def _add(self, kind: Kind, item: Item) -> None:
        self._worker.add(Key(kind, item.namespace, item.name, item.index.uid))

    async def _process(self, key: Key) -> None:
        item = self._store.get(key.kind, key.namespace, key.name)
        if item is None or item.index.uid != key.uid:
            return
        metadata = _metadata(item)
        finalizers = metadata.finalizers or ()
        if metadata.deletion_timestamp is not None:
            if ORPHAN in finalizers:
                await self._orphan(key)
            elif FOREGROUND in finalizers:
                await self._delete_dependents(key)
            return
        if item.index.owners:
            await self._judge(key, metadata)

    async def _orphan(self, key: Key) -> None:
        """Cut the dependents loose, then let the owner go."""
        for kind, dependent in self._dependents(key.uid):
            await self._drop_owners(Key(kind, dependent.namespace, dependent.name, dependent.index.uid), {key.uid})
        await self._drop_finalizer(key, ORPHAN)

    async def _delete_dependents(self, key: Key) -> None:
        """Delete the dependents; the owner goes when none is left that blocks it."""
        known = self._blockers.pop(key.uid, None)
        if known is not None:
            item = self._store.get(known.kind, known.namespace, known.name)
            if item is not None and item.index.uid == known.uid and _blocks(item, key.uid):
                self._blockers[key.uid] = known
                return
        dependents = self._dependents(key.uid)
        # They are deleted in their order: the last one blocks longest.
        found = await _first_that_blocks(reversed(dependents), key.uid)
        if found is None:
            await self._drop_finalizer(key, FOREGROUND)
            return
        kind, last = found
        self._blockers[key.uid] = Key(kind, last.namespace, last.name, last.index.uid)
        for kind, dependent in dependents:
            if not dependent.ends:
                self._add(kind, dependent)

    async def _judge(self, key: Key, metadata: "_Metadata") -> None:
        """Delete a dependent without owners; forget owners that are gone while others stay."""
        solid: list[str] = []
        waiting: list[str] = []
        gone: list[str] = []
        for reference in metadata.owner_references or ():
            found = self._store.by_uid(reference.uid)
            if found is None and self._is_elsewhere(reference):
                solid.append(reference.uid)
            elif found is None or not _is_at(found, reference, key.namespace):
                gone.append(reference.uid)
            elif _waits(found[1]):
                waiting.append(reference.uid)
            else:
                solid.append(reference.uid)
        if solid:
            if gone or waiting:
                await self._drop_owners(key, {*gone, *waiting})
            return
        finalizers = metadata.finalizers or ()
        dependents = self._dependents(key.uid) if waiting else []
        if any(_waits(dependent) for _, dependent in dependents):
            # Perhaps they wait for each other in a circle: this one shall not be waited for.
            await self._unblock(key)
        if dependents:
            policy = "Foreground"
        elif ORPHAN in finalizers:
            policy = "Orphan"
        elif FOREGROUND in finalizers:
            policy = "Foreground"
        else:
            policy = "Background"
        await self._writer.delete(key.kind, key.namespace, key.name, key.uid, policy)

    def _is_elsewhere(self, reference: "_Reference") -> bool:
        """Whether another server is asked for objects of this group."""
        group, _, version = reference.api_version.rpartition("/")
        service = self._store.get(("apiregistration.k8s.io", "apiservices"), "", f"{version}.{group}")
        return service is not None and bool(orjson.loads(service.body)["spec"].get("service"))

    async def _drop_owners(self, key: Key, uids: set[str]) -> None:
        def edit(obj: JSONObject) -> None:
            metadata = obj["metadata"]
            owners = metadata.get("ownerReferences") or []
            metadata["ownerReferences"] = [owner for owner in owners if owner["uid"] not in uids]

        await self._writer.change(key.kind, key.namespace, key.name, edit)

    async def _unblock(self, key: Key) -> None:
        def edit(obj: JSONObject) -> None:
            for owner in obj["metadata"].get("ownerReferences") or ():
                if owner.get("blockOwnerDeletion"):
                    owner["blockOwnerDeletion"] = False

        await self._writer.change(key.kind, key.namespace, key.name, edit)

    async def _drop_finalizer(self, key: Key, finalizer: str) -> None:
        def edit(obj: JSONObject) -> None:
            metadata = obj["metadata"]
            finalizers = metadata.get("finalizers") or []
            metadata["finalizers"] = [other for other in finalizers if other != finalizer]

        await self._writer.change(key.kind, key.namespace, key.name, edit)


def _waits(item: Item) -> bool:
    """Whether an object goes as soon as its dependents are gone."""
    return _FOREGROUND_MARK in item.body and item.ends


async def _first_that_blocks(dependents: Iterable[tuple[Kind, Item]], owner: str) -> tuple[Kind, Item] | None:
    pauses = Pauses()
    for kind, item in dependents:
        if _blocks(item, owner):
            return kind, item
        await pauses.after(item)
    return None


class _Reference(msgspec.Struct, rename="camel"):
    uid: str
    api_version: str = ""
    name: str = ""
    block_owner_deletion: bool | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    """What matters of an object: of one that is large, the rest is never read."""

    deletion_timestamp: str | None = None
    finalizers: list[str] | None = None
    owner_references: list[_Reference] | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata


_OBJECT = msgspec.json.Decoder(_Object)


def _metadata(item: Item) -> _Metadata:
    return _OBJECT.decode(item.body).metadata


def _blocks(item: Item, owner: str) -> bool:
    if _BLOCKS_MARK not in item.body:
        return False
    references = _metadata(item).owner_references or ()
    return any(reference.uid == owner and reference.block_owner_deletion for reference in references)


def _is_at(found: tuple[Kind, Item], reference: _Reference, namespace: str) -> bool:
    """Whether an owner is where the reference says: same group and name, in the dependent's namespace if in any."""
    kind, item = found
    group = reference.api_version.rpartition("/")[0]
    return kind[0] == group and item.name == reference.name and item.namespace in ("", namespace)
