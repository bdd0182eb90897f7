"""The API server of a few groups, on a storage of their own, beside an API server that authenticates their callers.

Who asks is said by that server (front-proxy headers, or its review of a token) or shown by a certificate it would
accept. What they may do is decided here, from its roles and bindings, which are watched: a decision costs no request,
and none is made before they are loaded. Discovery, OpenAPI, health, metrics, overload protection and admission are
those of the API server.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import SystemRandom
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

import orjson

from karmada.api.names import GENERATED
from karmada.apiserver.admission.model import AdmissionChain
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.auth.front_proxy import FrontProxies, refuse_shared_authority
from karmada.apiserver.auth.identity import Identity
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.rbac import GROUP, KINDS
from karmada.apiserver.auth.usage import observed
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.crds.sources import schema_source
from karmada.apiserver.direct import DirectTransport
from karmada.apiserver.groupserver.tokens import TokenReviews
from karmada.apiserver.groupserver.trust import Serving, Trust
from karmada.apiserver.http_dispatcher import UNAUTHENTICATED_BODY, HttpDispatcher
from karmada.apiserver.metrics import RequestKey
from karmada.apiserver.nonresource import ServerPages
from karmada.apiserver.overload.traffic import Traffic
from karmada.apiserver.requests.dispatcher import Dispatcher
from karmada.apiserver.requests.model import Context
from karmada.apiserver.requests.pipeline import Pipeline
from karmada.apiserver.server import ADMIN
from karmada.apiserver.storage.base import Storage
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.watchcache import Index, Kind, WatchCache
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest, HttpResponse
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.informers.informer import Informer
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, JSONObject

if TYPE_CHECKING:
    from OpenSSL import SSL

RENEWAL = 60.0
"""Seconds between two looks at the certificate."""


class GroupServer:
    """Serves API groups beside the API server that `hub` reaches; used as an async context manager.

    Objects of stored kinds live in `storage`, in memory when none is given (groups of plain handlers need none).
    """

    def __init__(
        self,
        apis: Sequence[LocalApi],
        hub: Client,
        trust: Trust,
        *,
        name: str,
        storage: Storage | None = None,
        folder: Path | None = None,
        serving: Serving | None = None,
        clock: Clock = REAL,
    ) -> None:
        """`name` is the component's; `folder` keeps the certificates it makes where `serving` gives none."""
        refuse_shared_authority(trust.client_ca, trust.proxy_ca)
        self._hub = hub
        self._name = name
        self._serving = serving
        self._client_ca = trust.client_ca + trust.proxy_ca
        self._random = SystemRandom()
        self.catalog = Catalog([type_ for api in apis for type_ in api.types])
        self.store = WatchCache(storage if storage is not None else MemoryStorage(), self._index)
        proxies = FrontProxies(trust.proxy_ca, trust.proxy_names, clock.now) if trust.proxy_ca else None
        self.identity = Identity(
            self.store, folder, client_ca=trust.client_ca, anonymous=True, proxies=proxies, clock=clock.now
        )
        admission = AdmissionChain([plugin for api in apis for plugin in api.admission])
        self.authorizer = observed(self.identity.rbac)
        context = Context(
            self.store,
            self.catalog,
            admission,
            self.authorizer,
            clock.now,
            lambda: str(uuid4()),
            self._suffix,
            "/registry",
        )
        self.traffic = Traffic(known=self._is_known)
        self._synced: list[Informer[Any]] = []
        pages = ServerPages(
            self.catalog,
            self.identity,
            self._checks,
            list,
            self.traffic.metrics.exposition,
            lambda type_: schema_source(self.store, type_),
        )
        handlers = {special: handler for api in apis for special, handler in api.handlers.items()}
        self.dispatcher = Dispatcher(Pipeline(context, handlers), self.authorizer, pages)
        self._tokens = TokenReviews(hub, clock)
        self._handler = HttpDispatcher(self.dispatcher, self._requester_of, None, self.traffic, self.identity.acting_as)
        self._http: HttpServer | None = None
        self.supervisor = Supervisor(clock)
        """Runs what the groups need beside requests; stopped with the server."""

    async def __aenter__(self) -> Self:
        await self.store.start()
        informers = InformerFactory(self._hub, self.supervisor)
        for resource in KINDS:
            informer = informers.resource(GroupVersionResource(GROUP, "v1", resource))
            informer.add_handler(self._follow(resource))
            self._synced.append(informer)
        for informer in self._synced:
            await informer.synced()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.stop()
        await self.supervisor.stop()
        await self.store.stop()

    def direct(self) -> DirectTransport:
        """A transport into this server, as its own administrator."""
        return DirectTransport(self.dispatcher, ADMIN, self._name)

    async def listen(self, host: str = "127.0.0.1", port: int = 0, hosts: Sequence[str] = ()) -> int:
        """Serve HTTPS; returns the port."""
        if self._http is None:
            self._http = HttpServer(
                self._handle,
                admit=self._admit,
                tls=self._tls(hosts),
                renew=lambda: self._tls(hosts),
                renew_seconds=RENEWAL,
            )
        return await self._http.listen(host, port)

    def _requester_of(self, request: HttpRequest) -> UserInfo:
        return self._tokens.user_of(request.headers) or self.identity.requester_of(request)

    def _admit(self, request: HttpRequest) -> HttpResponse | int:
        """Judge a request before its body is read, as far as its bearer is known."""
        return UNAUTHENTICATED_BODY if self._tokens.must_ask(request.headers) else self._handler.admit(request)

    async def _handle(self, request: HttpRequest) -> HttpAnswer:
        if request.admitted is None and self._tokens.must_ask(request.headers):
            await self._tokens.ask(request.headers)
        return await self._handler(request)

    def _tls(self, hosts: Sequence[str]) -> "SSL.Context":
        if self._serving is None:
            return self.identity.tls(hosts)
        from karmada.machinery.httpserver.tls import server_context

        return server_context(*self._serving(), self._client_ca)

    def _follow(self, resource: str) -> Callable[[list[Change[JSONObject]]], None]:
        def changed(changes: list[Change[JSONObject]]) -> None:
            for change in changes:
                if change.new is None:
                    self.identity.rbac.remove(resource, change.key.namespace, change.key.name)
                else:
                    self.identity.rbac.put(resource, change.new.value)

        return changed

    async def _checks(self, page: str) -> dict[str, bool]:
        return {"ping": True, "roles": all(informer.has_synced for informer in self._synced)}

    def _is_known(self, key: RequestKey) -> bool:
        return self.catalog.serves(key.group, key.version, key.resource, key.subresource)

    def _suffix(self) -> str:
        return "".join(self._random.choices(GENERATED, k=5))

    def _index(self, kind: Kind, body: bytes) -> Index:
        served = self.catalog.stored(kind)
        obj = orjson.loads(body)
        if served is not None:
            return served.index(obj)
        return Index(obj["metadata"].get("uid", ""), {}, (), {})
