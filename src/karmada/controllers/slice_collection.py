"""Collects the EndpointSlices of Services in members into Works, for whoever asks for them.

Runs in the control plane for push clusters and in the agent for its own. A Work holds the slice as the member has it,
is never dispatched, and is shared by all uses of the slice. Nothing is deleted because a member was unreachable, or
because an informer has not loaded. One reconcile is about one Service of one member; a changed slice is one write.
"""

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from karmada.api import names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.clusters import is_back, is_ready
from karmada.controllers.context import Context
from karmada.controllers.member_watches import MemberWatches
from karmada.controllers.work_writer import WRITE_ERRORS, WorkWriter, work_for
from karmada.controllers.write_rate import Pace
from karmada.machinery.codec import untrusted_tree
from karmada.machinery.controller import DONE, Controller, Result, Retry
from karmada.machinery.errors import ApiError, BadAnswer
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.limits import printable
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.members import Member, Members, MemberUnavailable
from karmada.works.build import WorkTerminating
from karmada.works.slices import FOREIGN, MemberKey, Use, collected_work, service_of, unused, used

SLICES = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")
OF_SERVICE = "of-service"
LARGEST = 500
"""Slices of one Service that are collected; each holds a hundred endpoints or more."""
LANE_LIMIT = 16
"""Services of one member that are handled at the same time."""
IsRequested = Callable[[Member, MemberKey], bool | None]
"""Whether the slices of a Service are asked for; None when that is not known before something has loaded there."""
RequestsOf = Callable[[Work], Iterable[MemberKey]]
"""The Services of whose slices a Work asks for, or may ask for."""


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    labels: dict[str, str] | None = None


class _Head(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata


_head = msgspec.json.Decoder(_Head)


class SliceCollection:
    """Keeps the Works of one use at the slices that members have."""

    def __init__(
        self,
        component: str,
        context: Context,
        members: Members,
        works: Informer[Work],
        use: Use,
        is_requested: IsRequested,
        requests_of: RequestsOf,
    ) -> None:
        self._members = members
        self._works = works
        self._use = use
        self._is_requested = is_requested
        self._requests_of = requests_of
        self.index = f"collected-for-{use.kind}"
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._writer = WorkWriter(context.client, works)
        self._pace = Pace(context.clock)
        self._waiting: dict[str, set[MemberKey]] = {}
        """Services that were looked at before all was loaded that decides about them, by cluster."""
        self._blocked: dict[Key, MemberKey] = {}
        """Services whose slices cannot be collected before an earlier Work of theirs is gone, by that Work."""
        self._watches = MemberWatches(self._clusters, self._slices_changed, lambda cluster, *_: self.loaded(cluster))
        works.add_index(self.index, self._services_of)
        self.controller: Controller[MemberKey] = Controller(
            component,
            self.reconcile,
            workers=context.concurrency.works,
            lane=lambda key: key.cluster,
            lane_limit=LANE_LIMIT,
            needs=(works, self._clusters),
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(works, self._work_changed)
        self._clusters.add_handler(self._clusters_changed)

    async def reconcile(self, key: MemberKey) -> Result:
        """Bring the Works of one Service in line with its slices."""
        cluster = self._clusters.get(key.cluster)
        if cluster is None or not self._members.concerns(cluster) or not is_ready(cluster):
            return DONE  # it comes again when the cluster is ready
        if cluster.metadata.deletion_timestamp is not None:
            return DONE  # its Works are being deleted, and one that is written anew would hold it for ever
        try:
            member = await self._members.connect(cluster)
        except MemberUnavailable as error:
            return Retry(str(error))
        slices = member.informer(SLICES, Scope(labels=FOREIGN))
        if self._watches.follow(member.name, SLICES, slices):
            slices.add_index(OF_SERVICE, _service)
        requested = self._is_requested(member, key)
        if requested is None or not slices.has_synced:
            self._waiting.setdefault(key.cluster, set()).add(key)
            return DONE
        found = slices.indexed_items(OF_SERVICE, f"{key.namespace}/{key.name}") if requested else []
        wanted = {collected_work(MemberKey(key.cluster, *item.key)): item for item in found[:LARGEST]}
        present = self._works.indexed(self.index, str(key))
        jobs = [self._drop(work) for work in present if work.metadata.name not in wanted]
        jobs += [self._write(key, item) for item in wanted.values()]
        errors = [outcome for outcome in await asyncio.gather(*jobs) if outcome is not None]
        for bad in errors:
            if isinstance(bad, BadAnswer):
                member.blame(bad)
        return Retry(printable(str(errors[0]))) if errors else DONE

    def loaded(self, cluster: str) -> None:
        """Something that decides about a cluster's Services has loaded there: look at those that waited, and at those
        whose slices may have gone before they were followed."""
        for key in sorted(self._waiting.pop(cluster, set())):
            self.controller.enqueue(key)
        for work in self._works.values(names.execution_space(cluster)) if self._works.has_synced else ():
            for key in self._concerned(work):
                self.controller.enqueue(key)

    def _concerned(self, work: Work) -> list[MemberKey]:
        key = self._use.service(work)
        return [key] if key is not None else list(self._requests_of(work))

    async def _write(self, key: MemberKey, item: Item[JSONObject]) -> Exception | None:
        try:
            manifest = untrusted_tree(item.body)
            marks = {self._use.namespace_label: key.namespace, self._use.name_label: key.name}
            draft = work_for(key.cluster, manifest, labels=marks, holds=(self._use.finalizer,), suspended=True)
            if await self._writer.write(draft, lambda existing: used(draft.merged(existing), existing, self._use)):
                self._pace.take(_pace_key(key), len(item.body))
        except WorkTerminating:
            self._blocked[Key(draft.metadata.namespace, draft.metadata.name)] = key
        except (BadAnswer, *WRITE_ERRORS) as error:
            return error
        return None

    async def _drop(self, work: Work) -> Exception | None:
        """Give up a slice: delete its Work unless another use of it is left."""
        try:
            await release(self._writer, work, self._use)
        except ApiError as error:
            return error
        return None

    def _services_of(self, item: Item[Work]) -> Iterable[str]:
        key = self._use.service(item.value)
        return () if key is None else (str(key),)

    def _work_changed(self, change: Change[Work]) -> list[MemberKey]:
        """The Service of a collected slice whose Work came or went, as it may be unwanted by now, or missed; those that
        a Work asks for since this change, or no more."""
        if change.old is None or change.new is None:
            blocked = self._blocked.pop(change.key, None) if change.new is None else None
            return [*self._concerned(change.item.value), *([blocked] if blocked is not None else ())]
        before, after = set(self._requests_of(change.old.value)), set(self._requests_of(change.new.value))
        return sorted(before ^ after)

    def _slices_changed(self, cluster: str, _: GroupVersionResource, changes: list[Change[JSONObject]]) -> None:
        for change in changes:
            services = {one for item in (change.old, change.new) if item is not None for one in _service(item)}
            for service in sorted(services):
                key = MemberKey(cluster, *service.split("/"))
                self.controller.queue.add_after(key, self._pace.wait(_pace_key(key)))

    def _clusters_changed(self, changes: list[Change[Cluster]]) -> None:
        for change in changes:
            if change.new is None:
                self._waiting.pop(change.key.name, None)
                self._pace.forget(names.execution_space(change.key.name))
            elif is_back(change) and self._members.concerns(change.new.value):
                self.loaded(change.key.name)


async def release(writer: WorkWriter, work: Work, use: Use) -> None:
    """Take a use off the Work of a collected slice; it is deleted when that was the last."""

    def without(current: Work) -> Work:
        metadata = unused(current.metadata, use)
        return current if metadata is None else msgspec.structs.replace(current, metadata=metadata)

    if unused(work.metadata, use) is None:
        await writer.remove(work, lambda current: unused(current.metadata, use) is None)
    else:
        await writer.update(work, without)


def _service(item: Item[JSONObject]) -> Iterable[str]:
    """Index function of a member's slices: the Service they are of."""
    if names.is_reserved_namespace(item.key.namespace):
        return ()
    try:
        marks = _head.decode(item.body).metadata.labels or {}
    except (ValueError, RecursionError):
        return ()
    name = service_of({"metadata": {"labels": marks}})
    return (f"{item.key.namespace}/{name}",) if name else ()


def _pace_key(key: MemberKey) -> Key:
    return Key(names.execution_space(key.cluster), f"{key.namespace}/{key.name}")
