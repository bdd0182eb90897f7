"""Whole requests, as bytes, through the real HTTP protocol object and dispatcher of a server in memory.

Nothing may end in an internal error, hold the loop, or be kept. Names are few, so that objects do not pile up.
"""

import asyncio
import logging
import time
from random import Random
from typing import Protocol
from urllib.parse import quote

import orjson
from tests.apiserver.widgets import definition
from tests.fuzz.decoders.objects import fitting
from tests.fuzz.decoders.patches import TARGETS as PATCHES
from tests.fuzz.decoders.wire import TARGETS as WIRE
from tests.fuzz.server import TOKEN, Server, request, serving, status
from tests.fuzz.shapes import clean, mutated, text, tree, weighted, word

from karmada.api import yaml
from karmada.apiserver import cel
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.served_resource import Served

SUSPECT = 0.1
"""Seconds of work in the loop's thread, turns in between or not, after which a request is repeated and measured."""
_SPELLED = {
    "Quantity": "1",
    "IntOrString": 1,
    "Time": "2024-01-01T00:00:00Z",
    "MicroTime": "2024-01-01T00:00:00.000000Z",
    "byte": "aGk=",
}
"""Values of types that are written in a way of their own."""
NAMES = ("a", "b", "web", "default", "widgets.example.dev")
_SUBRESOURCES = ("status", "scale", "log", "exec", "eviction", "binding", "token", "finalize", "approval", "proxy", "x")
_PAGES = (
    *("/", "/api", "/apis", "/version", "/healthz", "/readyz?verbose", "/openapi/v2", "/openapi/v3", "/api/v1"),
    *("/apis/apps/v1", "/openapi/v3/api/v1", "/apis/x/y", "/livez/ping", "/logs", "/.well-known/openid-configuration"),
)
_PATCH_TYPES = {
    "application/json-patch+json": PATCHES[0],
    "application/merge-patch+json": PATCHES[1],
    "application/strategic-merge-patch+json": PATCHES[2],
}
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_ACCEPT = (
    *(
        *[""] * 12,
        *["application/json"] * 4,
        *["application/yaml"] * 2,
        "*/*",
        "x",
        "application/vnd.kubernetes.protobuf",
    ),
    _TABLE,
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
)
_OPTIONS = (
    *(
        "dryRun=All",
        "dryRun=All",
        "dryRun=x",
        "fieldValidation=Strict",
        "fieldValidation=Ignore",
        "pretty=true",
        "limit=1",
    ),
    *(
        "fieldManager=m",
        "force=true",
        "watch=true",
        "timeoutSeconds=1",
        "resourceVersion=0",
    ),
    *("resourceVersionMatch=Exact", "continue=x", "labelSelector=a%3Db", "fieldSelector=metadata.name%3Da", "limit=-1"),
    *(
        "propagationPolicy=Orphan",
        "gracePeriodSeconds=0",
        "sendInitialEvents=true",
        "allowWatchBookmarks=1",
        "timeout=1s",
    ),
)


class Findings(Protocol):
    """Where a run reports."""

    def took(self, seconds: float, wall: float, seed: int) -> None: ...

    def failed(self, seed: int, given: object, why: str) -> None: ...


def _collection(served: Served, namespace: str) -> str:
    type_ = served.type
    path = f"/apis/{type_.group}/{type_.version}" if type_.group else f"/api/{type_.version}"
    if namespace and type_.namespaced:
        path += f"/namespaces/{namespace}"
    return f"{path}/{type_.plural}"


def _path(r: Random, served: Served, named: bool) -> str:
    type_ = served.type
    inside = type_.namespaced and r.random() < 0.9
    path = _collection(served, r.choice(("default", "default", "kube-system", "nowhere")) if inside else "")
    if named:
        path += f"/{r.choice(NAMES) if r.random() < 0.95 else quote(clean(r))}"
        if r.random() < 0.2:
            known = [sub.name for sub in type_.subresources]
            path += f"/{r.choice(known or _SUBRESOURCES) if r.random() < 0.8 else r.choice(_SUBRESOURCES)}"
    options = [r.choice(_OPTIONS) for _ in range(r.randint(0, 3))]
    if r.random() < 0.0005:
        options.append("resourceVersion=99999999")  # the server waits for it some seconds
    if r.random() < 0.1:
        options.append(f"{r.choice(('labelSelector', 'fieldSelector', 'continue'))}={quote(clean(r))}")
    return path + ("?" + "&".join(options) if options else "")


def _object(r: Random, served: Served) -> object:
    obj = fitting(r, served.type.schema, 7)
    if not isinstance(obj, dict) or r.random() < 0.03:
        return tree(r, 3)
    obj.update(apiVersion=served.api_version, kind=served.kind)
    if r.random() < 0.9:
        metadata = obj.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        metadata["name"] = r.choice(NAMES)
        for key in ("namespace", "generateName", "uid", "resourceVersion", "deletionTimestamp", "ownerReferences"):
            if r.random() < 0.9:
                metadata.pop(key, None)
        obj["metadata"] = metadata
    return obj


def _body(r: Random, served: Served, method: str) -> tuple[bytes, str]:
    if method == "PATCH":
        media = r.choice((*_PATCH_TYPES, "application/apply-patch+yaml", "application/apply-patch+yaml", "x"))
        if media in _PATCH_TYPES and r.random() < 0.7:
            document: object = _PATCH_TYPES[media].make(r)[1]
        elif media == "application/json-patch+json":
            path = f"/{r.choice(('metadata', 'spec', 'data', 'status'))}/{word(r)}"
            document = [{"op": r.choice(("add", "replace", "test")), "path": path, "value": tree(r, 2)}]
        else:
            document = _object(r, served)
        return _encoded(r, document, yaml_too=media.endswith("yaml")), media
    document = _object(r, served)
    media = weighted(
        r,
        (
            (12, "application/json"),
            (2, "application/yaml"),
            (1, "application/vnd.kubernetes.protobuf"),
            (1, ""),
            (1, "x"),
        ),
    )
    if media == "application/vnd.kubernetes.protobuf":
        data: bytes = WIRE[1].make(r)
        return data, media
    return _encoded(r, document, yaml_too=media == "application/yaml"), media


def _encoded(r: Random, document: object, yaml_too: bool) -> bytes:
    try:
        data = yaml.dump(document).encode() if yaml_too and r.random() < 0.6 else orjson.dumps(document)
    except (orjson.JSONEncodeError, UnicodeError):
        data = b"{}"
    return mutated(r, data, 2) if r.random() < 0.1 else data


def make(r: Random, resources: list[Served]) -> list[bytes]:
    """One connection's bytes."""
    kind = r.random()
    if kind < 0.05:
        portions: list[bytes] = WIRE[0].make(r)
        return portions
    if kind < 0.1:
        # Pages of metrics are rare, as each takes as long as hundreds of other requests.
        return [request(r.choice(("GET", "HEAD", "POST")), r.choice(_PAGES) if r.random() < 0.995 else "/metrics")]
    method = r.choice(("GET", "GET", "POST", "POST", "PUT", "PATCH", "PATCH", "PATCH", "DELETE"))
    served = r.choice(resources)
    path = _path(r, served, named=method not in ("POST",) and r.random() < 0.9)
    body, media = _body(r, served, method) if method in ("POST", "PUT", "PATCH") or r.random() < 0.1 else (b"", "")
    head = [f"{method} {path} HTTP/1.1", "Host: fuzz", f"Content-Length: {len(body)}"]
    head.append(f"Authorization: Bearer {TOKEN if r.random() < 0.97 else 'x'}")
    head.append(f"Content-Type: {media}")
    head.append(f"Accept: {r.choice(_ACCEPT)}")
    if r.random() < 0.05:
        value = text(r).replace("\r", "").replace("\n", "").replace("\0", "")
        head.append(f"{r.choice(('Impersonate-User', 'Impersonate-Group', 'User-Agent', 'X-Remote-User'))}: {value}")
    return [mutated(r, ("\r\n".join(head) + "\r\n\r\n").encode("utf-8", "surrogatepass"), r.random() < 0.03) + body]


class _Errors(logging.Handler):
    """Keeps what the server logged last."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = self.format(record)


def wrong(answer: bytes) -> str:
    """What is wrong with an answer; the reference answers 500, without a reason, to some mistakes of clients."""
    code = status(answer)
    if code < 500 or code in (501, 503, 504):
        return ""
    body = answer.partition(b"\r\n\r\n")[2]
    try:
        decoded = yaml.load(body) if b"application/yaml" in answer else orjson.loads(body) if body else {}
    except ValueError:
        return "an internal error that is no Status"
    return "an internal error" if decoded.get("reason") else ""


async def prepare(server: Server) -> list[Served]:
    """Make some objects and a custom kind; the served resources."""
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **definition()}
    await server.send(
        request(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", orjson.dumps(crd), "application/json"
        )
    )
    for name in ("a", "b", "web"):
        body = orjson.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
        await server.send(request("POST", "/api/v1/namespaces/default/configmaps", body, "application/json"))
    await asyncio.sleep(0.1)
    return [served for served in server.api.catalog if "create" in served.type.verbs]


def whole(schema: Schema, above: tuple[str, ...] = ()) -> object:
    """A value with every field of a schema, types that hold themselves once."""
    if schema.name and schema.name in above:
        return None
    inside = (*above, schema.name)
    if schema.properties:
        return {name: whole(child, inside) for name, child in schema.properties.items()}
    if schema.items is not None:
        return [whole(schema.items, inside)]
    if schema.additional is not None:
        return {"a": whole(schema.additional, inside)}
    plain: dict[str, object] = {"string": "a", "integer": 1, "boolean": True, "number": 0.5}
    return _SPELLED.get(schema.name.rpartition(".")[2]) or _SPELLED.get(schema.format) or plain.get(schema.type)


async def use_all(server: Server, resources: list[Served]) -> None:
    """Use every kind and page once: what is loaded and compiled at the first use is not what a request leaves."""
    for page in (*_PAGES, "/metrics"):
        await server.send(request("GET", page), exact=False)
    for served in resources:
        obj = whole(served.type.schema)
        assert isinstance(obj, dict)
        obj.update(apiVersion=served.api_version, kind=served.kind, metadata={"name": "whole"})
        path = _collection(served, "default")
        body, text = orjson.dumps(obj), yaml.dump(obj).encode()
        for data in (
            request("POST", f"{path}?dryRun=All", body, "application/json"),
            request("POST", f"{path}?dryRun=All", text, "application/yaml"),
            request("PATCH", f"{path}/whole?dryRun=All&fieldManager=m", text, "application/apply-patch+yaml"),
            request("PATCH", f"{path}/a?dryRun=All", body, "application/strategic-merge-patch+json"),
            request("GET", path).replace(b"Host: fuzz", f"Host: fuzz\r\nAccept: {_TABLE}".encode()),
        ):
            await server.send(data, exact=False)
    cel.compile("true", {})


async def fuzz_requests(report: Findings, count: int, seed: int) -> None:
    """Send that many connections' bytes."""
    errors = _Errors()
    log = logging.getLogger("karmada")
    log.addHandler(errors)
    log.propagate = False
    try:
        async with serving() as server:
            resources = await prepare(server)
            await use_all(server, resources)
            for at in range(seed, seed + count):
                portions = make(Random(at), resources)
                server.stall, errors.last, began = 0.0, "", time.monotonic()
                answer = await server.send(*portions, exact=False)
                if server.stall > SUSPECT:
                    server.stall, began = 0.0, time.monotonic()
                    answer = await server.send(*portions)
                report.took(server.stall, time.monotonic() - began, at)
                if why := wrong(answer):
                    report.failed(at, portions, f"{why}: {answer[:200]!r}\n{errors.last}")
    finally:
        log.removeHandler(errors)
        log.propagate = True
