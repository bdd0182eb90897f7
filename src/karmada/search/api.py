"""The group search.karmada.io as one `LocalApi`: registries, `search/cache` and the `proxying` global API server."""

from dataclasses import dataclass
from pathlib import Path

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.search.v1alpha1 import ResourceRegistry
from karmada.apiserver.admission.named_secrets import NamedSecrets
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.auth.model import Authorizer
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.requests.access import Access, Guarded
from karmada.apiserver.requests.model import AnyAnswer, Call, Context
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.membership.members import Members
from karmada.search.access import MemberAccess
from karmada.search.cache_endpoint import CacheEndpoint
from karmada.search.caches import Caches
from karmada.search.controller import RegistryController
from karmada.search.fulltext import FullText
from karmada.search.kinds import Kinds
from karmada.search.names import GROUP, PROXYING, SEARCH
from karmada.search.opensearch.backends import Backends
from karmada.search.proxy import GlobalProxy, ToCluster, ToControlPlane
from karmada.search.query_endpoint import NAME as QUERY
from karmada.search.query_endpoint import QueryEndpoint
from karmada.search.registry_type import served_types
from karmada.search.sources import Finder
from karmada.search.templates import Templates
from karmada.search.templates_view import TemplatesView

REGISTRIES = (GROUP, "resourceregistries")
_OPENSEARCH = "spec.backendStore.openSearch"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What search works with: the control plane, the members, and how requests are passed on to both."""

    hub: Client
    registries: Client
    """Where registries are: the control plane, or a server of their own."""
    members: Members
    to_cluster: ToCluster
    to_control_plane: ToControlPlane
    authorizer: Authorizer
    """Says who may read the Secrets that registries name."""
    catalog: Catalog | None = None
    """Custom kinds with their columns, where the control plane is in the same process."""


class SearchApi:
    """What a server needs to serve search; `start` comes before the first request."""

    _cache: CacheEndpoint
    _query: QueryEndpoint
    _proxy: GlobalProxy

    def __init__(self, clock: Clock = REAL, file: Path | None = None) -> None:
        """`file` is where caches are kept over a restart; without one every start reads the members anew."""
        self._clock = clock
        self._file = file
        self._secrets = NamedSecrets(REGISTRIES, (f"{_OPENSEARCH}.secretRef",), (f"{_OPENSEARCH}.addresses",))
        self.local = LocalApi(
            served_types(),
            {
                (GROUP, SEARCH, ""): Guarded(Access.RESOURCE, self._searched),
                (GROUP, PROXYING, ""): Guarded(Access.RESOURCE, self._proxied),
            },
            [self._secrets],
        )

    def start(self, around: Surroundings, informers: InformerFactory, supervisor: Supervisor) -> Caches:
        """Follow clusters and registries, mirror what they call for, and answer from it."""
        clock = self._clock
        self._secrets.connect(around.authorizer)
        caches = Caches(around.members, Kinds(around.catalog), supervisor, clock)
        index = FullText(self._file)
        caches.index = index
        supervisor.start("full-text index", index.run)
        finder = Finder(caches, MemberAccess(clock))
        view = TemplatesView(caches, finder, Templates(informers))
        self._query = QueryEndpoint(finder, index)
        self._cache = CacheEndpoint(finder, around.hub)
        self._proxy = GlobalProxy(caches, finder, around.to_cluster, around.to_control_plane, view)
        registries = informers
        if around.registries is not around.hub:
            registries = InformerFactory(around.registries, supervisor, clock=clock)
        backends = Backends(around.hub, supervisor, clock, self._file.parent if self._file is not None else None)
        supervisor.start("opensearch queues", backends.run)
        controller = RegistryController(
            around.hub,
            around.registries,
            informers.of(Cluster),
            registries.of(ResourceRegistry),
            caches,
            backends,
            clock,
        )
        supervisor.start("search", controller.controller.run)
        return caches

    async def _searched(self, context: Context, call: Call) -> AnyAnswer:
        if call.name == QUERY and not call.subresource:
            return await self._query(context, call)
        return await self._cache(context, call)

    async def _proxied(self, context: Context, call: Call) -> AnyAnswer:
        return await self._proxy(context, call)
