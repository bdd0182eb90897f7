"""Reports how an attempt ended: in the binding's status, and in events about the binding and its template."""

from collections.abc import Callable, Container, Iterator
from typing import Any

from karmada.api import conditions, events
from karmada.api.decision import Decision, Placed
from karmada.api.work.v1alpha2 import ClusterResourceBinding
from karmada.machinery.clock import Clock, rfc3339
from karmada.machinery.errors import ApiError, Forbidden
from karmada.machinery.events import EventRecorder, ObjectReference
from karmada.policies.binding import objection
from karmada.scheduler.core.rendering import event_message
from karmada.scheduler.core.request import Binding
from karmada.scheduler.core.trigger import Need
from karmada.scheduler.spec_checks import complaint
from karmada.scheduler.writing import SUCCESS, Verdict, Writer, WrittenStatus, verdict_of, with_condition


class OutcomeReporter:
    """Writes the outcome of a scheduling attempt to the binding's status and to events.

    `clusters` gives the clusters that are known at the moment.
    """

    def __init__(
        self, writer: Writer, recorder: EventRecorder, clock: Clock, clusters: Callable[[], Container[str]]
    ) -> None:
        self._writer = writer
        self._recorder = recorder
        self._clock = clock
        self._clusters = clusters

    async def concluded(
        self, binding: Binding, decision: Decision, reason: Need, disturbed: bool
    ) -> WrittenStatus | None:
        """Report a decision; what was written for it, if anything.

        `disturbed` says that a cluster's change was the cause: then the time of the attempt is written even if nothing
        came of it. The first look at everything after a start is no such cause: it writes nothing that is true already.
        """
        now = self._clock.now()
        changes: dict[str, Any] = {}
        verdict = verdict_of(decision)
        if not verdict.status and (why := complaint(binding.spec, self._clusters())):
            verdict = verdict._replace(message=f"{verdict.message} ({why})")
        changed = True
        if isinstance(decision.outcome, Placed):
            changes["scheduler_observed_generation"] = binding.metadata.generation
            if decision.affinity:
                changes["scheduler_observing_affinity_name"] = decision.affinity
            changed = reason is not Need.DUPLICATED or not _is_reported(binding, verdict, now)
            if changed or disturbed:
                changes["last_scheduled_time"] = rfc3339(now)
        written = await self._writer.status(binding, verdict, now, **changes)
        if written and changed:
            self._record(binding, decision)
        return written

    async def nothing_to_decide(self, binding: Binding) -> None:
        """Note that this generation is placed as it should be.

        Clusters without a condition, or with that of a failure, were written by an attempt that was cut short, or are
        enough again: what would have been reported is made up for.
        """
        status, generation = binding.status, binding.metadata.generation
        scheduled = next((found.status for found in status.conditions if found.type == conditions.SCHEDULED), "")
        if binding.spec.clusters and scheduled != "True":
            now = self._clock.now()
            observed: dict[str, Any] = {"scheduler_observed_generation": generation}
            if status.last_scheduled_time is None:
                observed["last_scheduled_time"] = rfc3339(now)
            await self._writer.status(binding, SUCCESS, now, **observed)
        elif status.scheduler_observed_generation != generation:
            await self._writer.observed(binding)

    async def refused(self, binding: Binding, error: ApiError) -> None:
        """The API server did not take the result: its word is the reason."""
        quota = isinstance(error, Forbidden) and "FederatedResourceQuota" in error.message
        reason = conditions.REASON_QUOTA_EXCEEDED if quota else conditions.REASON_SCHEDULER_ERROR
        await self.failed(binding, reason, error.message)

    async def failed(self, binding: Binding, reason: str, message: str) -> None:
        """Nothing could be decided or written."""
        if await self._writer.status(binding, Verdict(False, reason, message), self._clock.now()):
            self._event(binding, events.WARNING, events.SCHEDULE_BINDING.failed, message)

    def _record(self, binding: Binding, decision: Decision) -> None:
        text = event_message(decision, cluster_scoped=isinstance(binding, ClusterResourceBinding))
        if isinstance(decision.outcome, Placed):
            self._event(binding, events.NORMAL, events.SCHEDULE_BINDING.succeeded, text)
        else:
            self._event(binding, events.WARNING, events.SCHEDULE_BINDING.failed, text)

    def _event(self, binding: Binding, kind: str, reason: str, message: str) -> None:
        for about in _subjects(binding):
            self._recorder.event(about, kind, reason, message)


def _is_reported(binding: Binding, verdict: Verdict, now: float) -> bool:
    """Whether the status says all of this already, whenever it was said."""
    status = binding.status
    return (
        status.last_scheduled_time is not None
        and status.scheduler_observed_generation == binding.metadata.generation
        and with_condition(status.conditions, verdict, now) == status.conditions
    )


def _subjects(binding: Binding) -> Iterator[ObjectReference]:
    yield ObjectReference.to(binding)
    resource = binding.spec.resource
    if objection(binding):
        return
    yield ObjectReference(resource.api_version, resource.kind, resource.name, resource.namespace, resource.uid)
