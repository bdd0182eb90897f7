"""Paths that are no resources: health, version, metrics, profiles, discovery and OpenAPI."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import orjson

from karmada.api import yaml
from karmada.apiserver.auth.identity import Identity
from karmada.apiserver.auth.model import Attributes
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.discovery import AGGREGATED_VERSIONS, Discovery, aggregated_media_type
from karmada.apiserver.openapi import PROTOBUF_MEDIA_TYPE, OpenAPI
from karmada.apiserver.requests.access import Access, Guarded
from karmada.apiserver.requests.model import Answer
from karmada.apiserver.requests.negotiation import document_as_yaml, negotiate, require
from karmada.apiserver.requests.routing import method_not_allowed, not_served
from karmada.apiserver.resources import JSONObject, ResourceType
from karmada.machinery import profiling

_TEXT = "text/plain; charset=utf-8"
_ROOTS = (
    "/.well-known/openid-configuration",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openid/v1/jwks",
    "/readyz",
    "/version",
)
_NOT_FOUND = b"404 page not found\n"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"
_KEYS = "application/jwk-set+json"
KUBERNETES_VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "gc",
    "platform": "linux/amd64",
}
"""The Kubernetes version whose API is served."""


class OwnPage(Protocol):
    """A page that a component in the server's process adds below a path."""

    def about(self, path: str) -> Attributes | None:
        """The resource that the page is about: who may read that may read the page. None where there is no page."""
        ...

    async def answer(self, path: str) -> Answer:
        """The page."""
        ...


class PageRequest(NamedTuple):
    """A request for a page."""

    path: str
    params: Mapping[str, str]
    accept: str


Page = Callable[[PageRequest], Answer | Awaitable[Answer | None] | None]


class ServerPages:
    """Answers for every path that names no resource; a route with a slash at its end answers for all below it."""

    def __init__(
        self,
        catalog: Catalog,
        identity: Identity,
        ready: Callable[[str], Awaitable[dict[str, bool]]],
        others: Callable[[], Sequence[JSONObject]],
        metrics: Callable[[], Awaitable[bytes]],
        schema_of: Callable[[ResourceType], JSONObject],
    ) -> None:
        self._catalog = catalog
        self._ready = ready
        self._metrics = metrics
        self._openapi = OpenAPI(catalog.types, lambda: catalog.version, schema_of)
        self._discovery = Discovery(catalog.types, lambda: catalog.version, others)
        pages: dict[str, Page] = {
            "/": lambda request: _json({"paths": self._roots()}),
            "/version": lambda request: _negotiated(request, KUBERNETES_VERSION),
            "/metrics": self._exposition,
            "/.well-known/openid-configuration": lambda request: _lasting(
                _negotiated(request, identity.tokens.configuration())
            ),
            "/openid/v1/jwks": lambda request: _lasting(_negotiated(request, identity.tokens.key_set(), _KEYS)),
            "/healthz/": self._health,
            "/livez/": self._health,
            "/readyz/": self._health,
            "/debug/": self._profile,
            "/openapi/": self._schemas,
            "/api/": self._documents,
            "/apis/": self._documents,
        }
        self.routes = {path: Guarded(Access.PATH, page) for path, page in pages.items()}
        self.own: dict[str, OwnPage] = {}
        """By the first part of their path."""

    def about(self, path: str) -> Attributes | None:
        """What a page is about, where the right to read it comes from a resource."""
        page = self.own.get(path.split("/", 2)[1]) if path.startswith("/") else None
        return page.about(path) if page is not None else None

    async def answer(self, method: str, path: str, params: Mapping[str, str], accept: str) -> Answer | None:
        """The page at a path, None where there is none."""
        asked, path = path, path.rstrip("/") or "/"
        head = path[1:].partition("/")[0]
        route = self.routes.get(path) or self.routes.get(f"/{head}/")
        if route is not None:
            if method != "GET" and self._only_read(path):
                raise method_not_allowed()
            found = route.handle(PageRequest(path, params, accept))
            return await found if isinstance(found, Awaitable) else found
        if method == "GET" and (page := self.own.get(head)) is not None and page.about(asked) is not None:
            return await page.answer(asked)
        return None

    def _only_read(self, path: str) -> bool:
        """Whether a page knows no method but GET: the version and lists of resources; lists of groups answer to all."""
        parts = path.split("/")
        if path in ("/version", "/api", "/.well-known/openid-configuration", "/openid/v1/jwks"):
            return True
        listed = (parts[1] == "api" and len(parts) == 3) or (parts[1] == "apis" and len(parts) == 4)
        return listed and self._discovery.get(path) is not None

    def _schemas(self, request: PageRequest) -> Answer | None:
        path, accept = request.path, request.accept
        if path == "/openapi":
            return None
        if path == "/openapi/v2" and "proto-openapi.spec.v2" in accept:
            body = self._openapi.get(path, as_protobuf=True)
            return _tagged(Answer(200, body or b"", PROTOBUF_MEDIA_TYPE))
        body = self._openapi.get(path)
        if body is None:
            return Answer(404, b"", "") if path.startswith("/openapi/v3/") else Answer(404, _NOT_FOUND, _TEXT)
        known = ("application/json", "*/*", "application/*", "application/com.github.proto-openapi")
        if accept and path != "/openapi/v3" and not any(media in accept for media in known):
            return Answer(406, b"", "")
        return Answer(200, body, _TEXT) if path == "/openapi/v3" else _tagged(Answer(200, body))

    def _roots(self) -> list[str]:
        versions = {(served.type.group, served.type.version) for served in self._catalog}
        paths = {"/api", "/api/v1", "/apis", *_ROOTS}
        for group, version in versions:
            if group:
                paths |= {f"/apis/{group}", f"/apis/{group}/{version}"}
        return sorted(paths)

    async def _health(self, request: PageRequest) -> Answer:
        page, _, check = request.path[1:].partition("/")
        checks = await self._ready(page)
        if check:
            if check not in checks:
                return Answer(404, _NOT_FOUND, _TEXT)
            checks = {check: checks[check]}
        healthy = all(checks.values())
        if healthy and "verbose" not in request.params:
            return Answer(200, b"ok", _TEXT)
        lines = [f"[{'+' if ok else '-'}]{name} {'ok' if ok else 'failed: not ready'}" for name, ok in checks.items()]
        lines.append(f"{page} check {'passed' if healthy else 'failed'}")
        return Answer(200 if healthy else 500, ("\n".join(lines) + "\n").encode(), _TEXT)

    async def _exposition(self, request: PageRequest) -> Answer:
        return Answer(200, await self._metrics(), _METRICS)

    async def _profile(self, request: PageRequest) -> Answer | None:
        page = await profiling.page(request.path, request.params.get("seconds", ""))
        return Answer(page.status, page.body, _TEXT) if page is not None else None

    def _documents(self, request: PageRequest) -> Answer | None:
        path, accept = request.path, request.accept
        for version in AGGREGATED_VERSIONS if "as=APIGroupDiscoveryList" in accept else ():
            if f"v={version}" in accept and path in ("/api", "/apis"):
                body = self._discovery.get(path, version)
                return _tagged(Answer(200, body, aggregated_media_type(version))) if body is not None else None
        body = self._discovery.get(path)
        if body is not None:
            if "as=" in accept and "as=APIGroupDiscoveryList" not in accept and "," not in accept:
                negotiate(accept.replace("as=", "as=No"), collection=False)
            parts = path.split("/")
            if document_as_yaml(accept, parts[1] == "apis" and len(parts) < 4):
                return Answer(200, yaml.dump(orjson.loads(body)).encode(), "application/yaml")
            return Answer(200, body)
        parts = path.split("/")
        group = "" if parts[1] == "api" else parts[2] if parts[1] == "apis" and len(parts) > 2 else None
        if group is not None and self._catalog.is_builtin_group(group):
            raise not_served()
        return None


def _tagged(answer: Answer) -> Answer:
    """A large document with a tag, by which a client that has it already is spared to read it again."""
    tag = hashlib.sha256(answer.body).hexdigest().upper()
    return Answer(answer.code, answer.body, answer.content_type, {"ETag": f'"{tag}"', "Vary": "Accept"})


def _lasting(answer: Answer) -> Answer:
    """A document that whoever checks tokens may keep for an hour."""
    return Answer(answer.code, answer.body, answer.content_type, {"Cache-Control": "public, max-age=3600"})


def _negotiated(request: PageRequest, body: JSONObject, media: str = "application/json") -> Answer:
    """A document that is there in one form only."""
    require(request.accept, media)
    return _json(body, media)


def _json(body: JSONObject, content_type: str = "application/json") -> Answer:
    return Answer(200, orjson.dumps(body), content_type)
