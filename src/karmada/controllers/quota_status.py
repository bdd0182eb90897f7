"""Federated quota status: what the ResourceQuotas of members say, aggregated into their FederatedResourceQuota.

Without the gate FederatedQuotaEnforcement the overall use is the sum of what members report; with it, the enforcement
controller counts bindings instead. Members that the quota assigns nothing to have no part in it, whatever Works their
agents write. A member whose report cannot be read is left out and named in an event.
"""

import msgspec

from karmada.api import events, names
from karmada.api.base import ResourceList
from karmada.api.codec import DecodeError, decode
from karmada.api.policy.v1alpha1 import ClusterQuotaStatus, FederatedResourceQuota
from karmada.api.quantity import Quantity, QuantityError
from karmada.api.work.v1alpha1 import Work, WorkStatus
from karmada.controllers.context import Context
from karmada.controllers.quota_works import OF_QUOTA, of_quota, owner_of
from karmada.machinery.committer import Committer, Written
from karmada.machinery.controller import DONE, Controller, Result
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.policies.quota import sum_used
from karmada.works.status import is_applied

COMPONENT = "federated-resource-quota-status-controller"


class QuotaStatusController:
    """Aggregates the usage of members' ResourceQuotas into the status of FederatedResourceQuotas."""

    def __init__(self, context: Context) -> None:
        self._is_enforced = context.gates.enabled("FederatedQuotaEnforcement")
        self._quotas: Informer[FederatedResourceQuota] = context.informers.of(FederatedResourceQuota)
        self._works: Informer[Work] = context.informers.of(Work)
        self._works.add_index(OF_QUOTA, of_quota)
        self._commit = Committer(context.client.of(FederatedResourceQuota))
        self._recorder = context.recorder(COMPONENT)
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            workers=2,
            needs=(self._quotas, self._works),
            lane=lambda key: key.namespace,
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(self._quotas, _spec_changed)
        self.controller.watch(self._works, _reported)

    async def reconcile(self, key: Key) -> Result:
        """Aggregate what members report of one quota."""
        quota = self._quotas.get(key.name, key.namespace)
        if quota is None or quota.metadata.deletion_timestamp is not None:
            return DONE
        rows, unreadable = [], []
        assigned = {item.cluster_name for item in quota.spec.static_assignments}
        for work in self._works.indexed(OF_QUOTA, str(key)):
            cluster = names.cluster_of_execution_space(work.metadata.namespace)
            try:
                rows += _rows(work, cluster) if cluster in assigned else []
            except (DecodeError, QuantityError) as error:
                unreadable.append(f"the ResourceQuota status of cluster {cluster} cannot be read: {error}")
        rows.sort(key=lambda row: row.cluster_name)
        outcome = await self._commit.commit(quota, lambda current: self._aggregated(current, rows))
        whom = ObjectReference.to(quota)
        for text in unreadable:
            self._recorder.event(whom, events.WARNING, events.AGGREGATE_STATUS.failed, text)
        if isinstance(outcome, Written):
            text = f"Collect status of FederatedResourceQuota({key}) succeed."
            self._recorder.event(whom, events.NORMAL, events.AGGREGATE_STATUS.succeeded, text)
        return DONE

    def _aggregated(self, quota: FederatedResourceQuota, rows: list[ClusterQuotaStatus]) -> FederatedResourceQuota:
        status = msgspec.structs.replace(quota.status, aggregated_status=tuple(rows))
        if not self._is_enforced:
            used: ResourceList = {name: str(amount) for name, amount in sum_used(row.used for row in rows).items()}
            status = msgspec.structs.replace(status, overall=quota.spec.overall, overall_used=used)
        return msgspec.structs.replace(quota, status=status)


class _Report(msgspec.Struct, frozen=True):
    hard: ResourceList = {}
    used: ResourceList = {}


def _rows(work: Work, cluster: str) -> list[ClusterQuotaStatus]:
    """What a Work says about its cluster, if it does."""
    if work.metadata.deletion_timestamp is not None or not is_applied(work) or not work.status.manifest_statuses:
        return []
    status = work.status.manifest_statuses[0].status
    if not status:
        return []
    report = decode(status, _Report)
    for amount in (*report.hard.values(), *report.used.values()):
        Quantity.parse(amount)
    return [ClusterQuotaStatus(cluster_name=cluster, hard=report.hard, used=report.used)]


def _spec_changed(change: Change[FederatedResourceQuota]) -> list[Key]:
    if change.new is None:
        return []
    return [change.key] if change.old is None or change.old.value.spec != change.new.value.spec else []


def _reported(change: Change[Work]) -> list[Key]:
    """The quota of a Work that reports something new, or is going."""
    owner = owner_of(change.item.value)
    if owner is None or (change.old and change.new and _status_of(change.old.value) == _status_of(change.new.value)):
        return []
    return [owner]


def _status_of(work: Work) -> tuple[WorkStatus, bool]:
    return work.status, work.metadata.deletion_timestamp is None
