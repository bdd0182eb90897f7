"""WorkloadRebalancer controller: has the scheduler place the named workloads anew, once, and reports on each."""

from typing import Any

import msgspec

from karmada.api import names
from karmada.api.apps.v1alpha1 import ObjectReference, RebalanceResult, WorkloadRebalancer
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.controllers.context import Context
from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.machinery.committer import Absent, Committer
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result, Retry
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.policies.rebalancing import is_due, new_status, observed_workloads

COMPONENT = "workload-rebalancer"


class WorkloadRebalancerController:
    """Triggers rescheduling of workloads, and deletes a finished rebalancer after its time to live."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._rebalancers: Informer[WorkloadRebalancer] = context.informers.of(WorkloadRebalancer)
        self._commit = Committer(context.client.of(WorkloadRebalancer))
        self._namespaced = context.client.of(ResourceBinding)
        self._wide = context.client.of(ClusterResourceBinding)
        self._commits: tuple[Committer[Any], Committer[Any]] = (Committer(self._namespaced), Committer(self._wide))
        self.controller: Controller[str] = Controller(
            COMPONENT, self.reconcile, workers=2, needs=(self._rebalancers,), clock=context.clock
        )
        self.controller.watch(self._rebalancers, _spec_changed)

    async def reconcile(self, name: str) -> Result:
        """Trigger what is pending in one rebalancer; delete one whose time is over."""
        rebalancer = self._rebalancers.get(name)
        if rebalancer is None or rebalancer.metadata.deletion_timestamp is not None:
            return DONE
        created = rebalancer.metadata.creation_timestamp or ""
        outcomes: dict[ObjectReference, RebalanceResult | None] = {}
        for item in observed_workloads(rebalancer):
            if not item.result:
                outcomes[item.workload] = await self._trigger(item.workload, created)
        now = rfc3339(self._clock.now())
        status = new_status(rebalancer, outcomes, now)
        await self._commit.commit(
            rebalancer, lambda current: msgspec.structs.replace(current, status=new_status(current, outcomes, now))
        )
        pending = sum(outcome is None for outcome in outcomes.values())
        if pending:
            return Retry(f"{pending} workloads could not be triggered yet")
        return await self._expire(rebalancer, status.finish_time)

    async def _trigger(self, workload: ObjectReference, created: str) -> RebalanceResult | None:
        """Mark a workload's binding for rescheduling; None when that must be tried again."""
        name = names.binding_name(workload.kind, workload.name)

        def decide(binding: Any) -> Any:
            if not is_due(created, binding.spec.reschedule_triggered_at):
                return binding
            spec = msgspec.structs.replace(binding.spec, reschedule_triggered_at=created)
            return msgspec.structs.replace(binding, spec=spec)

        try:
            binding: Any
            if workload.namespace:
                binding = await self._namespaced.get(name, workload.namespace)
                outcome = await self._commits[0].commit(binding, decide)
            else:
                binding = await self._wide.get(name)
                outcome = await self._commits[1].commit(binding, decide)
        except NotFound:
            return RebalanceResult.FAILED
        except ApiError:
            return None
        return RebalanceResult.FAILED if isinstance(outcome, Absent) else RebalanceResult.SUCCESSFUL

    async def _expire(self, rebalancer: WorkloadRebalancer, finished: str | None) -> Result:
        ttl = rebalancer.spec.ttl_seconds_after_finished
        if ttl is None or finished is None:
            return DONE
        left = parse_rfc3339(finished) + ttl - self._clock.now()
        if left > 0:
            return RequeueAfter(left)
        seen = rebalancer.metadata.generation
        await self._commit.remove(rebalancer, lambda current: current.metadata.generation == seen)
        return DONE


def _spec_changed(change: Change[WorkloadRebalancer]) -> list[str]:
    if change.new is None:
        return []
    if change.old is not None and change.old.value.spec == change.new.value.spec:
        return []
    return [change.key.name]
