"""Federated quota sync: each static assignment of a FederatedResourceQuota becomes a ResourceQuota in its cluster.

One Work per assignment and known cluster, labelled with the quota it belongs to. Works of clusters that are no longer
assigned, and of quotas that are gone, are deleted.
"""

import asyncio

from karmada.api import events, labels, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.policy.v1alpha1 import FederatedResourceQuota, StaticClusterAssignment
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.context import Context
from karmada.controllers.current import BEHIND, is_known
from karmada.controllers.quota_works import OF_QUOTA, of_quota, owner_of
from karmada.controllers.work_writer import WRITE_ERRORS, WorkWriter, work_for
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result, Retry
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.works.build import Draft
from karmada.works.owner import WorkOfAnother, recorded

COMPONENT = "federated-resource-quota-sync-controller"


class QuotaSyncController:
    """Writes the static assignments of FederatedResourceQuotas to members, through one Work per cluster."""

    def __init__(self, context: Context) -> None:
        self._quotas: Informer[FederatedResourceQuota] = context.informers.of(FederatedResourceQuota)
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._works: Informer[Work] = context.informers.of(Work)
        self._works.add_index(OF_QUOTA, of_quota)
        self._server = context.client.of(FederatedResourceQuota)
        self._writer = WorkWriter(context.client, self._works)
        self._recorder = context.recorder(COMPONENT)
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            workers=2,
            needs=(self._quotas, self._clusters, self._works),
            lane=lambda key: key.namespace,
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(self._quotas, _assignments_changed)
        self.controller.watch(self._clusters, self._new_cluster)
        self.controller.watch(self._works, _orphans_and_losses)

    async def reconcile(self, key: Key) -> Result:
        """Write the Works of one quota, and delete those it no longer wants."""
        quota = self._quotas.get(key.name, key.namespace)
        assignments = _assignments(quota)
        works = self._works.indexed(OF_QUOTA, str(key))
        left = [w for w in works if names.cluster_of_execution_space(w.metadata.namespace) not in assignments]
        if left and not await is_known(self._server, quota, key.name, key.namespace):
            return RequeueAfter(BEHIND)
        for work in left:
            await self._writer.remove(work, lambda current: owner_of(current) == key)
        if quota is None:
            return DONE
        # A cluster that leaves is emptied before its execution space goes: what is written anew would hold it for ever.
        clusters = [c.metadata.name for c in self._clusters.values() if c.metadata.deletion_timestamp is None]
        known = [assignments[name] for name in clusters if name in assignments]
        outcomes = await asyncio.gather(*(self._write(quota, item) for item in known))
        errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        if errors:
            self._recorder.event(ObjectReference.to(quota), events.WARNING, events.SYNC_WORK.failed, str(errors[0]))
            return Retry(str(errors[0]))
        if any(outcomes):
            text = f"Sync works for FederatedResourceQuota({key.namespace}/{key.name}) succeed."
            self._recorder.event(ObjectReference.to(quota), events.NORMAL, events.SYNC_WORK.succeeded, text)
        return DONE

    async def _write(self, quota: FederatedResourceQuota, item: StaticClusterAssignment) -> Exception | bool:
        """Whether the Work of an assignment had to be written; what went wrong otherwise."""
        owner = quota.metadata
        manifest: JSONObject = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": owner.name, "namespace": owner.namespace},
            "spec": {"hard": dict(item.hard)},
        }
        marks = {
            labels.FEDERATED_RESOURCE_QUOTA_NAMESPACE: owner.namespace,
            labels.FEDERATED_RESOURCE_QUOTA_NAME: owner.name,
        }
        draft = work_for(item.cluster_name, manifest, labels=marks)
        try:
            return await self._writer.write(draft, lambda w: _merged(draft, w))
        except WRITE_ERRORS as error:
            return error

    def _new_cluster(self, change: Change[Cluster]) -> list[Key]:
        if change.old is not None or change.new is None or not self._quotas.has_synced:
            return []
        return [item.key for item in self._quotas.all_items() if change.key.name in _assignments(item.value)]


def _merged(draft: Draft, existing: Work | None) -> Work:
    if existing is not None and (bindings := recorded(existing.metadata)):
        which = f"work {existing.metadata.namespace}/{existing.metadata.name}"
        raise WorkOfAnother(f"{which} belongs to {bindings[0]} and stays its: rename the quota to give it another Work")
    return draft.merged(existing)


def _assignments(quota: FederatedResourceQuota | None) -> dict[str, StaticClusterAssignment]:
    """The assignments by cluster; the first counts when a cluster is named twice."""
    if quota is None or quota.metadata.deletion_timestamp is not None:
        return {}
    return {item.cluster_name: item for item in reversed(quota.spec.static_assignments)}


def _assignments_changed(change: Change[FederatedResourceQuota]) -> list[Key]:
    before, after = (_assignments(item.value if item else None) for item in (change.old, change.new))
    return [change.key] if before != after or change.initial else []


def _orphans_and_losses(change: Change[Work]) -> list[Key]:
    """The quota of a Work that was found at start or is gone: it may be unwanted, or missed."""
    item = change.new if change.initial else change.old if change.new is None else None
    owner = owner_of(item.value) if item else None
    return [owner] if owner else []
