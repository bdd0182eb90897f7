"""EndpointSlice dispatch: brings the collected slices of a MultiClusterService to its consumers, one Work for each.

One reconcile is about one slice of one provider. Slices of a provider that stays unreachable, or that a Remedy keeps
traffic from, are withdrawn and come back. Two providers never write one object of a consumer: who came first keeps it.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from karmada.api import annotations, conditions, events, finalizers, labels, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.networking.v1alpha1 import MultiClusterService
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.clusters import offers_changed
from karmada.controllers.context import Context
from karmada.controllers.current import BEHIND, is_known
from karmada.controllers.endpointslice_import import EndpointOptions
from karmada.controllers.multicluster_service import (
    EVERY,
    GATE,
    NAMES_CLUSTER,
    OF_SERVICE,
    names_cluster,
    of_service,
    spec_changed,
)
from karmada.controllers.objects import with_status_condition, without_finalizer
from karmada.controllers.work_writer import WRITE_ERRORS, WorkWriter, work_for
from karmada.machinery.committer import Absent, Committer, Unchanged
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result, Retry
from karmada.machinery.errors import ApiError
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.machinery.workqueue.queue import Priority
from karmada.works.build import WorkTerminating, manifest_of
from karmada.works.exposure import Dispatch, can_consume, dispatch
from karmada.works.slices import (
    MULTI_CLUSTER,
    MemberKey,
    cluster_of,
    collected_slice,
    collected_work,
    dispatched,
    dispatched_from,
    dispatched_work,
    slice_name,
)

COMPONENT = "endpointslice-dispatch-controller"
FROM_SLICE = "dispatched-from-slice"
BRINGS = "brings-slice"
OFFERED_BY = "offered-by-cluster"


class _Settled(NamedTuple):
    """A state of a collected Work (uid, generation), and the states of the consumers' Works (uid, resourceVersion) that
    were seen to hold exactly that."""

    source: tuple[str, int]
    works: dict[str, tuple[str, str]]


class SliceOfAnother(Exception):
    """A consumer has a slice of that name from another provider."""


class EndpointSliceDispatcher:
    """Keeps the Works of consumers at the slices that were collected from providers."""

    def __init__(self, context: Context, options: EndpointOptions) -> None:
        self._context = context
        self._dispatches = context.gates.enabled(GATE)
        """Without the gate slices stay as they were dispatched, and are withdrawn with what they were collected for."""
        self._tolerance = options.tolerance
        self._wanted: Informer[MultiClusterService] = context.informers.of(MultiClusterService)
        self._wanted.add_index(NAMES_CLUSTER, names_cluster)
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._works: Informer[Work] = context.informers.of(Work)
        self._works.add_index(OF_SERVICE, of_service)
        self._works.add_index(FROM_SLICE, _from_slice)
        self._works.add_index(BRINGS, _brings)
        self._works.add_index(OFFERED_BY, _offered_by)
        self._writer = WorkWriter(context.client, self._works)
        self._server = context.client.of(MultiClusterService)
        self._commit = Committer(self._server)
        self._recorder = context.recorder(COMPONENT)
        self._failed: dict[Key, dict[MemberKey, str]] = {}
        """What went wrong with slices of MultiClusterServices when they were looked at last."""
        self._settled: dict[MemberKey, _Settled] = {}
        """Slices whose Works were seen to be as they should: a cluster that comes back concerns all slices that it may
        get, and all of their other consumers have them already."""
        self.controller: Controller[MemberKey] = Controller(
            COMPONENT,
            self.reconcile,
            workers=context.concurrency.works,
            needs=(self._wanted, self._clusters, self._works),
            lane=lambda key: (key.namespace, key.cluster),
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(self._works, self._work_changed)
        self.controller.watch(self._wanted, self._service_changed)
        self._clusters.add_handler(self._clusters_changed)

    async def reconcile(self, key: MemberKey) -> Result:
        """Bring one slice of a provider to all of its consumers, and take it from all others."""
        work, space = collected_work(key), names.execution_space(key.cluster)
        source = self._works.get(work, space)
        present = self._works.indexed_items(FROM_SLICE, str(key))
        if source is None:
            if present and await self._context.client.of(Work).is_gone(work, space):
                await self._withdraw(key, present)
            await self._forget(key)
            return DONE
        owner = MULTI_CLUSTER.service(source) if source.metadata.deletion_timestamp is None else None
        if owner is None or slice_name(source) != (owner.namespace, key.name):
            await self._withdraw(key, present)
            await self._release(source)
            await self._forget(key)
            return DONE
        if not self._dispatches:
            return DONE
        service = self._wanted.get(owner.name, owner.namespace)
        known = {cluster.metadata.name: cluster for cluster in self._clusters.values()}
        plan = dispatch(service, key.cluster, known, self._context.clock.now(), self._tolerance)
        kept = set(map(names.execution_space, plan.keep))
        stale = [item for item in present if item.key.namespace not in kept]
        if stale and not await is_known(self._server, service, owner.name, owner.namespace):
            return RequeueAfter(BEHIND)
        await self._withdraw(key, stale)
        if service is None or not (plan.keep or plan.withdrawn):
            await self._forget(key)
            return DONE
        outcomes = await self._write(key, source, service, plan)
        errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        await self._report(key, service, plan, str(errors[0]) if errors else "", bool(stale) or any(outcomes))
        if errors:
            return Retry(str(errors[0]))
        return RequeueAfter(plan.changes_in) if plan.changes_in is not None else DONE

    async def _write(
        self, key: MemberKey, source: Work, service: MultiClusterService, plan: Dispatch
    ) -> list[Exception | bool]:
        """Write the Works of the consumers: for each whether it had to be, or what went wrong."""
        tree = manifest_of(source)
        name = dispatched_work(tree, key.cluster)
        state = (source.metadata.uid, source.metadata.generation)
        settled = self._settled.get(key)
        if settled is None or settled.source != state:
            settled = self._settled[key] = _Settled(state, {})

        async def write(consumer: str) -> Exception | bool:
            seen = self._works.item(Key(names.execution_space(consumer), name))
            manifest = dispatched(tree, key.cluster, service.metadata.name)
            try:
                self._require_free(key, consumer, manifest)
                written = await self._writer.write(
                    work_for(
                        consumer,
                        manifest,
                        name=name,
                        labels={
                            labels.MULTI_CLUSTER_SERVICE_NAMESPACE: service.metadata.namespace,
                            labels.MULTI_CLUSTER_SERVICE_NAME: service.metadata.name,
                        },
                        annotations={annotations.ENDPOINT_SLICE_PROVISION_CLUSTER: key.cluster},
                    )
                )
                if not written and seen is not None:
                    settled.works[consumer] = _state(seen)
                return written
            except WorkTerminating:
                return False  # the slice comes here again when that Work is gone
            except (*WRITE_ERRORS, SliceOfAnother) as error:
                return error

        # Works are not decoded here: those of all slices and consumers do not fit into what is kept decoded.
        items = {consumer: self._works.item(Key(names.execution_space(consumer), name)) for consumer in plan.write}
        changed = [
            consumer for consumer, item in items.items() if item is None or settled.works.get(consumer) != _state(item)
        ]
        return await asyncio.gather(*map(write, changed))

    def _require_free(self, key: MemberKey, consumer: str, manifest: JSONObject) -> None:
        """Raise `SliceOfAnother` if another provider's slice has the name that this one would have in a consumer, as
        `a` with `b-x` and `a-b` with `x` do."""
        name = manifest["metadata"]["name"]
        which = f"{names.execution_space(consumer)}/{key.namespace}/{name}"
        for work in self._works.indexed(BRINGS, which):
            if (other := dispatched_from(work)) != key and other is not None:
                raise SliceOfAnother(
                    f"EndpointSlice {key.namespace}/{name} of cluster {consumer} is of {other.cluster} already: "
                    f"rename {key.name} in {key.cluster}"
                )

    async def _withdraw(self, key: MemberKey, works: Iterable[Item[Work]]) -> None:
        await asyncio.gather(*(self._writer.remove(item.value, lambda w: dispatched_from(w) == key) for item in works))

    async def _release(self, source: Work) -> None:
        """The slice was taken from all consumers: its Work may go."""
        if finalizers.ENDPOINT_SLICE_DISPATCH in source.metadata.finalizers:
            await self._writer.update(source, without_finalizer(finalizers.ENDPOINT_SLICE_DISPATCH))

    async def _report(
        self, key: MemberKey, service: MultiClusterService, plan: Dispatch, failure: str, changed: bool
    ) -> None:
        """Say in condition and events the state of the slices of a MultiClusterService: one that fails is not hidden by
        others that do not."""
        about = ObjectReference.to(service)
        for refusal in plan.refused:
            self._recorder.event(about, events.WARNING, refusal.reason, refusal.text)
        if plan.withdrawn and changed:
            text = f"Endpoints of cluster {key.cluster} are withdrawn: {plan.withdrawn}"
            self._recorder.event(about, events.WARNING, events.ENDPOINTS_WITHDRAWN, text)
        failed = self._failed.setdefault(Key(service.metadata.namespace, service.metadata.name), {})
        failed.pop(key, None)
        if failure:
            failed[key] = failure
        is_written = await self._set_condition(service, failed)
        if failure:
            self._recorder.event(about, events.WARNING, events.DISPATCH_ENDPOINT_SLICE.failed, failure)
        elif not plan.withdrawn and (changed or is_written):
            message = "EndpointSlice are dispatched successfully"
            self._recorder.event(about, events.NORMAL, events.DISPATCH_ENDPOINT_SLICE.succeeded, message)

    async def _set_condition(self, service: MultiClusterService, failed: Mapping[MemberKey, str]) -> bool:
        """Write the condition of a MultiClusterService; whether it changed."""
        text = next(iter(failed.values()), "EndpointSlice are dispatched successfully")
        reason = (
            conditions.REASON_ENDPOINT_SLICE_DISPATCHED_FAILED
            if failed
            else conditions.REASON_ENDPOINT_SLICE_DISPATCHED
        )
        type_ = conditions.ENDPOINT_SLICE_DISPATCHED
        decide = with_status_condition(type_, not failed, reason, text, self._context.clock.now())
        return not isinstance(await self._commit.commit(service, decide), Unchanged | Absent)

    async def _forget(self, key: MemberKey) -> None:
        """A slice is nobody's any more, and what went wrong with it is no failure any more."""
        for owner, failed in [(owner, failed) for owner, failed in self._failed.items() if key in failed]:
            failure = failed.pop(key)
            service = self._wanted.get(owner.name, owner.namespace)
            try:
                if service is not None:
                    await self._set_condition(service, failed)
            except (ApiError, asyncio.CancelledError):
                failed[key] = failure  # the condition still says so, and whoever tries again has to find it
                raise

    def _service_changed(self, change: Change[MultiClusterService]) -> list[MemberKey]:
        if change.new is None:
            self._failed.pop(change.key, None)
        return self._slices(change.key) if spec_changed(change) else []

    def _work_changed(self, change: Change[Work]) -> list[MemberKey]:
        keys = _slices_of(change)
        for key in keys:
            self._settled.pop(key, None)
        if not keys and change.old is not None and change.new is not None:
            self._status_changed(change.old, change.new)
        return keys

    def _status_changed(self, old: Item[Work], new: Item[Work]) -> None:
        """A Work whose status alone changed holds what it held."""
        key = dispatched_from(new.value)
        settled = self._settled.get(key) if key is not None else None
        consumer = cluster_of(new.value.metadata)
        if settled is not None and settled.works.get(consumer) == _state(old):
            settled.works[consumer] = _state(new)

    def _clusters_changed(self, changes: list[Change[Cluster]]) -> None:
        """A cluster may concern very many slices: those that change meanwhile go first."""
        for change in changes:
            if offers_changed(change) and self._wanted.has_synced and self._works.has_synced:
                self.controller.enqueue_all(self._concerned(change), Priority.INITIAL)

    def _concerned(self, change: Change[Cluster]) -> Iterator[MemberKey]:
        """All slices that a cluster offers; and all that it may get, if it can take them since this change."""
        for item in self._works.indexed_items(OFFERED_BY, change.key.name):
            if (key := collected_slice(item.value)) is not None:
                yield key
        before, after = (can_consume(item.value if item is not None else None) for item in (change.old, change.new))
        if after and not before:
            for which in (change.key.name, EVERY):
                for service in self._wanted.indexed_items(NAMES_CLUSTER, which):
                    yield from self._slices(service.key)

    def _slices(self, service: Key) -> list[MemberKey]:
        """The slices that were collected for a MultiClusterService or dispatched for it."""
        works = self._works.indexed(OF_SERVICE, str(service)) if self._works.has_synced else ()
        found = (dispatched_from(work) or collected_slice(work) for work in works)
        return sorted({key for key in found if key is not None})


def _state(item: Item[Work]) -> tuple[str, str]:
    return item.uid, item.resource_version


def _from_slice(item: Item[Work]) -> Iterable[str]:
    """Index function of Works: the slice whose endpoints they bring to a consumer."""
    key = dispatched_from(item.value)
    return () if key is None else (str(key),)


def _offered_by(item: Item[Work]) -> Iterable[str]:
    """Index function of Works: the cluster whose slice was collected into them for a MultiClusterService."""
    owner = MULTI_CLUSTER.service(item.value)
    return () if owner is None else (owner.cluster,)


def _brings(item: Item[Work]) -> Iterable[str]:
    """Index function of Works: the slice that they make in a consumer."""
    which = slice_name(item.value) if dispatched_from(item.value) is not None else None
    return () if which is None else (f"{item.key.namespace}/{which[0]}/{which[1]}",)


def _slices_of(change: Change[Work]) -> list[MemberKey]:
    """The slices of Works that were collected or dispatched, before or after a change of their spec, labels,
    annotations or deletion."""
    states = [item.value for item in (change.old, change.new) if item is not None]
    if len(states) == 2 and _face(states[0]) == _face(states[1]):
        return []
    keys = (_slice_of(work) for work in states)
    return sorted({key for key in keys if key is not None})


def _slice_of(work: Work) -> MemberKey | None:
    metadata = work.metadata
    collected = MULTI_CLUSTER.service(work) or finalizers.ENDPOINT_SLICE_DISPATCH in metadata.finalizers
    return collected_slice(work) if collected else dispatched_from(work)


def _face(work: Work) -> object:
    metadata = work.metadata
    return metadata.generation, metadata.labels, metadata.annotations, metadata.deletion_timestamp
