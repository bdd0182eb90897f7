"""Leftover EndpointSlices: removes dispatched slices from members when no Work brings them there any more.

A cluster that cannot be reached while it leaves the federation keeps what was dispatched to it; joined again it would
send requests to endpoints that nobody looks after. Runs in the control plane for push clusters and in the agent for its
own. Only slices that bear all marks of a dispatch to that cluster are touched, and only if the server has no Work of
theirs; one that is wanted again gets its Work first.
"""

from karmada.api import events, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.clusters import is_back, is_ready
from karmada.controllers.context import Context
from karmada.controllers.member_watches import MemberWatches
from karmada.controllers.slice_collection import SLICES
from karmada.machinery.codec import Identity
from karmada.machinery.controller import DONE, Controller, Result, Retry
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.limits import printable
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.members import Members, MemberUnavailable
from karmada.works.exposure import lacks_slices
from karmada.works.slices import MemberKey, cluster_of, dispatched_from, dispatching_work, slice_name

COMPONENT = "leftover-endpointslice-controller"
GRACE = 30.0
"""Seconds that a slice may be without a Work: one that a returning cluster is still to have is never taken away."""


class LeftoverSlices:
    """Follows the slices that were dispatched to members, and deletes those without a Work."""

    def __init__(self, context: Context, members: Members, works: Informer[Work]) -> None:
        self._context = context
        self._members = members
        self._works = works
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._recorder = context.recorder(COMPONENT)
        self._watches = MemberWatches(self._clusters, self._slices_changed, self._loaded)
        self.controller: Controller[MemberKey] = Controller(
            COMPONENT,
            self.reconcile,
            lane=lambda key: key.cluster,
            needs=(works, self._clusters),
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(self._clusters, _reached)
        works.add_handler(self._works_changed)

    async def reconcile(self, key: MemberKey) -> Result:
        """Delete one slice if it is a leftover; a key without a name is about following a cluster."""
        cluster = self._clusters.get(key.cluster)
        if cluster is None or not self._members.concerns(cluster) or not is_ready(cluster) or lacks_slices(cluster):
            return DONE  # it comes again when the cluster is ready
        try:
            member = await self._members.connect(cluster)
        except MemberUnavailable as error:
            return Retry(str(error))
        slices = member.managed(SLICES)
        self._watches.follow(key.cluster, SLICES, slices)
        if not slices.has_synced:
            return DONE  # all are looked at when they have loaded
        if not key.name:
            self._loaded(key.cluster, SLICES, slices)
            return DONE
        item = slices.item(Key(key.namespace, key.name))
        if item is None or not await self._is_leftover(key.cluster, item):
            return DONE
        state = Identity(uid=item.uid, resource_version=item.resource_version)
        try:
            await member.client.encoded(SLICES).delete(key.name, key.namespace, only_if=state)
        except NotFound:
            return DONE
        except ApiError as error:
            return Retry(printable(str(error)))
        text = f"Removed EndpointSlice {key.namespace}/{key.name} from the cluster: no Work brings it there any more"
        self._recorder.event(ObjectReference.to(cluster), events.NORMAL, events.LEFTOVER_ENDPOINTS_REMOVED, text)
        return DONE

    async def _is_leftover(self, cluster: str, item: Item[JSONObject]) -> bool:
        """Whether the server has no Work of a slice either: its absence from a cache proves nothing."""
        work = self._missing_work(cluster, item)
        return bool(work) and await self._context.client.of(Work).is_gone(work, names.execution_space(cluster))

    def _missing_work(self, cluster: str, item: Item[JSONObject]) -> str:
        """The Work that brought a slice and is in the cache no more; empty for any other slice."""
        work = dispatching_work(item.body, cluster)
        return work if work and self._works.item(Key(names.execution_space(cluster), work)) is None else ""

    def _slices_changed(self, cluster: str, _: GroupVersionResource, changes: list[Change[JSONObject]]) -> None:
        for change in changes:
            if change.new is not None:
                self._consider(cluster, change.new)

    def _loaded(self, cluster: str, _: GroupVersionResource, slices: Informer[JSONObject]) -> None:
        for item in slices.all_items():
            self._consider(cluster, item)

    def _consider(self, cluster: str, item: Item[JSONObject]) -> None:
        if self._works.has_synced and self._missing_work(cluster, item):
            self.controller.queue.add_after(MemberKey(cluster, *item.key), GRACE)

    def _works_changed(self, changes: list[Change[Work]]) -> None:
        """A Work that went should have taken its slice along."""
        for change in changes:
            if change.new is not None:
                continue
            work = change.item.value
            if dispatched_from(work) is not None and (which := slice_name(work)) is not None:
                self.controller.queue.add_after(MemberKey(cluster_of(work.metadata), *which), GRACE)


def _reached(change: Change[Cluster]) -> list[MemberKey]:
    """The cluster that was found or came, or accepts workloads again."""
    return [MemberKey(change.key.name, "", "")] if change.old is None or is_back(change) else []
