"""Writing a decision: the clusters and the placement they were decided by, then the status.

A result that is the same set as before is not written: the order of clusters says nothing. Somebody else's write in
between makes the scheduler decide again on what is there then.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from karmada.api import annotations, conditions
from karmada.api.decision import Decision, NoClusterFits, Placed
from karmada.api.meta import Condition, set_condition
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding, TargetCluster
from karmada.machinery.client import Client
from karmada.machinery.clock import rfc3339
from karmada.machinery.committer import Absent, Committer, Unchanged, Written
from karmada.scheduler.core.rendering import condition_message
from karmada.scheduler.core.request import Binding

Decide = Callable[[Binding], Decision | None]
"""What to do with a binding as it is; None when there is nothing to decide."""


class Verdict(NamedTuple):
    """What the Scheduled condition is to say."""

    status: bool
    reason: str
    message: str


SUCCESS = Verdict(True, conditions.REASON_SCHEDULE_SUCCESS, conditions.MESSAGE_SCHEDULE_SUCCESS)


def verdict_of(decision: Decision) -> Verdict:
    """The condition of a decision."""
    placed = isinstance(decision.outcome, Placed)
    return Verdict(placed, decision.outcome.REASON, condition_message(decision))


class WrittenStatus(NamedTuple):
    """A status that was written."""

    revision: str
    alone: bool
    """Whether nobody else had written since what the writer saw: then the event of this revision says nothing else."""


class Writer:
    """Writes bindings of both kinds."""

    def __init__(self, client: Client, keep_last_copy: bool) -> None:
        self._namespaced: Committer[ResourceBinding] = Committer(client.of(ResourceBinding))
        self._wide: Committer[ClusterResourceBinding] = Committer(client.of(ClusterResourceBinding))
        self._keep_last_copy = keep_last_copy

    async def result(self, seen: Binding, decide: Decide) -> tuple[Binding, Decision | None] | None:
        """Decide and write the clusters; what is there afterwards, or None when the binding is gone."""
        made: list[Decision | None] = []

        def wanted(current: Any) -> Any:
            made.append(decision := decide(current))
            return current if decision is None else self._with_result(current, decision)

        outcome = await self._commit(seen, wanted)
        return None if isinstance(outcome, Absent) else (outcome.value, made[-1])

    async def status(self, seen: Binding, verdict: Verdict, now: float, **changes: Any) -> WrittenStatus | None:
        """Write the condition and other parts of the status; None if there was nothing to write."""
        alone = True

        def wanted(current: Any) -> Any:
            nonlocal alone
            alone = current is seen
            settled = with_condition(current.status.conditions, verdict, now)
            status = msgspec.structs.replace(current.status, conditions=settled, **changes)
            return msgspec.structs.replace(current, status=status)

        outcome = await self._commit(seen, wanted)
        return WrittenStatus(outcome.resource_version, alone) if isinstance(outcome, Written) else None

    async def observed(self, seen: Binding) -> None:
        """Note that nothing had to be decided about this generation."""

        def wanted(current: Any) -> Any:
            generation = seen.metadata.generation
            if current.metadata.generation != generation:
                return current
            status = msgspec.structs.replace(current.status, scheduler_observed_generation=generation)
            return msgspec.structs.replace(current, status=status)

        await self._commit(seen, wanted)

    def _with_result(self, binding: Any, decision: Decision) -> Any:
        outcome = decision.outcome
        if isinstance(outcome, Placed):
            clusters = outcome.clusters
        elif isinstance(outcome, NoClusterFits) and not self._keep_last_copy:
            clusters = ()
        else:
            return binding
        if same_clusters(clusters, binding.spec.clusters):
            clusters = binding.spec.clusters
        applied = msgspec.json.encode(binding.spec.placement).decode()
        noted = binding.metadata.annotations
        if clusters is binding.spec.clusters and noted.get(annotations.APPLIED_PLACEMENT) == applied:
            return binding
        return msgspec.structs.replace(
            binding,
            metadata=msgspec.structs.replace(
                binding.metadata, annotations={**noted, annotations.APPLIED_PLACEMENT: applied}
            ),
            spec=msgspec.structs.replace(binding.spec, clusters=clusters),
        )

    async def _commit(self, seen: Binding, wanted: Callable[[Any], Any]) -> Unchanged[Any] | Written[Any] | Absent:
        if isinstance(seen, ResourceBinding):
            return await self._namespaced.commit(seen, wanted)
        return await self._wide.commit(seen, wanted)


def with_clusters(binding: Binding, clusters: tuple[TargetCluster, ...]) -> Binding:
    """A binding as it is once a result is written."""
    return msgspec.structs.replace(binding, spec=msgspec.structs.replace(binding.spec, clusters=clusters))


def same_clusters(one: tuple[TargetCluster, ...], other: tuple[TargetCluster, ...]) -> bool:
    """Whether two results mean the same."""
    return len(one) == len(other) and {t.name: t for t in one} == {t.name: t for t in other}


def with_condition(existing: tuple[Condition, ...], verdict: Verdict, now: float) -> tuple[Condition, ...]:
    """The conditions with Scheduled as given; its transition time moves only when its status does."""
    new = Condition(
        type=conditions.SCHEDULED,
        status="True" if verdict.status else "False",
        reason=verdict.reason,
        message=verdict.message,
        last_transition_time=rfc3339(now),
    )
    return set_condition(existing, new)
