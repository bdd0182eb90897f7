"""The group cluster.karmada.io as one `LocalApi`: the type, its proxy, its tunnels and its admission."""

import asyncio
import time
from collections.abc import Callable

from karmada.aggregated.agent_guard import AgentGuard
from karmada.aggregated.cluster_type import GROUP, PLURAL, PROXY, REVIEW, TUNNEL, cluster_type
from karmada.aggregated.failure_review import FailureReview
from karmada.aggregated.identities import CLUSTERS, ClusterIdentities
from karmada.aggregated.proxy.handler import ClusterProxy
from karmada.aggregated.proxy.upstream import Upstreams
from karmada.aggregated.tunnel_endpoint import TunnelEndpoint
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.apiserver.admission.named_secrets import NamedSecrets
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.auth.model import Authorizer, UserInfo
from karmada.apiserver.requests.access import Access, Guarded
from karmada.apiserver.requests.model import AnyAnswer, Call, Context
from karmada.apiserver.watchcache import Kind, StoreEvent, WatchCache
from karmada.machinery.client import Client
from karmada.machinery.httpserver.model import HttpRequest
from karmada.machinery.transport import EventType
from karmada.membership.access import SecretAccess
from karmada.membership.tunnel.tunnels import Tunnels

_SECRETS = ("spec.secretRef", "spec.impersonatorSecretRef")
_ADDRESS = ("apiEndpoint", "insecureSkipTLSVerification", "proxyHeader", "proxyURL", "syncMode")
_SHOWN_TO = tuple(f"spec.{field}" for field in _ADDRESS)


class ClusterApi:
    """What a server needs to serve clusters; `connect` gives it the client by which it reads Secrets."""

    def __init__(self, gates: FeatureGates = DEFAULTS, now: Callable[[], float] = time.time) -> None:
        self.tunnels = Tunnels()
        self._identities = ClusterIdentities()
        self._guard = AgentGuard()
        self._secrets = NamedSecrets(CLUSTERS, _SECRETS, _SHOWN_TO)
        self._proxy: ClusterProxy | None = None
        self._review: FailureReview | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.local = LocalApi(
            [cluster_type(gates, now)],
            {
                (GROUP, PLURAL, PROXY): Guarded(Access.RESOURCE, self._proxied),
                (GROUP, PLURAL, REVIEW): Guarded(Access.RESOURCE, self._reviewed),
                (GROUP, PLURAL, TUNNEL): Guarded(Access.RESOURCE, TunnelEndpoint(self.tunnels)),
            },
            [self._guard, self._secrets, self._identities],
        )

    def connect(self, hub: Client, store: WatchCache, authorizer: Authorizer) -> None:
        """Read Secrets with this client; Clusters are in this store; the authoriser says who may read what."""
        self._identities.connect(store)
        self._guard.connect(hub)
        self._secrets.connect(authorizer)
        store.subscribe(self._seen, CLUSTERS)
        self._proxy = ClusterProxy(Upstreams(SecretAccess(hub), self.tunnels))
        self._review = FailureReview(hub)

    async def forward(self, cluster: Cluster, request: HttpRequest, path: str, user: UserInfo) -> AnyAnswer:
        """Pass a request on to a path of a member, in the name of a user."""
        assert self._proxy is not None, "connect comes before the first request"
        return await self._proxy.forward(cluster, request, path, user)

    def _seen(self, kind: Kind, event: StoreEvent) -> None:
        """Whoever opened the tunnel of a Cluster that is gone does not speak for the next one of its name."""
        if kind == CLUSTERS and event.type is EventType.DELETED and self.tunnels.has(event.item.name):
            task = asyncio.get_running_loop().create_task(self.tunnels.drop(event.item.name))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _proxied(self, context: Context, call: Call) -> AnyAnswer:
        assert self._proxy is not None, "connect comes before the first request"
        return await self._proxy(context, call)

    async def _reviewed(self, context: Context, call: Call) -> AnyAnswer:
        assert self._review is not None, "connect comes before the first request"
        return await self._review(context, call)
