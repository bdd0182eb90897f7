"""A small OpenSearch in this process, for faults that a real one cannot be asked for."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import copy

import orjson

from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest, HttpResponse
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.transport import JSONObject

Fault = Callable[[HttpRequest], HttpResponse | None]


def refuse(status: int, kind: str = "failed", path: str = "") -> Fault:
    """Every request to a path, or to any, is answered with an error."""
    body = orjson.dumps({"error": {"type": kind, "reason": "because"}, "status": status})
    return lambda request: HttpResponse(status, body) if path in request.path else None


class FakeOpenSearch:
    """Indices with documents; `fault` may answer first, `item_fault` for single documents of a bulk."""

    def __init__(self) -> None:
        self.indices: dict[str, dict[str, JSONObject]] = {}
        self.mappings: dict[str, JSONObject] = {}
        self.requests: Counter[str] = Counter()
        self.seen: list[HttpRequest] = []
        self.fault: Fault = lambda request: None
        self.item_fault: Callable[[str, str], tuple[int, str] | None] = lambda verb, uid: None
        self.largest = 1 << 30
        self.address = ""

    def names(self, index: str = "kubernetes-pod") -> list[str]:
        """The names in the documents of an index."""
        return sorted(each["metadata"]["name"] for each in self.indices.get(index, {}).values())

    async def __call__(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request."""
        self.seen.append(copy(request))  # its server forgets the body
        self.requests[f"{request.method} {request.path}"] += 1
        if (fault := self.fault(request)) is not None:
            return fault
        if request.path == "/":
            return _json({"version": {"distribution": "opensearch"}})
        if request.path == "/_bulk":
            if len(request.body) > self.largest:
                return _json({"error": "too large"}, 413)
            return _json({"errors": True, "items": list(self._bulk(request.body.splitlines()))})
        return self._created(request.path[1:], request.body)

    def _created(self, index: str, body: bytes) -> HttpResponse:
        if index in self.indices:
            return _json({"error": {"type": "resource_already_exists_exception"}, "status": 400}, 400)
        self.indices[index], self.mappings[index] = {}, orjson.loads(body)
        return _json({"acknowledged": True})

    def _bulk(self, lines: list[bytes]) -> list[JSONObject]:
        rest, items = iter(lines), []
        for line in rest:
            ((verb, where),) = orjson.loads(line).items()
            document = orjson.loads(next(rest)) if verb == "index" else None
            items.append({verb: self._changed(verb, where["_index"], where["_id"], document)})
        return items

    def _changed(self, verb: str, index: str, uid: str, document: JSONObject | None) -> JSONObject:
        if (fault := self.item_fault(verb, uid)) is not None:
            return {"_id": uid, "status": fault[0], "error": {"type": fault[1], "reason": "because"}}
        if index not in self.indices:
            return {"_id": uid, "status": 404, "error": {"type": "index_not_found_exception", "reason": index}}
        if document is None:
            return {"_id": uid, "status": 200 if self.indices[index].pop(uid, None) else 404}
        self.indices[index][uid] = document
        return {"_id": uid, "status": 200}


def _json(tree: object, status: int = 200) -> HttpResponse:
    return HttpResponse(status, orjson.dumps(tree))


@asynccontextmanager
async def listening(fake: FakeOpenSearch, port: int = 0) -> AsyncIterator[FakeOpenSearch]:
    """The fake at an address, until the context ends: then nobody answers there."""
    server = HttpServer(fake)
    fake.address = f"http://127.0.0.1:{await server.listen('127.0.0.1', port)}"
    try:
        yield fake
    finally:
        await server.stop(0)
