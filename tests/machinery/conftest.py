"""A small API server in memory for the tests of the toolkit: enough to be a Transport, with knobs for misbehaviour."""

import asyncio
import contextlib
import copy
import itertools
from typing import Any

import orjson
import pytest

from karmada.api import json_patch
from karmada.machinery.errors import AlreadyExists, ApiError, Conflict, Gone, Invalid, NotFound, Unavailable
from karmada.machinery.limits import WATCH_BATCH
from karmada.machinery.transport import EventType, GroupVersionResource, Request, Verb, WatchEvent

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
KINDS = {"configmaps": "ConfigMap", "leases": "Lease", "events": "Event", "works": "Work", "deployments": "Deployment"}


def merge(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


class FakeServer:
    """Objects with revisions, watches with history, and failures on demand."""

    def __init__(self) -> None:
        self.revision = 100
        self.compacted = 0
        self.objects: dict[tuple[GroupVersionResource, str, str], dict[str, Any]] = {}
        self.history: list[tuple[int, GroupVersionResource, EventType, dict[str, Any]]] = []
        self.streams: list[tuple[Request, asyncio.Queue[Any]]] = []
        self.requests: list[Request] = []
        self.failures: list[ApiError] = []
        """Errors for the next requests, first come first served."""
        self.streaming_lists = True
        self.discovery: dict[str, Any] = {}
        self.uids = itertools.count(1)

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)

    async def send(self, request: Request) -> bytes:
        self.requests.append(request)
        self._fail()
        await asyncio.sleep(0)
        body = request.body if not isinstance(request.body, bytes) else orjson.loads(request.body)
        key = (request.resource, request.namespace, request.name)
        match request.verb:
            case Verb.GET:
                return orjson.dumps(self._existing(key))
            case Verb.LIST:
                return self._list(request)
            case Verb.CREATE:
                return orjson.dumps(self.put(request.resource, body, create=True))
            case Verb.UPDATE:
                old = self._existing(key)
                self._check(old, body)
                changed = old | {"status": body.get("status")} if request.subresource else body
                return orjson.dumps(self.put(request.resource, changed))
            case Verb.PATCH:
                old = self._existing(key)
                new = merge(old, body) if isinstance(body, dict) else json_patch.apply(old, body)
                self._check(old, new)
                return orjson.dumps(self.put(request.resource, new))
            case Verb.DELETE:
                old = self._existing(key)
                wanted = (body or {}).get("preconditions") or {}
                for field, value in wanted.items():
                    if old["metadata"][field] != value:
                        raise Conflict("precondition failed")
                self.remove(request.resource, request.name, request.namespace)
                return b'{"kind":"Status","status":"Success"}'
        raise AssertionError(request.verb)

    def _existing(self, key: tuple[GroupVersionResource, str, str]) -> dict[str, Any]:
        if key not in self.objects:
            raise NotFound(f"{key[0].resource} {key[2]!r} not found")
        return self.objects[key]

    def _check(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        wanted = new.get("metadata", {}).get("resourceVersion")
        if wanted and wanted != old["metadata"]["resourceVersion"]:
            raise Conflict("the object has been modified")

    def put(self, type_: GroupVersionResource, body: dict[str, Any], create: bool = False) -> dict[str, Any]:
        body = copy.deepcopy(body)
        metadata = body.setdefault("metadata", {})
        key = (type_, metadata.get("namespace", ""), metadata["name"])
        old = self.objects.get(key)
        if create and old:
            raise AlreadyExists(f"{metadata['name']} already exists")
        metadata["uid"] = old["metadata"]["uid"] if old else f"uid-{next(self.uids)}"
        body.setdefault("kind", KINDS.get(type_.resource, ""))
        body.setdefault("apiVersion", f"{type_.group}/{type_.version}".lstrip("/"))
        if old:
            metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
            if old == body:
                return body
        self.revision += 1
        metadata["resourceVersion"] = str(self.revision)
        self.objects[key] = body
        self._event(type_, EventType.MODIFIED if old else EventType.ADDED, body)
        return body

    def remove(self, type_: GroupVersionResource, name: str, namespace: str = "") -> None:
        body = copy.deepcopy(self.objects.pop((type_, namespace, name)))
        self.revision += 1
        body["metadata"]["resourceVersion"] = str(self.revision)
        self._event(type_, EventType.DELETED, body)

    def _event(self, type_: GroupVersionResource, event: EventType, body: dict[str, Any]) -> None:
        self.history.append((self.revision, type_, event, body))
        for request, queue in self.streams:
            if self._concerns(request, type_, body):
                queue.put_nowait([WatchEvent(event, orjson.dumps(body))])

    def _concerns(self, request: Request, type_: GroupVersionResource, body: dict[str, Any]) -> bool:
        inside = not request.namespace or body["metadata"].get("namespace", "") == request.namespace
        label = request.params.get("labelSelector", "")
        name, _, value = label.partition("=")
        labels = body["metadata"].get("labels") or {}
        return request.resource == type_ and inside and (not label or labels.get(name) == value)

    def _selected(self, request: Request) -> list[dict[str, Any]]:
        return [body for (type_, _, _), body in sorted(self.objects.items()) if self._concerns(request, type_, body)]

    def _list(self, request: Request) -> bytes:
        items = self._selected(request)
        limit = int(request.params.get("limit", "0"))
        start = int(request.params.get("continue", "0"))
        page = items[start : start + limit] if limit else items
        metadata = {"resourceVersion": str(self.revision)}
        if limit and start + limit < len(items):
            metadata["continue"] = str(start + limit)
        kind = KINDS[request.resource.resource] + "List"
        return orjson.dumps({"apiVersion": "v1", "kind": kind, "metadata": metadata, "items": page})

    @contextlib.asynccontextmanager
    async def watch(self, request: Request):  # type: ignore[no-untyped-def]
        self.requests.append(request)
        self._fail()
        await asyncio.sleep(0)
        queue: asyncio.Queue[Any] = asyncio.Queue()
        if request.params.get("sendInitialEvents") == "true":
            if not self.streaming_lists:
                raise Invalid("sendInitialEvents is forbidden for watch")
            added = [WatchEvent(EventType.ADDED, orjson.dumps(body)) for body in self._selected(request)]
            for start in range(0, len(added), WATCH_BATCH):
                queue.put_nowait(added[start : start + WATCH_BATCH])
            queue.put_nowait([self.bookmark({"k8s.io/initial-events-end": "true"})])
        else:
            after = int(request.params["resourceVersion"])
            if after < self.compacted:
                raise Gone("too old resource version")
            for revision, type_, event, body in self.history:
                if revision > after and self._concerns(request, type_, body):
                    queue.put_nowait([WatchEvent(event, orjson.dumps(body))])
        entry = (request, queue)
        self.streams.append(entry)
        try:
            yield self._stream(queue)
        finally:
            if entry in self.streams:
                self.streams.remove(entry)

    async def _stream(self, queue: asyncio.Queue[Any]):  # type: ignore[no-untyped-def]
        while True:
            item = await queue.get()
            if item is None:
                return
            if isinstance(item, Exception):
                raise item
            yield item

    def bookmark(self, annotations: dict[str, str] | None = None) -> WatchEvent:
        metadata = {"resourceVersion": str(self.revision), "annotations": annotations or {}}
        return WatchEvent(EventType.BOOKMARK, orjson.dumps({"kind": "ConfigMap", "metadata": metadata}))

    def cut(self, error: Exception | None = None) -> None:
        """Break every open watch; None ends it as a server does."""
        for _, queue in self.streams:
            queue.put_nowait(error)

    def compact(self) -> None:
        self.compacted = self.revision + 1
        self.history.clear()

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        self._fail()
        if path not in self.discovery:
            raise NotFound(path)
        return orjson.dumps(self.discovery[path])

    async def close(self) -> None:
        self.cut(Unavailable("closed"))


def config_map(name: str, namespace: str = "default", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()
