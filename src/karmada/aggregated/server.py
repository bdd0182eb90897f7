"""The API server of one group: clusters on a storage of their own, beside an API server that knows everybody.

Who asks is told by that server (front-proxy headers) or shown by a certificate it would accept. What they may do is
decided here, from its roles and bindings, which are followed: a decision costs no request, and none is made before
they are loaded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from types import TracebackType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import orjson

from karmada.aggregated.api import ClusterApi
from karmada.api import labels
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.apiserver.admission.model import AdmissionChain, AdmissionRequest, Operation
from karmada.apiserver.auth.front_proxy import FrontProxies, refuse_shared_authority
from karmada.apiserver.auth.identity import Identity
from karmada.apiserver.auth.rbac import GROUP, KINDS
from karmada.apiserver.auth.usage import observed
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.crds.sources import schema_source
from karmada.apiserver.direct import DirectTransport
from karmada.apiserver.failures import forbidden
from karmada.apiserver.http.server import HttpServer
from karmada.apiserver.metrics import RequestKey
from karmada.apiserver.nonresource import ServerPages
from karmada.apiserver.overload.traffic import Traffic
from karmada.apiserver.requests.dispatcher import Dispatcher
from karmada.apiserver.requests.http_dispatcher import HttpDispatcher
from karmada.apiserver.requests.model import Context
from karmada.apiserver.requests.pipeline import Pipeline
from karmada.apiserver.server import ADMIN
from karmada.apiserver.storage.base import Storage
from karmada.apiserver.watchcache import Index, Kind, WatchCache
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.informers.informer import Informer
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, JSONObject

if TYPE_CHECKING:
    from OpenSSL import SSL

Serving = Callable[[], tuple[bytes, bytes]]
"""Reads certificate and key to serve with; asked again and again, as they are rotated."""
RENEWAL = 60.0
"""Seconds between two looks at the certificate."""
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom the server believes: CAs of clients, and of the proxy that speaks for them, with its allowed names."""

    client_ca: bytes = b""
    proxy_ca: bytes = b""
    proxy_names: Sequence[str] = ()


class ClusterServer:
    """The aggregated API server of cluster.karmada.io, beside an API server that authenticates its callers."""

    def __init__(
        self,
        storage: Storage,
        hub: Client,
        trust: Trust,
        *,
        gates: FeatureGates = DEFAULTS,
        folder: Path | None = None,
        serving: Serving | None = None,
        clock: Clock = REAL,
    ) -> None:
        refuse_shared_authority(trust.client_ca, trust.proxy_ca)
        self._hub = hub
        self._serving = serving
        self._client_ca = trust.client_ca + trust.proxy_ca
        self._random = SystemRandom()
        self.api = ClusterApi(gates, clock.now)
        self.catalog = Catalog(self.api.local.types)
        self.store = WatchCache(storage, self._index)
        proxies = FrontProxies(trust.proxy_ca, trust.proxy_names, clock.now) if trust.proxy_ca else None
        self.identity = Identity(
            self.store, folder, client_ca=trust.client_ca, anonymous=True, proxies=proxies, clock=clock.now
        )
        admission = AdmissionChain([*self.api.admission, DeletionProtection()])
        context = Context(
            self.store, self.catalog, admission, clock.now, lambda: str(uuid4()), self._suffix, "/registry"
        )
        traffic = Traffic(known=self._is_known)
        self._synced: list[Informer[Any]] = []
        pages = ServerPages(
            self.catalog,
            self.identity,
            self._checks,
            list,
            traffic.metrics.exposition,
            lambda type_: schema_source(self.store, type_),
        )
        self.dispatcher = Dispatcher(Pipeline(context, self.api.local.handlers), observed(self.identity.rbac), pages)
        self._handler = HttpDispatcher(
            self.dispatcher, self.identity.requester_of, None, traffic, self.identity.acting_as
        )
        self._http: HttpServer | None = None
        self.supervisor = Supervisor(clock)
        self.api.connect(hub, self.store)

    async def __aenter__(self) -> "ClusterServer":
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
        return DirectTransport(self.dispatcher, ADMIN, "karmada-aggregated-apiserver")

    async def listen(self, host: str = "127.0.0.1", port: int = 0, hosts: Sequence[str] = ()) -> int:
        """Serve HTTPS; returns the port."""
        if self._http is None:
            self._http = HttpServer(
                self._handler,
                admit=self._handler.admit,
                tls=self._tls(hosts),
                renew=lambda: self._tls(hosts),
                renew_seconds=RENEWAL,
            )
        return await self._http.listen(host, port)

    def _tls(self, hosts: Sequence[str]) -> "SSL.Context":
        if self._serving is None:
            return self.identity.tls(hosts)
        from karmada.apiserver.http.tls import server_context

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
        return "".join(self._random.choices(_SUFFIX, k=5))

    def _index(self, kind: Kind, body: bytes) -> Index:
        served = self.catalog.stored(kind)
        obj = orjson.loads(body)
        if served is not None:
            return served.index(obj)
        return Index(obj["metadata"].get("uid", ""), {}, (), {})


class DeletionProtection:
    """Refuses to delete what a label protects. An `AdmissionPlugin`: webhooks do not see this server's objects."""

    def applies(self, request: AdmissionRequest) -> bool:
        """Deletions of whole objects."""
        return request.operation is Operation.DELETE and not request.subresource

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing is changed."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Look for the label."""
        marks = ((request.old or {}).get("metadata") or {}).get("labels") or {}
        if marks.get(labels.DELETION_PROTECTED) == labels.DELETION_PROTECTED_ALWAYS:
            why = f"This resource is protected, please make sure to remove the label: {labels.DELETION_PROTECTED}"
            raise forbidden(request.type.group, request.type.plural, request.name, why)
