"""Keeps the mirrors at what ResourceRegistries and clusters call for, and says in the registries how that went.

Every cluster and every registry has a key of its own: a cluster that does not answer delays no other.
"""

from typing import NamedTuple

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import set_condition
from karmada.api.search.v1alpha1 import ResourceRegistry
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock, rfc3339
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result
from karmada.machinery.discovery import ApiResource, UnknownKind
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource
from karmada.search.caches import LOADING, Caches
from karmada.search.opensearch.backends import Backends
from karmada.search.plan import (
    KindRef,
    backend_of,
    children_of,
    condition,
    destinations,
    kinds_of,
    wanted,
    with_backend,
)

COMPONENT = "karmada-search"
LOADING_AGAIN, TROUBLE_AGAIN = 1.0, 30.0
"""Seconds until a cluster that is being loaded, or that something is wrong with, is looked at again."""


class Key(NamedTuple):
    """What is reconciled: a cluster, or the registry of a name."""

    kind: str
    name: str


class RegistryController:
    """Reconciles clusters into mirrors and registries into conditions."""

    def __init__(
        self,
        hub: Client,
        registries_client: Client,
        clusters: Informer[Cluster],
        registries: Informer[ResourceRegistry],
        caches: Caches,
        backends: Backends,
        clock: Clock,
    ) -> None:
        """`hub` knows the kinds of the control plane; registries are written with `registries_client`."""
        self._hub = hub
        self._clusters = clusters
        self._registries = registries
        self._caches = caches
        self._backends = backends
        self._clock = clock
        self._commit = Committer(registries_client.of(ResourceRegistry))
        self._problems: dict[str, dict[KindRef, str]] = {}
        self.controller: Controller[Key] = Controller(
            COMPONENT, self.reconcile, workers=8, needs=(clusters, registries), clock=clock
        )
        self.controller.watch(clusters, lambda change: [Key("cluster", change.key.name)])
        self.controller.watch(registries, self._registry_changed)
        self.controller.enqueue(Key("registry", ""))  # Where there are none, that is what has to be known.
        backends.changed = self._backend_changed

    async def reconcile(self, key: Key) -> Result:
        """Bring one cluster or one registry up to date."""
        return await (self._cluster(key.name) if key.kind == "cluster" else self._registry(key.name))

    async def _cluster(self, name: str) -> Result:
        cluster = self._clusters.get(name)
        kinds = wanted(self._registries.values(), [cluster] if cluster is not None else ()).get(name)
        before = self._problems.get(name)
        if cluster is None or kinds is None:
            self._problems.pop(name, None)
            if self._caches.member(name) is not None:
                await self._caches.drop(name)
        elif not is_ready(cluster) and self._caches.member(name) is None:
            self._problems[name] = dict.fromkeys(kinds, "the cluster is not ready")
        else:
            self._problems[name] = await self._caches.apply(cluster, kinds)
        await self._send(name, cluster)
        if self._problems.get(name) != before:
            await self._register()
            for item in self._registries.all_items():
                self.controller.enqueue(Key("registry", item.key.name))
        troubles = [text for text in (self._problems.get(name) or {}).values() if text]
        if not troubles:
            return DONE
        return RequeueAfter(LOADING_AGAIN if LOADING in troubles else TROUBLE_AGAIN)

    async def _send(self, name: str, cluster: Cluster | None) -> None:
        """Have the mirrors of a cluster sent to the backends that registries name for them."""
        registries = self._registries.values()
        await self._backends.retain(ref for registry in registries if (ref := backend_of(registry)) is not None)
        caches = self._caches.member(name)
        wanted = destinations(registries, cluster) if cluster is not None else {}
        await self._backends.apply(name, wanted, caches.mirrors.values() if caches is not None else ())

    async def _registry(self, name: str) -> Result:
        await self._register()
        registry = self._registries.get(name)
        if registry is None or registry.metadata.deletion_timestamp:
            return DONE
        clusters = self._clusters.values()
        problems = {(cluster, kind): text for cluster, of in self._problems.items() for kind, text in of.items()}

        def decide(current: ResourceRegistry) -> ResourceRegistry:
            found = condition(current, clusters, problems, rfc3339(self._clock.now()))
            ref = backend_of(current)
            state = self._backends.state(ref) if ref is not None else None
            conditions = with_backend(set_condition(current.status.conditions, found), state, found)
            return msgspec.structs.replace(
                current, status=msgspec.structs.replace(current.status, conditions=conditions)
            )

        await self._commit.commit(registry, decide)
        return DONE

    async def _register(self) -> None:
        """Know the collections that registries name, as the control plane or a member spells them."""
        known: dict[GroupVersionResource, ApiResource] = {}
        children = {kind for registry in self._registries.values() for kind in children_of(registry)}
        shown: set[GroupVersionResource] = set()
        for kind in {kind for registry in self._registries.values() for kind in kinds_of(registry)}:
            resource = await self._resource(kind)
            if resource is not None:
                known[resource.type] = resource
                shown |= {resource.type} if kind in children else set()
        self._caches.register(known.values(), shown)

    async def _resource(self, kind: KindRef) -> ApiResource | None:
        try:
            return await self._hub.mapper.of_kind(*kind)
        except UnknownKind:
            return next((found for mapper in self._caches.mappers() if (found := mapper.known_kind(*kind))), None)

    def _backend_changed(self) -> None:
        for item in self._registries.all_items():
            if backend_of(item.value) is not None:
                self.controller.enqueue(Key("registry", item.key.name))

    def _registry_changed(self, change: Change[ResourceRegistry]) -> list[Key]:
        if change.old is not None and change.new is not None and _same(change.old.value, change.new.value):
            return [Key("registry", change.key.name)]
        clusters = self._clusters.all_items() if self._clusters.has_synced else ()
        return [Key("registry", change.key.name), *(Key("cluster", item.key.name) for item in clusters)]


def _same(one: ResourceRegistry, other: ResourceRegistry) -> bool:
    """Whether two states of a registry ask for the same."""
    return one.spec == other.spec and kinds_of(one) == kinds_of(other)
