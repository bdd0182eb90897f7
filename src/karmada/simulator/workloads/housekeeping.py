"""What a controller manager does besides workloads, for API servers that have none.

The embedded API server does all of this itself; a stock kube-apiserver alone does not: without a `default` service
account it refuses pods, and without somebody to finish them namespaces end in the middle of their deletion.
"""

import contextlib

from karmada.machinery.controller import DONE, RequeueAfter, Result, own_key
from karmada.machinery.errors import AlreadyExists, Forbidden, MethodNotAllowed, NotFound
from karmada.machinery.informers.cache import Key
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, Request, Verb
from karmada.simulator.workloads.context import Workloads

NAMESPACES = GroupVersionResource("", "v1", "namespaces")
SERVICE_ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
AGAIN = 2.0
"""Seconds after which a namespace with something left in it is looked at again."""


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
            with contextlib.suppress(NotFound):
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
