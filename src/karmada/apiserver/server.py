"""`ApiServer`: the parts wired together, usable in a test's own process or behind HTTPS.

    async with ApiServer() as server:
        transport = server.direct(ADMIN)

In memory it starts in milliseconds: schemas, keys and certificates are made when first needed.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random, SystemRandom
from types import TracebackType
from typing import TYPE_CHECKING

import orjson

from karmada.api.names import GENERATED
from karmada.apiserver.admission.addresses import DEFAULT_RANGE, ServiceAddresses
from karmada.apiserver.admission.claim_rights import ClaimRights
from karmada.apiserver.admission.claim_sizes import ClaimSizes
from karmada.apiserver.admission.defaults import (
    DefaultIngressClass,
    DefaultStorageClass,
    NodeTaint,
    OneDefaultPriority,
    PodPriority,
    PodTolerations,
    StorageInUse,
    VolumePhase,
)
from karmada.apiserver.admission.devices import DeviceAdmins, DeviceTaintTimes
from karmada.apiserver.admission.escalation import EscalationCheck
from karmada.apiserver.admission.lifecycle import NamespaceLifecycle, SystemPriorities, TerminatingDefinitions
from karmada.apiserver.admission.limits import LimitRanger
from karmada.apiserver.admission.model import AdmissionChain, AdmissionPlugin, AdmissionRequest
from karmada.apiserver.admission.mutating_policies import MutatingPolicies
from karmada.apiserver.admission.parameters import ParameterRights
from karmada.apiserver.admission.pod_security import PodSecurity, PodSecurityLabels
from karmada.apiserver.admission.policies import ValidatingPolicies
from karmada.apiserver.admission.policy_sets import PolicySet
from karmada.apiserver.admission.quota import ResourceQuotas
from karmada.apiserver.admission.runtime_classes import RuntimeClasses
from karmada.apiserver.admission.webhooks import MutatingWebhooks, ValidatingWebhooks, Webhooks
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.aggregation.proxy import Proxy
from karmada.apiserver.aggregation.services import ApiServices
from karmada.apiserver.audit import AuditLog
from karmada.apiserver.auth.front_proxy import CLIENT_NAME, FrontProxies, refuse_shared_authority, trust_document
from karmada.apiserver.auth.identity import Identity
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.static_tokens import StaticTokens
from karmada.apiserver.auth.usage import observed
from karmada.apiserver.bootstrap import bootstrap, publish
from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.builtin.conversions import converter_of
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.controllers.certificates import CertificateController
from karmada.apiserver.controllers.cluster_info import BootstrapSigner
from karmada.apiserver.controllers.cluster_roles import ClusterRoleAggregation
from karmada.apiserver.controllers.custom_resources import CustomResources
from karmada.apiserver.controllers.event_ttl import DEFAULT_BYTES as EVENT_BYTES
from karmada.apiserver.controllers.event_ttl import DEFAULT_SECONDS as EVENT_SECONDS
from karmada.apiserver.controllers.event_ttl import EventExpiry
from karmada.apiserver.controllers.expiry import Expiry
from karmada.apiserver.controllers.garbage import GarbageCollector
from karmada.apiserver.controllers.namespaces import NamespaceController
from karmada.apiserver.controllers.root_certificates import RootCertificates
from karmada.apiserver.controllers.service_accounts import ServiceAccounts
from karmada.apiserver.controllers.worker import Controller
from karmada.apiserver.crds.conversion import WebhookConverter
from karmada.apiserver.crds.sources import schema_source
from karmada.apiserver.direct import DirectTransport
from karmada.apiserver.flowcontrol import FlowSchemaStatus, seed
from karmada.apiserver.http_dispatcher import HttpDispatcher, JudgeWatch
from karmada.apiserver.metrics import RequestKey
from karmada.apiserver.nonresource import ServerPages
from karmada.apiserver.outgoing import Caller, HttpCaller
from karmada.apiserver.overload.traffic import Traffic
from karmada.apiserver.requests.access import Access, Guarded
from karmada.apiserver.requests.decoding import conform
from karmada.apiserver.requests.dispatcher import Dispatcher
from karmada.apiserver.requests.model import Call, Context
from karmada.apiserver.requests.pipeline import Pipeline, Special, Specials, Verb
from karmada.apiserver.requests.subresources import own_kind
from karmada.apiserver.requests.subresources.certificates import CertificateRules, approval
from karmada.apiserver.requests.subresources.connect import Backends, Connect
from karmada.apiserver.requests.subresources.finalize import finalize
from karmada.apiserver.requests.subresources.pod_parts import ephemeral_containers, resize
from karmada.apiserver.requests.subresources.pods import bind, evict
from karmada.apiserver.requests.subresources.reviews import review_handlers, token_handler
from karmada.apiserver.requests.subresources.scale import scale
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.served_resource import Converter, Served, metadata_index
from karmada.apiserver.services import address_of
from karmada.apiserver.storage.base import Storage, StorageFailed
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.watchcache import Bounds, Index, Kind, WatchCache
from karmada.machinery.httpserver.mounts import Mounted, Mounts
from karmada.machinery.httpserver.server import HttpServer

if TYPE_CHECKING:
    from OpenSSL import SSL

ADMIN = UserInfo("system:admin", ("system:masters", "system:authenticated"))
STORAGE_SECONDS = 2.0
"""How long /readyz waits for the storage."""
_VARIANT = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}
"""How the fourth group of a random uuid begins."""


@dataclass(slots=True)
class ApiServerOptions:
    """What an API server is made of."""

    storage: Storage = field(default_factory=MemoryStorage)
    folder: Path | None = None
    """Where keys and certificates are kept; None keeps them in memory."""
    admission: Sequence[AdmissionPlugin] = ()
    """Plugins beside Kubernetes' own; they change and judge objects before webhooks do."""
    backends: Backends = field(default_factory=Backends)
    """Who answers log, exec, attach, portforward and proxy."""
    apis: Sequence[LocalApi] = ()
    """Further API groups that this process serves."""
    converters: Mapping[str, Converter] = field(default_factory=dict)
    """Who converts the objects of CRDs, by the CRD's name, in place of a conversion webhook."""
    controllers: bool = True
    """Whether this server runs the inherited controllers; one of several on the same storage does."""
    default_accounts: bool = True
    """Whether every namespace gets a service account `default`; of use only where pods run."""
    root_certificates: bool = False
    """Whether every namespace gets a ConfigMap with the CA of this server; of use only where pods run."""
    namespace_grace: float = 0.0
    """Seconds before the content of a namespace that ends is deleted."""
    storage_protection: bool = True
    """Whether volumes and claims are kept while in use; needs something that knows when they no longer are."""
    service_range: str = DEFAULT_RANGE
    """Where cluster IPs come from."""
    audit: Path | None = None
    """Where to write the audit log; None writes none."""
    event_seconds: float = EVENT_SECONDS
    """How long events are kept."""
    event_bytes: int = EVENT_BYTES
    """How many bytes of events are kept: the oldest go first."""
    client_ca: bytes = b""
    """Further CAs (PEM) whose client certificates count."""
    serving: tuple[bytes, bytes] | None = None
    """Certificate and key (PEM) to serve with, instead of one of the server's own CA."""
    static_tokens: str = ""
    """Fixed tokens, as in a token file."""
    key_prefix: str = "/registry"
    """What refusals of the storage call the place of objects."""
    anonymous: bool = True
    issuer: str = ""
    signing_key: bytes = b""
    """Key (PEM) that signs service account tokens, instead of one of the server's own."""
    token_keys: Sequence[bytes] = ()
    """Further keys (PEM) whose tokens count."""
    proxies: tuple[bytes, Sequence[str]] | None = None
    """CA (PEM) and names of front proxies whose `X-Remote-*` headers are believed; never a CA of clients."""
    proxy_client: tuple[str, str] | None = None
    """Files of the certificate and key, from the CA of `proxies`, with which aggregated servers are called; without
    them the server makes a CA and a certificate of its own for that."""
    caller: Caller = field(default_factory=HttpCaller)
    """How webhooks and aggregated servers are called."""
    now: Callable[[], float] = time.time
    read_only: bool = False
    """Whether the server writes nothing of its own: for a storage that can only be read."""
    history: Bounds = field(default_factory=Bounds)
    """How much of the past is kept in memory for watches and pages that began there."""
    judge_watch: JudgeWatch = lambda call: None
    """Refuses watches over HTTP that would wait in vain."""
    random: Random = field(default_factory=SystemRandom)
    """Where uids, generated names and addresses come from; a seeded one makes a server repeat itself."""


class ApiServer:
    """One API server."""

    def __init__(self, options: ApiServerOptions | None = None) -> None:
        self.options = options = options or ApiServerOptions()
        types = [*builtin_types(), *(type_ for api in options.apis for type_ in api.types)]
        self.catalog = Catalog(types, converter_of)
        self.store = WatchCache(options.storage, self._index, options.history)
        if options.proxies is not None:
            refuse_shared_authority(options.client_ca, options.proxies[0])
        self.identity = Identity(
            self.store,
            options.folder,
            static=StaticTokens.parse(options.static_tokens) if options.static_tokens else None,
            client_ca=options.client_ca,
            anonymous=options.anonymous,
            issuer=options.issuer,
            signing_key=options.signing_key,
            token_keys=options.token_keys,
            proxies=FrontProxies(*options.proxies, options.now) if options.proxies is not None else None,
            proxy_client=options.proxy_client,
            clock=options.now,
        )
        self.authorizer = observed(self.identity.rbac)
        self.audit = AuditLog(options.audit) if options.audit is not None else None
        self.traffic = Traffic(audit=self.audit, known=self._is_known)
        figures = self.traffic.metrics
        figures.gauge("apiserver_storage_objects", "Stored objects.", "resource", self._stored_objects)
        read_only = {"apiserver": float(options.read_only)}
        figures.gauge("karmada_storage_read_only", "Whether nothing can be written.", "component", lambda: read_only)
        self._caller = options.caller
        self.context = Context(
            self.store,
            self.catalog,
            AdmissionChain(self._plugins()),
            self.authorizer,
            options.now,
            self._uid,
            self._suffix,
            options.key_prefix,
        )
        self.pipeline = Pipeline(self.context, self._specials())
        self._ready = False
        self.api_services = ApiServices(self.context, Proxy(self.store, self._caller, self.identity.front_proxy_files))
        self.pages = ServerPages(
            self.catalog,
            self.identity,
            self._checks,
            self.api_services.groups,
            self._metrics_text,
            partial(schema_source, self.store),
        )
        self.dispatcher = Dispatcher(self.pipeline, self.authorizer, self.pages)
        self.custom_resources = CustomResources(self.context, self._converter)
        self._controllers: list[Controller] = [
            NamespaceController(self.context, options.namespace_grace),
            GarbageCollector(self.context),
            ServiceAccounts(
                self.context,
                self.identity,
                self._authority,
                defaults=options.default_accounts,
            ),
            ClusterRoleAggregation(self.context),
            CertificateController(self.context, self.identity),
            Expiry(self.context),
            BootstrapSigner(self.context),
            EventExpiry(self.context, options.event_seconds, options.event_bytes),
            FlowSchemaStatus(self.context),
            *([RootCertificates(self.context, self._authority)] if options.root_certificates else []),
        ]
        self.mounts: dict[str, Mounted] = {}
        """Handlers beside the API, by the first part of the paths they answer for."""
        self._http: HttpServer | None = None

    async def __aenter__(self) -> "ApiServer":
        await self.store.start()
        self.identity.follower.start()
        self.custom_resources.load()
        self.api_services.load()
        if not self.options.read_only:
            await bootstrap(self.context)
        if self._runs_controllers:
            self.custom_resources.start()
            await self.api_services.write_local()
            self.api_services.start()
            for controller in self._controllers:
                controller.start()
        self._ready = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._ready = False
        if self._http is not None:
            await self._http.stop()
        if self._runs_controllers:
            for controller in reversed(self._controllers):
                await controller.stop()
            await self.api_services.stop()
            await self.custom_resources.stop()
        await self._caller.close()
        await self.store.stop()
        if self.audit is not None:
            self.audit.close()

    @property
    def _runs_controllers(self) -> bool:
        return self.options.controllers and not self.options.read_only

    def direct(self, user: UserInfo = ADMIN, agent: str = "karmada") -> DirectTransport:
        """A transport into this server, as a user."""
        return DirectTransport(self.dispatcher, user, agent)

    async def listen(self, host: str = "127.0.0.1", port: int = 0, hosts: Sequence[str] = (), tls: bool = True) -> int:
        """Serve HTTP(S) on an address, with a certificate for `hosts`; returns the port."""
        if self._http is None:
            context = self._tls(hosts) if tls else None
            dispatcher = HttpDispatcher(
                self.dispatcher,
                self.identity.requester_of,
                self.api_services,
                self.traffic,
                self.identity.acting_as,
                self.options.judge_watch,
            )
            renew = (lambda: self._tls(hosts)) if tls else None
            handler: Mounted = Mounts(dispatcher, self.mounts) if self.mounts else dispatcher
            self._http = HttpServer(handler, admit=handler.admit, tls=context, renew=renew)
        port = await self._http.listen(host, port)
        if not self.options.read_only:
            await self.announce(host, port)
            await seed(self.context)
        return port

    async def announce(self, host: str, port: int) -> None:
        """Publish the address of the server and the certificates to trust, for clients inside the cluster."""
        clients = self.identity.authority.certificate_pem + self.options.client_ca
        if self.options.proxies is not None and self.options.proxy_client is not None:
            trust = trust_document(clients, *self.options.proxies)
        else:
            trust = trust_document(clients, self.identity.front_proxy_authority.certificate_pem, (CLIENT_NAME,))
        await publish(self.context, host, port, self.options.service_range, trust)

    def _authority(self) -> bytes:
        return self.identity.authority.certificate_pem

    def _tls(self, hosts: Sequence[str]) -> "SSL.Context":
        if self.options.serving is None:
            return self.identity.tls(hosts)
        from karmada.machinery.httpserver.tls import server_context

        authorities = self.identity.authority.certificate_pem + self.options.client_ca
        return server_context(*self.options.serving, authorities)

    def _plugins(self) -> list[AdmissionPlugin]:
        """In the order in which they change objects; refusals come in the same order."""
        store = self.store
        hooks = Webhooks(store, self.catalog, self.authorizer, self._caller, self._uid, self._canonical)
        return [
            NamespaceLifecycle(store),
            SystemPriorities(),
            TerminatingDefinitions(store),
            LimitRanger(store),
            PodSecurity(store),
            PodSecurityLabels(),
            PodPriority(store),
            OneDefaultPriority(store),
            PodTolerations(store),
            DefaultStorageClass(store),
            ClaimSizes(store),
            RuntimeClasses(store),
            *([StorageInUse()] if self.options.storage_protection else []),
            CertificateRules(self.authorizer, self.options.now),
            DefaultIngressClass(store),
            NodeTaint(store),
            VolumePhase(store, self.options.now),
            DeviceTaintTimes(self.options.now),
            DeviceAdmins(store),
            ClaimRights(self.authorizer),
            *(plugin for api in self.options.apis for plugin in api.admission),
            *self.options.admission,
            MutatingPolicies(PolicySet(store, self.catalog, self.authorizer, "mutating"), self._canonical),
            MutatingWebhooks(hooks),
            EscalationCheck(self.identity.rbac),
            ParameterRights(store, self.catalog, self.authorizer),
            ServiceAddresses(store, self.options.service_range, self.options.random),
            ValidatingPolicies(PolicySet(store, self.catalog, self.authorizer, "validating")),
            ValidatingWebhooks(hooks),
            ResourceQuotas(store, self._stored("resourcequotas")),
        ]

    def _uid(self) -> str:
        bits = f"{self.options.random.getrandbits(128):032x}"
        return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-{_VARIANT[bits[16]]}{bits[17:20]}-{bits[20:]}"

    def _suffix(self) -> str:
        return "".join(self.options.random.choices(GENERATED, k=5))

    def _converter(self, crd: JSONObject) -> Converter | None:
        """How the objects of a CRD are converted; None when versions differ in name only."""
        own = self.options.converters.get(crd["metadata"]["name"])
        if own is not None:
            return own
        if (crd["spec"].get("conversion") or {}).get("strategy") != "Webhook":
            return None
        return WebhookConverter(crd, self._caller, partial(address_of, self.store), self._uid)

    def _stored(self, plural: str) -> Served:
        served = self.catalog.stored(("", plural))
        assert served is not None
        return served

    def _canonical(self, request: AdmissionRequest, obj: JSONObject) -> JSONObject:
        """An object that a webhook or a policy changed, decoded and defaulted like one from a client."""
        if request.kind is not None:
            own_kind.decoded(request.kind, obj)
            return obj
        served = self.catalog.find(request.type.group, request.type.version, request.type.plural)
        assert served is not None
        conform(Call("update", served, request.user), obj, "Ignore")
        return obj

    def _specials(self) -> Specials:
        connect = Connect(self.options.backends)
        own: dict[Special, Verb] = {
            ("*", "*", "scale"): scale,
            ("", "bindings", ""): bind,
            ("", "pods", "binding"): bind,
            ("", "pods", "eviction"): evict,
            ("", "pods", "ephemeralcontainers"): ephemeral_containers,
            ("", "pods", "resize"): resize,
            ("", "namespaces", "finalize"): finalize,
            ("", "serviceaccounts", "token"): token_handler(self.identity),
            ("certificates.k8s.io", "certificatesigningrequests", "approval"): approval,
            **{("*", "*", name): connect for name in ("log", "exec", "attach", "portforward", "proxy")},
        }
        return {
            **{special: Guarded(Access.RESOURCE, handler) for special, handler in own.items()},
            **review_handlers(self.identity, self.identity.rbac),
            **{special: handler for api in self.options.apis for special, handler in api.handlers.items()},
        }

    def _is_known(self, key: RequestKey) -> bool:
        """Whether a request is on something that is served, here or by an aggregated server."""
        resource = key.group, key.version, key.resource, key.subresource
        return self.catalog.serves(*resource) or self.api_services.serves(*resource)

    def _stored_objects(self) -> dict[str, float]:
        """By resource, as `deployments.apps`."""
        return {f"{plural}.{group}".rstrip("."): count for (group, plural), count in self.store.counts().items()}

    async def _metrics_text(self) -> bytes:
        return await self.traffic.metrics.exposition()

    async def _checks(self, page: str) -> dict[str, bool]:
        """A storage that fails makes the server unready, but restarting it would not help."""
        storage = page == "livez" or await self._storage_works()
        return {"ping": True, "etcd": storage, "poststarthook/bootstrap": self._ready}

    async def _storage_works(self) -> bool:
        try:
            async with asyncio.timeout(STORAGE_SECONDS):
                await self.store.check()
        except (StorageFailed, TimeoutError):
            return False
        return True

    def _index(self, kind: Kind, body: bytes) -> Index:
        served = self.catalog.stored(kind)
        if served is not None and served.selects:
            return served.index(orjson.loads(body))
        return metadata_index(body)
