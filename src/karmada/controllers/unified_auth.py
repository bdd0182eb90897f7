"""Unified authentication: who may use a cluster's proxy may be impersonated there, by two Works per cluster.

The Works are owned by the Cluster and go with it. A cluster without an impersonator gets none.
"""

from karmada.api import events, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import OwnerReference
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.clusters import stays
from karmada.controllers.context import Context
from karmada.controllers.work_writer import WRITE_ERRORS, WorkWriter, owners_of_kind, work_for
from karmada.machinery.controller import DONE, Controller, Result, Retry
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.membership import impersonation
from karmada.membership.objects import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, NAMESPACES

COMPONENT = "unified-auth-controller"


class UnifiedAuthController:
    """Writes to every member the impersonation rules for those who may use its proxy."""

    def __init__(self, context: Context) -> None:
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._works: Informer[Work] = context.informers.of(Work)
        self._roles = context.informers.resource(CLUSTER_ROLES)
        self._bindings = context.informers.resource(CLUSTER_ROLE_BINDINGS)
        self._namespaces = context.informers.resource(NAMESPACES)
        self._writer = WorkWriter(context.client, self._works)
        self._recorder = context.recorder(COMPONENT)
        self.controller: Controller[str] = Controller(
            COMPONENT,
            self.reconcile,
            workers=5,
            needs=(self._clusters, self._works, self._roles, self._bindings, self._namespaces),
            clock=context.clock,
        )
        self.controller.watch(self._clusters, _new_cluster)
        self.controller.watch(self._namespaces, _new_space)
        self._works.add_handler(self._works_changed)
        self.controller.watch(self._roles, self._role_changed)
        self.controller.watch(self._bindings, self._binding_changed)

    async def reconcile(self, name: str) -> Result:
        """Write the Works of one cluster."""
        cluster = self._clusters.get(name)
        if cluster is None or cluster.metadata.deletion_timestamp is not None:
            return DONE
        reference = cluster.spec.impersonator_secret_ref
        if reference is None or self._namespaces.get(names.execution_space(name)) is None:
            return DONE
        rules = impersonation.impersonation_rules(name, self._roles.values(), self._bindings.values())
        about = ObjectReference.to(cluster)
        try:
            written = [
                await self._write(cluster, manifest)
                for manifest in (impersonation.role(rules), impersonation.binding(reference.namespace))
            ]
        except WRITE_ERRORS as error:
            text = f"Sync impersonation config failed: {error}"
            self._recorder.event(about, events.WARNING, events.SYNC_IMPERSONATION_CONFIG.failed, text)
            return Retry(error)
        if any(written):
            text = "Sync impersonation config succeed."
            self._recorder.event(about, events.NORMAL, events.SYNC_IMPERSONATION_CONFIG.succeeded, text)
        return DONE

    async def _write(self, cluster: Cluster, manifest: JSONObject) -> bool:
        owner = OwnerReference(
            api_version="cluster.karmada.io/v1alpha1",
            kind="Cluster",
            name=cluster.metadata.name,
            uid=cluster.metadata.uid,
            controller=True,
            block_owner_deletion=True,
        )
        return await self._writer.write(work_for(cluster.metadata.name, manifest, owner=owner))

    def _works_changed(self, changes: list[Change[Work]]) -> None:
        """A cluster misses a Work of its own that is gone; when it leaves, they go."""
        for change in changes:
            if change.new is None and self._clusters.has_synced:
                for name in owners_of_kind("Cluster", change.item):
                    if stays(self._clusters.get(name)):
                        self.controller.enqueue(name)

    def _role_changed(self, change: Change[JSONObject]) -> list[str]:
        states = [item.value for item in (change.old, change.new) if item is not None]
        if change.initial or not any(impersonation.mentions_proxy(role) for role in states):
            return []
        return self._all()

    def _binding_changed(self, change: Change[JSONObject]) -> list[str]:
        """Any binding: one that has nothing to do with the proxy changes no rules, and finding out costs little."""
        return [] if change.initial else self._all()

    def _all(self) -> list[str]:
        return [item.key.name for item in self._clusters.all_items()] if self._clusters.has_synced else []


def _new_cluster(change: Change[Cluster]) -> list[str]:
    if change.new is None:
        return []
    if change.old is None:
        return [change.key.name]
    before, after = change.old.value.spec, change.new.value.spec
    return [change.key.name] if before.impersonator_secret_ref != after.impersonator_secret_ref else []


def _new_space(change: Change[JSONObject]) -> list[str]:
    name = change.key.name
    if change.old is None and change.new is not None and name.startswith(names.EXECUTION_SPACE_PREFIX):
        return [names.cluster_of_execution_space(name)]
    return []
