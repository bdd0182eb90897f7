"""Deployment replicas syncer: the template of a Deployment that members scale asks for the replicas they have.

Off by default. For Deployments labelled `retain-replicas` whose replicas are divided; when the template may follow is
decided by `karmada.policies.autoscaling.retention`.
"""

from typing import Any

from karmada.api import names
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.context import Context
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, Result
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.policies.autoscaling.retention import is_retained, replicas_to_adopt

COMPONENT = "deployment-replicas-syncer"
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")


class ReplicasSyncer:
    """Sets the replicas of Deployment templates to what an HPA in the members made of them."""

    def __init__(self, context: Context) -> None:
        self._deployments: Informer[JSONObject] = context.informers.resource(DEPLOYMENTS)
        self._bindings: Informer[ResourceBinding] = context.informers.of(ResourceBinding)
        self._commit = Committer(context.client.resource(DEPLOYMENTS))
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            workers=1,
            needs=(self._deployments, self._bindings),
            lane=lambda key: key.namespace,
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(self._deployments, _retained)
        self.controller.watch(self._bindings, self._of_retained)

    async def reconcile(self, key: Key) -> Result:
        """Let the template of one Deployment follow its members, once their answer is certain."""
        deployment = self._deployments.get(key.name, key.namespace)
        binding = self._bindings.get(names.binding_name("Deployment", key.name), key.namespace)
        if deployment is None or binding is None:
            return DONE

        def followed(current: JSONObject) -> JSONObject:
            replicas = replicas_to_adopt(current, binding)
            return current if replicas is None else {**current, "spec": {**current["spec"], "replicas": replicas}}

        await self._commit.commit(deployment, followed)
        return DONE

    def _of_retained(self, change: Change[ResourceBinding]) -> list[Key]:
        if change.new is None or not self._deployments.has_synced:
            return []
        resource = change.new.value.spec.resource
        if resource.kind != "Deployment":
            return []
        deployment = self._deployments.get(resource.name, resource.namespace)
        return [Key(resource.namespace, resource.name)] if deployment and is_retained(deployment) else []


def _retained(change: Change[dict[str, Any]]) -> list[Key]:
    return [change.key] if change.new is not None and is_retained(change.new.value) else []
