"""What a controller manager does besides workloads, for API servers that have none.

The embedded API server does all of this itself; a stock kube-apiserver alone does not: without a `default` service
account it refuses pods, without a garbage collector nothing owned ever goes, and without somebody to finish them
namespaces end in the middle of their deletion.
"""

import contextlib
from functools import partial
from typing import Any

import orjson

from karmada.machinery.codec import Identity
from karmada.machinery.controller import DONE, RequeueAfter, Result, own_key
from karmada.machinery.errors import AlreadyExists, ApiError, Conflict, Forbidden, MethodNotAllowed, NotFound
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Propagation, Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject, Request, Verb
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import (
    CONTROLLER_REVISIONS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    JOBS,
    REPLICA_SETS,
    SERVICES,
    STATEFUL_SETS,
)

NAMESPACES = GroupVersionResource("", "v1", "namespaces")
SERVICE_ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
AGAIN = 2.0
"""Seconds after which a namespace with something left in it is looked at again."""
_OWNERS = {
    "Deployment": DEPLOYMENTS,
    "ReplicaSet": REPLICA_SETS,
    "StatefulSet": STATEFUL_SETS,
    "DaemonSet": DAEMON_SETS,
    "Job": JOBS,
    "CronJob": CRON_JOBS,
    "Service": SERVICES,
}
_OWNED = (REPLICA_SETS, JOBS, CONTROLLER_REVISIONS, ENDPOINT_SLICES)


class NamespaceKeeper:
    """Gives namespaces their default service account and finishes their deletion."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._namespaces = context.trees(NAMESPACES)
        self.controller = context.controller("namespace-controller", self.reconcile, (self._namespaces,))
        self.controller.watch(self._namespaces, own_key)

    async def reconcile(self, key: Key) -> Result:
        """Look after one namespace."""
        namespace = self._namespaces.get(key.name)
        if namespace is None:
            return DONE
        if not namespace["metadata"].get("deletionTimestamp"):
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            with contextlib.suppress(AlreadyExists):
                await self._context.client.resource(SERVICE_ACCOUNTS).create(account, key.name)
            return DONE
        if await self._empty(key.name):
            body = namespace | {"spec": {"finalizers": []}}
            request = Request(Verb.UPDATE, NAMESPACES, "", key.name, "finalize", {}, body)
            with contextlib.suppress(NotFound, Conflict):
                await self._context.client.transport.send(request)
            return DONE
        return RequeueAfter(AGAIN)

    async def _empty(self, namespace: str) -> bool:
        """Ask for the deletion of everything in a namespace; whether nothing is left."""
        left = False
        for known in await self._context.client.mapper.all():
            if not known.namespaced or not {"list", "deletecollection"} <= known.verbs:
                continue
            resource = self._context.client.resource(known.type)
            try:
                if (await resource.page(Scope(namespace), limit=1)).items:
                    left = True
                    await resource.delete_collection(Scope(namespace))
            except (NotFound, Forbidden, MethodNotAllowed):
                continue
        return not left


class Collector:
    """Deletes what is owned by workloads that are gone."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._owners = {kind: context.trees(type_) for kind, type_ in _OWNERS.items()}
        self._owned: dict[GroupVersionResource, Informer[Any]] = {type_: context.trees(type_) for type_ in _OWNED}
        needs: list[Informer[Any]] = [context.pods, *self._owners.values(), *self._owned.values()]
        self.controller = context.controller("garbage-collector", self.reconcile, needs)
        self._owned[context.pods.type] = context.pods
        for type_, informer in self._owned.items():
            self.controller.watch(informer, partial(self._dependent, type_))
        for informer in self._owners.values():
            self.controller.watch(informer, self._orphans)

    def _dependent(self, type_: GroupVersionResource, change: Change[Any]) -> list[tuple[GroupVersionResource, Key]]:
        return [(type_, change.key)] if change.new is not None and _references(change.new) else []

    def _orphans(self, change: Change[JSONObject]) -> list[tuple[GroupVersionResource, Key]]:
        """Everything of the namespace that might have belonged to an owner that went."""
        if change.new is not None or change.old is None:
            return []
        return [
            (type_, item.key)
            for type_, informer in self._owned.items()
            if informer.has_synced
            for item in informer.all_items(change.key.namespace)
            if any(reference["uid"] == change.old.uid for reference in _references(item))
        ]

    async def reconcile(self, which: tuple[GroupVersionResource, Key]) -> Result:
        """Delete one dependent if none of its owners is there."""
        type_, key = which
        item = self._owned[type_].item(key)
        if item is None:
            return DONE
        references = _references(item)
        for reference in references:
            if reference["kind"] not in self._owners or await self._exists(reference, key.namespace):
                return DONE
        resource = self._context.client.resource(type_)
        with contextlib.suppress(NotFound, Conflict):
            only = Identity(uid=item.uid)
            await resource.delete(key.name, key.namespace, only_if=only, propagation=Propagation.BACKGROUND)
        return DONE

    async def _exists(self, reference: JSONObject, namespace: str) -> bool:
        """Whether an owner is there; not in the cache does not mean not there."""
        cached = self._owners[reference["kind"]].item(Key(namespace, reference["name"]))
        if cached is not None and cached.uid == reference["uid"]:
            return True
        try:
            resource = self._context.client.resource(_OWNERS[reference["kind"]])
            found = await resource.get(reference["name"], namespace)
        except NotFound:
            return False
        except ApiError:
            return True
        return bool(found["metadata"]["uid"] == reference["uid"])


def _references(item: Item[Any]) -> list[JSONObject]:
    found: list[JSONObject] = orjson.loads(item.body)["metadata"].get("ownerReferences") or []
    return found
