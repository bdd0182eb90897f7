"""The garbage collector for API servers that have none: what workloads own goes with them, or is orphaned first.

It knows the kinds that own things in a member. Dependents of an owner that is gone are deleted. An owner that is
deleted in the foreground waits for its dependents; one whose dependents are to be orphaned orphans them first.
"""

import contextlib
from functools import partial
from typing import Any

from karmada.machinery.codec import Identity
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Result
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Propagation
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.simulator.workloads.adoption import released
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import (
    CONTROLLER_REVISIONS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    JOBS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    SERVICES,
    STATEFUL_SETS,
)
from karmada.simulator.workloads.views import Owner, meta_of

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_OWNERS = {
    "Deployment": DEPLOYMENTS,
    "ReplicaSet": REPLICA_SETS,
    "ReplicationController": REPLICATION_CONTROLLERS,
    "StatefulSet": STATEFUL_SETS,
    "DaemonSet": DAEMON_SETS,
    "Job": JOBS,
    "CronJob": CRON_JOBS,
    "Service": SERVICES,
}
_OWNED = (REPLICA_SETS, JOBS, CONTROLLER_REVISIONS, ENDPOINT_SLICES)
Which = tuple[GroupVersionResource, Key]


class Collector:
    """Garbage collector for API servers without one: deletes or orphans what workloads own."""

    def __init__(self, context: Workloads) -> None:
        self._client = context.client
        self._owners = {type_: context.trees(type_) for type_ in _OWNERS.values()}
        self._owned: dict[GroupVersionResource, Informer[Any]] = {type_: context.trees(type_) for type_ in _OWNED}
        self._owned[PODS] = context.pods
        needs: list[Informer[Any]] = [*self._owners.values(), *self._owned.values()]
        self.controller = context.controller("garbage-collector", self.reconcile, needs)
        for type_, informer in self._owned.items():
            self.controller.watch(informer, partial(self._dependent_changed, type_))
        for type_, owners in self._owners.items():
            self.controller.watch(owners, partial(self._owner_changed, type_))

    def _dependent_changed(self, type_: GroupVersionResource, change: Change[Any]) -> list[Which]:
        """The dependent; when it is gone, its owners, which may have waited for it."""
        references = meta_of(change.item.body).owner_references or ()
        if change.new is not None:
            return [(type_, change.key)] if references else []
        return [
            (_OWNERS[reference.kind], Key(change.key.namespace, reference.name))
            for reference in references
            if reference.kind in _OWNERS
        ]

    def _owner_changed(self, type_: GroupVersionResource, change: Change[JSONObject]) -> list[Which]:
        """An owner that is going; when it is gone, everything that it owned."""
        if change.new is not None:
            return [(type_, change.key)] if meta_of(change.new.body).deletion_timestamp else []
        return [(kind, item.key) for kind, item in self._dependents(change.key.namespace, change.item.uid)]

    def _dependents(self, namespace: str, uid: str) -> list[tuple[GroupVersionResource, Item[Any]]]:
        return [
            (type_, item)
            for type_, informer in self._owned.items()
            if informer.has_synced
            for item in informer.all_items(namespace)
            if any(reference.uid == uid for reference in meta_of(item.body).owner_references or ())
        ]

    async def reconcile(self, which: Which) -> Result:
        """Let one owner go, or delete one dependent if none of its owners is there."""
        type_, key = which
        informer: Informer[Any] = self._owners[type_] if type_ in self._owners else self._owned[type_]
        item = informer.item(key)
        if item is None:
            return DONE
        meta = meta_of(item.body)
        finalizers = meta.finalizers or () if meta.deletion_timestamp else ()
        if ORPHAN in finalizers:
            await self._orphan_dependents(type_, item)
        elif FOREGROUND in finalizers:
            await self._delete_dependents(type_, item)
        elif meta.owner_references and not meta.deletion_timestamp:
            await self._judge(type_, item, meta.owner_references)
        return DONE

    async def _orphan_dependents(self, type_: GroupVersionResource, owner: Item[Any]) -> None:
        for kind, item in self._dependents(owner.key.namespace, owner.uid):
            resource = self._client.resource(kind)
            await Committer(resource).commit(resource.codec.decode(item.body), lambda seen: released(seen, owner.uid))
        await self._drop_finalizer(type_, owner, ORPHAN)

    async def _delete_dependents(self, type_: GroupVersionResource, owner: Item[Any]) -> None:
        dependents = self._dependents(owner.key.namespace, owner.uid)
        for kind, item in dependents:
            if not meta_of(item.body).deletion_timestamp:
                how = Propagation.FOREGROUND if kind in self._owners else Propagation.BACKGROUND
                await self._delete(kind, item, how)
        if not dependents:
            await self._drop_finalizer(type_, owner, FOREGROUND)

    async def _drop_finalizer(self, type_: GroupVersionResource, item: Item[Any], name: str) -> None:
        resource = self._client.resource(type_)

        def without(seen: JSONObject) -> JSONObject:
            metadata = seen["metadata"]
            kept = [one for one in metadata.get("finalizers") or () if one != name]
            return seen | {"metadata": metadata | {"finalizers": kept}}

        await Committer(resource).commit(resource.codec.decode(item.body), without)

    async def _judge(self, type_: GroupVersionResource, item: Item[Any], references: list[Owner]) -> None:
        for reference in references:
            if reference.kind not in _OWNERS or await self._exists(reference, item.key.namespace):
                return
        await self._delete(type_, item, Propagation.BACKGROUND)

    async def _delete(self, type_: GroupVersionResource, item: Item[Any], how: Propagation) -> None:
        with contextlib.suppress(NotFound):
            only = Identity(uid=item.uid)
            await self._client.resource(type_).delete(item.key.name, item.key.namespace, only_if=only, propagation=how)

    async def _exists(self, reference: Owner, namespace: str) -> bool:
        """Whether an owner is there; not in the cache does not mean not there."""
        type_ = _OWNERS[reference.kind]
        cached = self._owners[type_].item(Key(namespace, reference.name))
        if cached is not None and cached.uid == reference.uid:
            return True
        try:
            found = await self._client.resource(type_).get(reference.name, namespace)
        except NotFound:
            return False
        except ApiError:
            return True
        return bool(found["metadata"]["uid"] == reference.uid)
