"""Many member API servers behind one address, `http://HOST:PORT/MEMBER`, in a process of their own.

A member answers what the control plane asks of any: who it is, that it is ready, its version, discovery (recorded from
a simulated member), lists and watches; it keeps what is written to it, and tells its watchers. It checks nothing: no
credentials, selectors, schemas or conflicts. What `Stub.fixture` yields is there from the beginning and is not kept.
"""

import asyncio
import contextlib
import gc
import itertools
import multiprocessing
import time
from collections.abc import AsyncIterator, Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl

import orjson
import uvloop

from karmada.api import merge_patch
from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest, HttpResponse, StreamResponse
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.transport import JSONObject

CONNECTIONS = 100_000
BATCH = 200
"""Objects of a stream that are sent at once."""
VERSION = b'{"major":"1","minor":"34","gitVersion":"v1.34.0"}'
REVISION = 1_000_000
"""Where revisions begin: above those of everything that fixtures hold."""
_NOT_FOUND = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}'
_END = (
    b'{"type":"BOOKMARK","object":{"kind":"Bookmark","apiVersion":"v1","metadata":{"resourceVersion":"%d",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)


class Place(NamedTuple):
    """Where a request leads: a collection, and what of it."""

    member: str
    root: str
    """`api/v1` or `apis/GROUP/VERSION`."""
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Discovery(NamedTuple):
    """What all members say about their kinds."""

    api: bytes
    apis: bytes


class Collection:
    """The objects that were written to one collection of one member."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], bytes] = {}
        self.watchers: set[asyncio.Queue[bytes]] = set()

    def send(self, kind: bytes, body: bytes) -> None:
        """Tell all watchers of a change."""
        for queue in self.watchers:
            queue.put_nowait(b'{"type":"%b","object":%b}\n' % (kind, body))


class Stub:
    """Answers for all members."""

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery
        self.collections: dict[tuple[str, str, str], Collection] = {}
        self.revision = itertools.count(REVISION + 1)
        self._reached = REVISION
        self.writes = 0
        self.requests = 0

    def fixture(self, member: str, resource: str) -> Iterator[bytes]:
        """Objects that a member has from the beginning."""
        yield from ()

    def put(self, member: str, root: str, resource: str, obj: JSONObject) -> bytes:
        """Keep an object as the newest of its name."""
        collection = self._collection(member, root, resource)
        metadata = obj["metadata"]
        which = (metadata.get("namespace", ""), metadata["name"])
        known = collection.objects.get(which)
        self._reached = next(self.revision)
        metadata["resourceVersion"] = str(self._reached)
        metadata.setdefault("uid", f"{self._reached:08x}-0000-4000-8000-000000000000")
        metadata.setdefault("creationTimestamp", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        body = collection.objects[which] = orjson.dumps(obj)
        collection.send(b"ADDED" if known is None else b"MODIFIED", body)
        return body

    def written(self) -> int:
        """How often a member was written to."""
        return self.writes

    async def __call__(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request to a member."""
        self.requests += 1
        member, _, path = request.path[1:].partition("/")
        match path:
            case "readyz" | "healthz":
                return HttpResponse(200, b"ok", "text/plain")
            case "version":
                return HttpResponse(200, VERSION)
            case "api":
                return HttpResponse(200, self._discovery.api)
            case "apis":
                return HttpResponse(200, self._discovery.apis)
            case "api/v1/namespaces/kube-system":
                return HttpResponse(
                    200, b'{"kind":"Namespace","metadata":{"name":"kube-system","uid":"%b"}}' % uid(member)
                )
        place = _place(member, path)
        return HttpResponse(404, _NOT_FOUND) if place is None else self._answer(request, place)

    def _answer(self, request: HttpRequest, place: Place) -> HttpAnswer:
        params = dict(parse_qsl(request.query))
        collection = self._collection(place.member, place.root, place.resource)
        if request.method == "GET" and place.name:
            body = collection.objects.get((place.namespace, place.name))
            return HttpResponse(404, _NOT_FOUND) if body is None else HttpResponse(200, body)
        if request.method == "GET":
            if params.get("watch") in ("true", "1"):
                return StreamResponse(200, self._watch(place, collection, params))
            head = b'{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[' % self._reached
            return HttpResponse(200, head + b",".join(self._listed(place, collection)) + b"]}")
        self.writes += 1
        return self._written(request, place, collection)

    def _written(self, request: HttpRequest, place: Place, collection: Collection) -> HttpResponse:
        which = (place.namespace, place.name)
        if request.method == "POST":
            return HttpResponse(201, self.put(*place[:3], orjson.loads(request.body)))
        known = collection.objects.get(which)
        if known is None:
            return HttpResponse(404, _NOT_FOUND)
        if request.method == "DELETE":
            self._reached = next(self.revision)
            gone = orjson.loads(collection.objects.pop(which))
            gone["metadata"]["resourceVersion"] = str(self._reached)
            collection.send(b"DELETED", orjson.dumps(gone))
            return HttpResponse(200, b'{"kind":"Status","apiVersion":"v1","status":"Success"}')
        given = orjson.loads(request.body)
        return HttpResponse(
            200,
            self.put(*place[:3], merge_patch.apply(orjson.loads(known), given) if request.method == "PATCH" else given),
        )

    def _listed(self, place: Place, collection: Collection) -> Iterator[bytes]:
        yield from self.fixture(place.member, place.resource)
        for (namespace, _), body in list(collection.objects.items()):
            if place.namespace in ("", namespace):
                yield body

    async def _watch(self, place: Place, collection: Collection, params: dict[str, str]) -> AsyncIterator[bytes]:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        collection.watchers.add(queue)
        try:
            if "sendInitialEvents" in params:
                now = self._reached
                for some in _batches(self._listed(place, collection)):
                    yield b"".join(b'{"type":"ADDED","object":%b}\n' % body for body in some)
                yield _END % now
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(int(params.get("timeoutSeconds", "300"))):
                    while True:
                        yield await queue.get()
        finally:
            collection.watchers.discard(queue)

    def _collection(self, member: str, root: str, resource: str) -> Collection:
        return self.collections.setdefault((member, root, resource), Collection())


def uid(member: str) -> bytes:
    """The identity of a member."""
    return b"id-%b" % member.encode()


def _batches(bodies: Iterator[bytes]) -> Iterator[list[bytes]]:
    while some := list(itertools.islice(bodies, BATCH)):
        yield some


def _place(member: str, path: str) -> Place | None:
    parts = path.split("/")
    size = 2 if parts[0] == "api" else 3
    root, rest = "/".join(parts[:size]), parts[size:]
    if not rest:
        return None
    if rest[0] == "namespaces" and len(rest) > 2:
        return Place(member, root, rest[2], rest[1], *rest[3:5])
    return Place(member, root, rest[0], "", *rest[1:3])


Make = Callable[[Discovery], Stub]
Order = tuple[str, tuple[Any, ...]]
"""The name of a method of the stub, and what it is called with."""


class StubProcess:
    """A stub in a process of its own: `call` runs its methods there."""

    def __init__(self, make: Make, discovery: Discovery) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, discovery), daemon=True)
        self.address = ""

    async def __aenter__(self) -> Self:
        self._process.start()
        self.address = await asyncio.to_thread(self._ours.recv)
        return self

    async def __aexit__(self, *failure: object) -> None:
        self._ours.send(None)
        await asyncio.to_thread(self._process.join, 30)

    async def call(self, method: str, *arguments: Any) -> Any:
        """What a method of the stub returns."""
        self._ours.send((method, arguments))
        return await asyncio.to_thread(self._ours.recv)


def _serve(pipe: Connection, make: Make, discovery: Discovery) -> None:
    async def main() -> None:
        stub = make(discovery)
        server = HttpServer(stub, max_connections=CONNECTIONS, max_unauthenticated=CONNECTIONS)
        pipe.send(f"http://127.0.0.1:{await server.listen('127.0.0.1', 0)}")
        gc.freeze()
        while (order := await asyncio.to_thread(pipe.recv)) is not None:
            method, arguments = order
            pipe.send(getattr(stub, method)(*arguments))
        await server.stop(0.0)

    uvloop.run(main())


def names(count: int, first: int = 0) -> list[str]:
    """Names of clusters, all of one length."""
    return [f"member{number:05d}" for number in range(first, first + count)]
