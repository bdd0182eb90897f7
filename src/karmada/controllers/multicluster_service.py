"""MultiClusterService of type CrossCluster: marks its providers and brings its Service to all clusters it names.

A provider is marked by a Work that holds the MultiClusterService and is never dispatched. The Service is claimed, so
that no policy propagates it, and gets a binding that names providers and consumers; when the MultiClusterService goes,
claim and marks go and the Service stays where it is, as under a policy.
"""

from collections.abc import Collection, Iterable

import msgspec
import orjson

from karmada.api import annotations, conditions, events, finalizers, labels, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import Condition, set_condition
from karmada.api.networking.v1alpha1 import MultiClusterService
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.clusters import is_ready, offers_changed
from karmada.controllers.context import Context
from karmada.controllers.current import BEHIND, is_current
from karmada.controllers.endpointslice_collect import marked_by
from karmada.controllers.objects import with_condition, with_finalizer, without_finalizer
from karmada.controllers.service_import import SERVICES
from karmada.controllers.slice_collection import release
from karmada.controllers.work_writer import WRITE_ERRORS, WorkWriter, work_for
from karmada.machinery.clock import rfc3339
from karmada.machinery.committer import Absent, Committer, Unchanged
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result, Retry
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.works import networks
from karmada.works.claimed_service import (
    BindingOfAnother,
    binding_of,
    claimed_service,
    merged,
    permanent_id,
    released_binding,
    released_service,
)
from karmada.works.exposure import consumers, is_cross_cluster, lacks_slices, providers
from karmada.works.slices import MULTI_CLUSTER, cluster_of

COMPONENT = "multiclusterservice-controller"
GATE = "MultiClusterService"
OF_SERVICE = "of-multi-cluster-service"
NAMES_CLUSTER = "names-cluster"
EVERY = "*"


class MultiClusterServiceController:
    """Reconciles the markers, the claim and the binding of MultiClusterServices."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._serves = context.gates.enabled(GATE)
        """Without the gate nothing is brought into force, and what was is taken back: it could not go otherwise."""
        self._wanted: Informer[MultiClusterService] = context.informers.of(MultiClusterService)
        self._wanted.add_index(NAMES_CLUSTER, names_cluster)
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._works: Informer[Work] = context.informers.of(Work)
        self._works.add_index(OF_SERVICE, of_service)
        self._bindings: Informer[ResourceBinding] = context.informers.of(ResourceBinding)
        self._services = context.informers.resource(SERVICES)
        self._writer = WorkWriter(context.client, self._works)
        self._server = context.client.of(MultiClusterService)
        self._commit = Committer(self._server)
        self._commit_service = Committer(context.client.resource(SERVICES))
        self._commit_binding = Committer(context.client.of(ResourceBinding))
        self._recorder = context.recorder(COMPONENT)
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            needs=(self._wanted, self._clusters, self._works, self._bindings, self._services),
            lane=lambda key: key.namespace,
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(self._wanted, spec_changed)
        self.controller.watch(self._services, self._service_changed)
        self.controller.watch(self._clusters, self._cluster_changed)
        self.controller.watch(self._works, _appeared)
        self.controller.watch(self._bindings, _binding_gone)

    async def reconcile(self, key: Key) -> Result:
        """Bring one MultiClusterService into force, or take back what was made for it."""
        wanted = self._wanted.get(key.name, key.namespace)
        if wanted is None:
            if await self._server.is_gone(key.name, key.namespace):
                await self._unmark(key, frozenset())
            return DONE
        if wanted.metadata.deletion_timestamp is not None or not is_cross_cluster(wanted):
            if finalizers.MULTI_CLUSTER_SERVICE in wanted.metadata.finalizers:
                await self._retire(wanted)
            return DONE
        if not self._serves:
            return DONE
        known = {cluster.metadata.name: cluster for cluster in self._clusters.values()}
        offering = providers(wanted, known)
        targets = sorted({*offering, *consumers(wanted, known)})
        if self._leaves(key, offering, targets) and not await is_current(self._server, wanted):
            return RequeueAfter(BEHIND)
        try:
            changed = await self._apply(wanted, known, offering, targets)
        except (*WRITE_ERRORS, BindingOfAnother) as error:
            await self._report(wanted, conditions.REASON_SERVICE_APPLIED_FAILED, str(error))
            return Retry(str(error))
        if changed is None:
            await self._report(wanted, conditions.REASON_SERVICE_APPLIED_FAILED, f'services "{key.name}" not found')
        else:
            await self._report(wanted, "", "Service is propagated to target clusters.", changed)
        return DONE

    async def _apply(
        self, wanted: MultiClusterService, known: dict[str, Cluster], offering: list[str], targets: list[str]
    ) -> bool | None:
        """Mark providers, claim the Service and write its binding; whether anything was written, None when there is no
        Service, which will bring the MultiClusterService here again."""
        key = Key(wanted.metadata.namespace, wanted.metadata.name)
        outcome = await self._commit.commit(wanted, with_finalizer(finalizers.MULTI_CLUSTER_SERVICE))
        if isinstance(outcome, Absent):
            return False
        changed = [await self._mark(wanted, name) for name in self._able(wanted, offering, known)]
        await self._unmark(key, frozenset(offering))
        service = self._services.get(key.name, key.namespace)
        if service is None or service["metadata"].get("deletionTimestamp"):
            return None
        written = await self._commit_service.commit(service, lambda current: claimed_service(current, wanted))
        if isinstance(written, Absent):
            return None
        fresh = binding_of(written.value, wanted, targets)
        name, space = fresh.metadata.name, fresh.metadata.namespace
        seen = self._bindings.get(name, space)
        bound = await self._commit_binding.ensure(name, space, lambda current: merged(current, fresh), seen)
        return any(changed) or not isinstance(written, Unchanged) or not isinstance(bound, Unchanged)

    def _able(self, wanted: MultiClusterService, offering: list[str], known: dict[str, Cluster]) -> Iterable[str]:
        """The providers that can be marked; of the others events say why not."""
        about = ObjectReference.to(wanted)
        for name in offering:
            cluster = known.get(name)
            if cluster is None:
                text = f"Provider cluster {name} is not found"
                self._recorder.event(about, events.WARNING, events.CLUSTER_NOT_FOUND, text)
            elif not is_ready(cluster):
                text = f"Provider cluster {name} is not ready, skip to propagate MultiClusterService"
                self._recorder.event(about, events.WARNING, events.SYNC_SERVICE.failed, text)
            elif lacks_slices(cluster):
                text = f"Provider cluster {name} does not support EndpointSlice"
                self._recorder.event(about, events.WARNING, events.API_INCOMPATIBLE, text)
            elif cluster.metadata.deletion_timestamp is None:
                yield name

    async def _mark(self, wanted: MultiClusterService, cluster: str) -> bool:
        manifest: JSONObject = orjson.loads(msgspec.json.encode(wanted))
        marks = {
            labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID: permanent_id(wanted),
            labels.MULTI_CLUSTER_SERVICE_NAMESPACE: wanted.metadata.namespace,
            labels.MULTI_CLUSTER_SERVICE_NAME: wanted.metadata.name,
        }
        return await self._writer.write(work_for(cluster, manifest, labels=marks, holds=(), suspended=True))

    def _leaves(self, key: Key, offering: Collection[str], targets: Collection[str]) -> bool:
        """Whether a cluster was a provider, or had the Service, that is none or shall not have it any more."""
        works = self._works.indexed(OF_SERVICE, str(key))
        marked = {cluster_of(work.metadata) for work in works if MULTI_CLUSTER.service(work) or any(marked_by(work))}
        binding = self._bindings.get(names.binding_name("Service", key.name), key.namespace)
        placement = binding.spec.placement if binding is not None else None
        affinity = placement.cluster_affinity if placement is not None else None
        bound = affinity.cluster_names if affinity is not None else ()
        return not (marked.issubset(offering) and set(bound).issubset(targets))

    async def _unmark(self, key: Key, kept: frozenset[str]) -> None:
        """Delete the markers of clusters that are no providers, and what was collected from them."""
        for work in self._works.indexed(OF_SERVICE, str(key)):
            if cluster_of(work.metadata) in kept:
                continue
            if MULTI_CLUSTER.service(work) is not None:
                await release(self._writer, work, MULTI_CLUSTER)
            elif list(marked_by(work)):
                await self._writer.remove(work)

    async def _retire(self, wanted: MultiClusterService) -> None:
        key = Key(wanted.metadata.namespace, wanted.metadata.name)
        service = self._services.get(key.name, key.namespace)
        if service is not None:
            await self._commit_service.commit(service, lambda current: released_service(current, wanted))
        binding = self._bindings.get(names.binding_name("Service", key.name), key.namespace)
        if binding is not None:
            await self._commit_binding.commit(binding, lambda current: released_binding(current, wanted))
        await self._unmark(key, frozenset())
        await self._commit.commit(wanted, without_finalizer(finalizers.MULTI_CLUSTER_SERVICE))

    async def _report(self, wanted: MultiClusterService, failure: str, text: str, changed: bool = False) -> None:
        """Say in condition and event how it went; `failure` is the reason, empty for success."""
        now = self._clock.now()
        reason = failure or conditions.REASON_SERVICE_APPLIED
        reach = self._reach(wanted)

        def decide(current: MultiClusterService) -> MultiClusterService:
            found = with_condition(
                current.status.conditions, conditions.SERVICE_APPLIED, not failure, reason, text, now
            )
            found = with_reach(found, reach, now)
            return msgspec.structs.replace(current, status=msgspec.structs.replace(current.status, conditions=found))

        outcome = await self._commit.commit(wanted, decide)
        if changed or not isinstance(outcome, Unchanged | Absent):
            event = events.SYNC_SERVICE.failed if failure else events.SYNC_SERVICE.succeeded
            kind = events.WARNING if failure else events.NORMAL
            self._recorder.event(ObjectReference.to(wanted), kind, event, text)

    def _reach(self, wanted: MultiClusterService) -> networks.Reach | None:
        """Whether consumers have routes to providers; None where no cluster declares its network."""
        known = {cluster.metadata.name: networks.declared(cluster) for cluster in self._clusters.values()}
        return networks.summary(consumers(wanted, known), providers(wanted, known), known)

    def _service_changed(self, change: Change[JSONObject]) -> list[Key]:
        """The MultiClusterService of a Service that came, went or changed in more than its status."""
        known = self._wanted.has_synced and self._wanted.item(change.key) is not None
        if not known:
            return []
        if change.old is not None and change.new is not None and _face(change.old) == _face(change.new):
            return []
        return [change.key]

    def _cluster_changed(self, change: Change[Cluster]) -> list[Key]:
        if not (offers_changed(change) or _network_changed(change)) or not self._wanted.has_synced:
            return []
        found = (self._wanted.indexed_items(NAMES_CLUSTER, which) for which in (change.key.name, EVERY))
        return [item.key for items in found for item in items]


def with_reach(existing: tuple[Condition, ...], reach: networks.Reach | None, now: float) -> tuple[Condition, ...]:
    """The conditions with `Reachable` as it is now; without it where nothing is declared."""
    if reach is None:
        return tuple(known for known in existing if known.type != conditions.REACHABLE)
    new = Condition(
        type=conditions.REACHABLE,
        status=reach.status,
        reason=reach.reason,
        message=reach.message,
        last_transition_time=rfc3339(now),
    )
    return set_condition(existing, new)


def _network_changed(change: Change[Cluster]) -> bool:
    old, new = change.old, change.new
    return old is None or new is None or networks.declared(old.value) != networks.declared(new.value)


def names_cluster(item: Item[MultiClusterService]) -> Iterable[str]:
    """Index function of MultiClusterServices: the clusters they name; `EVERY` for those that mean all."""
    spec = item.value.spec
    named = {selector.name for selector in (*spec.provider_clusters, *spec.consumer_clusters)}
    return named if spec.provider_clusters and spec.consumer_clusters else {*named, EVERY}


def of_service(item: Item[Work]) -> Iterable[str]:
    """Index function of Works: the MultiClusterService they are marked with."""
    marks = item.value.metadata.labels
    name = marks.get(labels.MULTI_CLUSTER_SERVICE_NAME)
    namespace = marks.get(labels.MULTI_CLUSTER_SERVICE_NAMESPACE)
    return (f"{namespace}/{name}",) if name else ()


def spec_changed(change: Change[MultiClusterService]) -> list[Key]:
    """A MultiClusterService that came, went or changed in more than its status."""
    if change.old is not None and change.new is not None:
        before, after = change.old.value, change.new.value
        same = before.spec == after.spec and before.metadata.deletion_timestamp == after.metadata.deletion_timestamp
        if same and before.metadata.annotations == after.metadata.annotations:
            return []
    return [change.key]


def _face(item: Item[JSONObject]) -> object:
    """What of a Service counts: not its status, nor who wrote it when."""
    metadata = item.value["metadata"]
    marks = metadata.get("labels"), metadata.get("annotations"), metadata.get("deletionTimestamp")
    return marks, item.value.get("spec")


def _binding_gone(change: Change[ResourceBinding]) -> list[Key]:
    """The MultiClusterService whose Service has lost its binding: that of an earlier Service of the name goes last."""
    if change.new is not None:
        return []
    noted = change.item.value.metadata.annotations
    name = noted.get(annotations.MULTI_CLUSTER_SERVICE_NAME)
    return [Key(change.key.namespace, name)] if name else []


def _appeared(change: Change[Work]) -> list[Key]:
    """The MultiClusterService of a marker that was found or came: it may be unwanted by now; or that went."""
    if change.old is not None and change.new is not None:
        return []
    return [Key(key.namespace, key.name) for key in marked_by(change.item.value)]
