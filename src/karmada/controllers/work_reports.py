"""Writes to a Work how applying its objects went: conditions, events, and the status of the objects."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from karmada.api import conditions, events
from karmada.api.work.v1alpha1 import ManifestStatus, Work
from karmada.controllers.context import Context
from karmada.controllers.objects import with_condition
from karmada.controllers.status_reporter import StatusReporter
from karmada.interpreter.model import InterpretError
from karmada.machinery.codec import identity, untrusted_tree
from karmada.machinery.committer import Absent, Committer
from karmada.machinery.errors import BadAnswer
from karmada.machinery.events import EventRecorder, ObjectReference
from karmada.machinery.limits import printable
from karmada.works.status import is_applied


class Applied(NamedTuple):
    """An object that is in the member as its Work says."""

    body: bytes
    written: bool


class _Seen(NamedTuple):
    """The objects of a Work as the member answered."""

    versions: list[str]
    statuses: tuple[ManifestStatus, ...]


class WorkReports:
    """Writes conditions and events of Works whose objects were applied; with `reporter` also their status."""

    def __init__(
        self, context: Context, recorder: EventRecorder, commit: Committer[Work], reporter: StatusReporter | None
    ) -> None:
        self._clock = context.clock
        self._recorder = recorder
        self._commit = commit
        self._reporter = reporter

    async def suspended(self, work: Work) -> None:
        """Nothing is brought anywhere for now."""
        text = "Work dispatching is in a suspended state."
        changed = await self._set_conditions(
            work, [(conditions.DISPATCHING, False, conditions.REASON_SUSPEND_DISPATCHING, text)]
        )
        if changed:
            self._recorder.event(ObjectReference.to(work), events.NORMAL, events.WORK_DISPATCHING, text)

    async def dispatched(self, work: Work, cluster: str, outcomes: Sequence[Applied | Exception]) -> None:
        """Each object is in the member, or it is known why not."""
        errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        objects = [outcome for outcome in outcomes if isinstance(outcome, Applied)]
        seen = await self._seen(work, objects) if not errors else None
        about = ObjectReference.to(work)
        where = f"work({work.metadata.namespace}/{work.metadata.name})"
        if errors:
            details = printable(", ".join(printable(str(error)) for error in errors))
            message = f"Failed to apply all manifests ({len(objects)}/{len(outcomes)}): {details}"
            applied = (conditions.APPLIED, False, conditions.REASON_APPLIED_FAILED, message)
            text = f"Failed to sync {where} to cluster({cluster}), err: {details}"
            self._recorder.event(about, events.WARNING, events.SYNC.failed, text)
        else:
            applied = (conditions.APPLIED, True, conditions.REASON_APPLIED, "Manifest has been successfully applied")
            if not is_applied(work) or any(one.written for one in objects):
                text = f"Sync {where} to cluster({cluster}) successful."
                self._recorder.event(about, events.NORMAL, events.SYNC.succeeded, text)
        dispatching = "Work is being dispatched to member clusters."
        wanted = [(conditions.DISPATCHING, True, "Dispatching", dispatching), applied]
        if await self._set_conditions(work, wanted, seen):
            self._recorder.event(about, events.NORMAL, events.WORK_DISPATCHING, dispatching)

    async def _set_conditions(
        self, work: Work, wanted: list[tuple[str, bool, str, str]], seen: _Seen | None = None
    ) -> bool:
        """Report; whether dispatching, the first of the conditions, was not reported so before."""
        now = self._clock.now()
        reported = False

        def decide(current: Work) -> Work:
            nonlocal reported
            found = current.status.conditions
            for type_, status, reason, message in wanted:
                found = with_condition(found, type_, status, reason, message, now)
            status_ = msgspec.structs.replace(current.status, conditions=found)
            # In a status that somebody else wrote meanwhile the objects may have been seen later than here.
            reported = seen is not None and current is work
            if seen is not None and reported:
                status_ = msgspec.structs.replace(status_, manifest_statuses=seen.statuses)
            return msgspec.structs.replace(current, status=status_)

        dispatching = str(wanted[0][1])
        before = any(c.type == conditions.DISPATCHING and c.status == dispatching for c in work.status.conditions)
        outcome = await self._commit.commit(work, decide)
        if self._reporter is not None and seen is not None and reported and not isinstance(outcome, Absent):
            self._reporter.report(work, seen.versions)
        return not before

    async def _seen(self, work: Work, applied: list[Applied]) -> _Seen | None:
        """What the member's answers say about all objects of a Work; the work status controller reports the rest."""
        if self._reporter is None:
            return None
        versions = [identity(one.body).resource_version for one in applied]
        if self._reporter.is_reported(work, versions):
            return None
        try:
            statuses = [
                await self._reporter.status(work, ordinal, untrusted_tree(one.body))
                for ordinal, one in enumerate(applied)
            ]
        except (InterpretError, BadAnswer):
            return None
        return _Seen(versions, tuple(statuses))
