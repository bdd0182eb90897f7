"""Status and health of the objects of a Work, as the interpreter reads them from the member's objects.

The execution controller reports with its own write what it has just seen in the member; the work status controller
reports what changes there later. Both note which states they have reported, so that nothing is read and written twice.
What is copied from a member is bounded (`limits.STATUS`); an object that the interpreter cannot read is an event.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from karmada.api import events
from karmada.api.base import ABSENT
from karmada.api.codec import raw
from karmada.api.work.v1alpha1 import ManifestStatus, ResourceIdentifier, Work
from karmada.controllers.context import Context
from karmada.interpreter.model import InterpretError, Operation, gvk, kind_of
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Key, number
from karmada.machinery.limits import STATUS, printable
from karmada.machinery.throttle import ThrottledLog
from karmada.machinery.transport import JSONObject
from karmada.works.head import head_of

R = TypeVar("R")
_SHAPES = (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError)
"""What reading an object of another shape than expected raises."""
COMPONENT = "work-status-controller"


class StatusReporter:
    """Reports status and health of a member's objects, as the interpreter reads them, in their Works."""

    def __init__(self, context: Context) -> None:
        self._interpreter = context.interpreter
        self._recorder = context.recorder(COMPONENT)
        self._log = ThrottledLog(logging.getLogger(__name__), context.clock.monotonic)
        self._reported: dict[Key, tuple[str, Sequence[str]]] = {}
        """By Work: its uid and the resourceVersions of its objects when they were last reported."""
        self.on_report: Callable[[Key], None] = lambda work: None
        """Called with each Work whose objects were reported."""

    async def status(self, work: Work, ordinal: int, observed: JSONObject) -> ManifestStatus:
        """What one object's state means; raises `InterpretError`."""
        manifest = head_of(work, ordinal)
        kind = gvk(manifest.api_version, manifest.kind)
        about = ObjectReference.to(work)
        judged = self._interpreter.enabled(kind_of(observed), Operation.HEALTH)
        reflected = await self._reflect(about, observed)
        encoded = ABSENT if reflected is None else raw(reflected)
        if len(memoryview(encoded)) * len(work.spec.workload.manifests) > STATUS:
            text = f"Status of object({_named(observed)}) is not reported: it has more than {STATUS} bytes"
            self._recorder.event(about, events.WARNING, events.REFLECT_STATUS.failed, text)
            encoded = ABSENT
        found = ManifestStatus(
            identifier=ResourceIdentifier(
                ordinal=ordinal,
                group=kind.group,
                version=kind.version,
                kind=kind.kind,
                resource="",
                namespace=manifest.namespace,
                name=manifest.name,
            ),
            status=encoded,
            health=await self._health(about, observed) if judged else "Healthy",
        )
        if found not in work.status.manifest_statuses:
            self._record(about, observed, found.health if judged else "Unknown")
        return found

    def report(self, work: Work, versions: Sequence[str]) -> None:
        """These states of the Work's objects are in its status now."""
        key = Key(work.metadata.namespace, work.metadata.name)
        self.resume(key, work.metadata.uid, versions)
        self.on_report(key)

    def resume(self, work: Key, uid: str, versions: Sequence[str]) -> None:
        """These states of a Work's objects were in its status before a restart."""
        self._reported[work] = (uid, versions)

    def is_last(self, work: Key, uid: str, versions: Sequence[str]) -> bool:
        """Whether exactly these states were reported last."""
        return self._reported.get(work) == (uid, versions)

    def is_reported(self, work: Work, versions: Sequence[str]) -> bool:
        """Whether these states, or later ones, are in the Work's status already."""
        known = self._reported.get(Key(work.metadata.namespace, work.metadata.name))
        if known is None or known[0] != work.metadata.uid or len(known[1]) != len(versions):
            return False
        return all(a == b or number(a) < number(b) for a, b in zip(versions, known[1], strict=True))

    def forget(self, key: Key) -> None:
        """The Work is gone, or its objects are others than those that were reported."""
        self._reported.pop(key, None)

    async def _reflect(self, about: ObjectReference, observed: JSONObject) -> JSONObject | None:
        try:
            return await self._reading(observed, self._interpreter.reflect(observed))
        except InterpretError as error:
            text = f"Reflect status for object({_named(observed)}) failed, err: {printable(str(error))}"
            self._recorder.event(about, events.WARNING, events.REFLECT_STATUS.failed, text)
            raise

    async def _health(self, about: ObjectReference, observed: JSONObject) -> str:
        try:
            healthy = await self._reading(observed, self._interpreter.healthy(observed))
            return "Healthy" if healthy else "Unhealthy"
        except InterpretError as error:
            text = f"Interpret health of object({_named(observed)}) failed, err: {printable(str(error))}"
            self._recorder.event(about, events.WARNING, events.INTERPRET_HEALTH.failed, text)
            return "Unknown"

    async def _reading(self, observed: JSONObject, interpreting: Awaitable[R]) -> R:
        """What the interpreter says of a member's object, whose fields may be of any type."""
        try:
            return await interpreting
        except _SHAPES as error:
            kind = kind_of(observed)
            self._log.warning((kind, type(error)), "the interpreter cannot read a %s", kind, trace=error)
            raise InterpretError(f"the object has fields of another type than its kind: {error!r}") from error

    def _record(self, about: ObjectReference, observed: JSONObject, health: str) -> None:
        """Record events about a new status; what the Work says already was reported when it was written."""
        text = f"Reflect status for object({_named(observed)}) succeed."
        self._recorder.event(about, events.NORMAL, events.REFLECT_STATUS.succeeded, text)
        if health != "Unknown":
            text = f"Interpret health of object({_named(observed)}) as {health.lower()}."
            self._recorder.event(about, events.NORMAL, events.INTERPRET_HEALTH.succeeded, text)


def _named(observed: JSONObject) -> str:
    metadata = observed["metadata"]
    return f"{observed['kind']}/{metadata.get('namespace', '')}/{metadata['name']}"
