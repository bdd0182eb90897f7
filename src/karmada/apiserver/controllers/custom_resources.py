"""Custom resources come and go with their definitions.

A definition is registered in the catalog in the same step in which its write becomes visible, so the very next
request is served. Its status (names accepted, established) is written right after. Deleting a definition deletes its
objects first; until they are gone it stays, marked as terminating.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import msgspec
import orjson

from karmada.apiserver.catalog import Catalog, Key
from karmada.apiserver.controllers.worker import Worker
from karmada.apiserver.controllers.writing import Writer
from karmada.apiserver.crds import Names, crd_status, resource_types_of
from karmada.apiserver.crds.status import is_established, terminating
from karmada.apiserver.requests.delete import DEFINITION_FINALIZER as FINALIZER
from karmada.apiserver.requests.model import Context
from karmada.apiserver.resources import JSONObject, ResourceType
from karmada.apiserver.served_resource import Converter, Relabel, Served
from karmada.apiserver.watchcache import Item, Kind, StoreEvent
from karmada.machinery.clock import rfc3339
from karmada.machinery.transport import EventType

KIND: Kind = ("apiextensions.k8s.io", "customresourcedefinitions")


class _StatusOnly(msgspec.Struct):
    """A definition without its schemas, which are most of it."""

    status: JSONObject | None = None


_STATUS = msgspec.json.Decoder(_StatusOnly)


@lru_cache(maxsize=64)
def _types(spec: bytes) -> list[ResourceType]:
    """What a definition defines: the same for every server of the process that has it, and not cheap to work out."""
    return resource_types_of({"spec": orjson.loads(spec)})


class _Registered(NamedTuple):
    spec: bytes
    keys: list[Key]


class CustomResources:
    """Serves what CustomResourceDefinitions define."""

    def __init__(self, context: Context, converter: Callable[[JSONObject], Converter | None]) -> None:
        self._context = context
        self._store = context.store
        self._catalog: Catalog = context.catalog
        self._converter = converter
        self._writer = Writer(context, "customresourcedefinition-controller", "kube-apiserver")
        self._worker: Worker[str] = Worker("custom-resources", self._process)
        self._registered: dict[str, _Registered] = {}
        self._ending: dict[Kind, str] = {}
        self._statuses: dict[str, dict[str, JSONObject | None]] = {}
        """Of all definitions, by group and name."""

    def load(self) -> None:
        """Register what the store holds; before anything is served."""
        self._store.subscribe(self._changed)
        items = self._store.list(KIND).items
        for item in items:
            self._statuses_beside(item.name)[item.name] = _STATUS.decode(item.body).status
        for item in items:
            self._consider(item)

    def start(self) -> None:
        """Begin to write."""
        self._worker.start()

    async def stop(self) -> None:
        """Stop working."""
        await self._worker.stop()

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if kind == KIND:
            if event.type is EventType.DELETED:
                self._statuses_beside(event.item.name).pop(event.item.name, None)
                self._withdraw(event.item.name)
                self._recheck_names(event.item.name)
            else:
                self._consider(event.item)
        elif kind in self._ending and event.type is EventType.DELETED:
            self._worker.add(self._ending[kind])

    def _consider(self, item: Item) -> None:
        crd: JSONObject = orjson.loads(item.body)
        self._statuses_beside(item.name)[item.name] = crd.get("status")
        spec = crd["spec"]
        kind = (spec["group"], spec["names"]["plural"])
        if item.ends:
            self._ending[kind] = item.name
        self._worker.add(item.name)
        status = crd_status(crd, self._names_beside(crd), "")
        if is_established({"status": status}):
            self._register(item.name, crd, item.revision)

    def _register(self, name: str, crd: JSONObject, revision: int) -> None:
        spec = orjson.dumps(crd["spec"])
        known = self._registered.get(name)
        if known is not None and known.spec == spec:
            return
        types = _types(spec)
        group = crd["spec"]["group"]
        converter = self._converter(crd) or Relabel(group)
        since = revision if crd["metadata"].get("generation", 1) > 1 else 0
        served = [Served(type_, converter, since) for type_ in types]
        keys = [(type_.group, type_.version, type_.plural) for type_ in types]
        self._registered[name] = _Registered(spec, keys)
        self._catalog.replace(known.keys if known else (), served)
        if any("selectableFields" in version for version in crd["spec"]["versions"]):
            self._store.reindex((group, crd["spec"]["names"]["plural"]))

    def _withdraw(self, name: str) -> None:
        known = self._registered.pop(name, None)
        self._ending = {kind: other for kind, other in self._ending.items() if other != name}
        if known is not None:
            self._catalog.replace(known.keys, ())

    def _statuses_beside(self, name: str) -> dict[str, JSONObject | None]:
        return self._statuses.setdefault(name.partition(".")[2], {})

    def _names_beside(self, crd: JSONObject) -> Names:
        name = crd["metadata"]["name"]
        return Names.of({"status": status} for other, status in self._statuses_beside(name).items() if other != name)

    def _recheck_names(self, name: str) -> None:
        group = name.partition(".")[2]
        for item in self._store.list(KIND).items:
            if item.name.partition(".")[2] == group:
                self._worker.add(item.name)

    async def _process(self, name: str) -> None:
        item = self._store.get(KIND, "", name)
        if item is None:
            return
        crd: JSONObject = orjson.loads(item.body)
        if "deletionTimestamp" in crd["metadata"]:
            await self._end(name, crd)
            return
        now, beside = rfc3339(self._context.now()), self._names_beside(crd)
        if crd_status(crd, beside, now) != crd.get("status"):

            def edit(current: JSONObject) -> None:
                current["status"] = crd_status(current, beside, now)

            await self._writer.change(KIND, "", name, edit, "status")

    async def _end(self, name: str, crd: JSONObject) -> None:
        """Delete all objects, then let the definition go."""
        if FINALIZER not in (crd["metadata"].get("finalizers") or ()):
            return
        kind = (crd["spec"]["group"], crd["spec"]["names"]["plural"])
        for item in self._store.list(kind).items:
            if not item.ends:
                await self._writer.delete(kind, item.namespace, item.name, item.index.uid)
        left = len(self._store.list(kind).items)
        now = rfc3339(self._context.now())
        if left:
            reason, message = "InstanceDeletionInProgress", f"CustomResource deletion is in progress; {left} remain"
            await self._report(name, reason, message, now)
            return
        reason, message = "InstanceDeletionCompleted", "removed all instances"
        await self._report(name, reason, message, now)
        await self._writer.change(KIND, "", name, _drop_finalizer)

    async def _report(self, name: str, reason: str, message: str, now: str) -> None:
        def edit(current: JSONObject) -> None:
            current["status"] = terminating(current, reason, message, now)

        await self._writer.change(KIND, "", name, edit, "status")


def _drop_finalizer(crd: JSONObject) -> None:
    finalizers = crd["metadata"].get("finalizers") or []
    crd["metadata"]["finalizers"] = [item for item in finalizers if item != FINALIZER]
