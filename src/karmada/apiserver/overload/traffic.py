"""What happens to every request around its answer: a seat or a place in the watch budget, metrics, the audit log.

The access log is the logger `karmada.apiserver.access` at level DEBUG, so it is off unless somebody asks for it.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from karmada.apiserver.audit import AuditLog, AuditRecord
from karmada.apiserver.auth.model import Attributes, UserInfo
from karmada.apiserver.fairness import FairQueue, Overloaded, Seat, never_waits
from karmada.apiserver.metrics import RequestKey, RequestMetrics
from karmada.apiserver.overload.deadlines import Deadlines
from karmada.apiserver.overload.watches import WatchBudget
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import HttpRequest

if TYPE_CHECKING:
    from karmada.apiserver.requests.paths import ResourcePath

_access = logging.getLogger("karmada.apiserver.access")
_VERBS = {"create": "POST", "update": "PUT"}
_READS = ("get", "list", "watch", "head", "options")


_NOBODY = UserInfo("")


class Visit:
    """One request on its way; the rest is filled in when it is known."""

    __slots__ = ("attributes", "params", "path", "request", "requester", "started", "user", "verb")

    def __init__(self, request: HttpRequest, started: float) -> None:
        self.request = request
        self.started = started
        self.requester: UserInfo | None = None
        """Whose credentials came with it."""
        self.user: UserInfo | None = None
        """As whom it acts."""
        self.attributes: Attributes | None = None
        self.params: dict[str, str] = {}
        self.path: ResourcePath | None = None
        self.verb = ""


class Traffic:
    """Runs every request with a seat or a place in the watch budget, and records metrics and the audit entry.

    `known` says which resources metrics may name.
    """

    def __init__(
        self,
        queue: FairQueue | None = None,
        watches: WatchBudget | None = None,
        audit: AuditLog | None = None,
        known: Callable[[RequestKey], bool] = lambda key: True,
    ) -> None:
        self.metrics = RequestMetrics(known)
        self._queue = queue or FairQueue()
        self._deadlines = Deadlines()
        self._watches = watches or WatchBudget()
        self._audit = audit

    def arrive(self, request: HttpRequest) -> Visit:
        """A request came in."""
        return Visit(request, time.monotonic())

    def seat(self, visit: Visit, seconds: float) -> "Running":
        """The context in which an ordinary request runs; entering may wait, or raise 429.

        What lasts longer than `seconds` is a `TimeoutError`. Reads are answered from memory and bounded where they
        wait, so they are spared that.
        """
        return Running(self.metrics, self._queue, self._deadlines, visit, seconds)

    def stay(self, visit: Visit) -> Callable[[], None]:
        """Count a long-running request; returns what ends it. Raises 429."""
        assert visit.user is not None
        try:
            ticket = self._watches.open(visit.user)
        except Failure:
            self.metrics.rejected += 1
            raise
        key = self.metrics.opened(key_of(visit))

        def leave() -> None:
            ticket.close()
            self.metrics.closed(key)

        return leave

    def leave(self, visit: Visit, code: int) -> None:
        """A request is about to be answered, or its stream to begin."""
        seconds = time.monotonic() - visit.started
        self.metrics.answered(key_of(visit), code, seconds)
        if _access.isEnabledFor(logging.DEBUG):
            user = visit.user.name if visit.user is not None else "-"
            _access.debug("%s %s %d %.1fms %s", visit.request.method, visit.request.path, code, seconds * 1e3, user)
        if self._audit is not None:
            self._audit.record(_record(visit, code))


def _record(visit: Visit, code: int) -> AuditRecord:
    """What the audit log says of a request; one that was refused early has no user, or none as whom it acts."""
    request, now = visit.request, time.time()
    requester = visit.requester or visit.user or _NOBODY
    return AuditRecord(
        identifier=str(uuid.uuid4()),
        uri=f"{request.path}?{request.query}" if request.query else request.path,
        attributes=visit.attributes or Attributes(request.method.lower(), path=request.path),
        user=requester,
        impersonated=visit.user if visit.user is not None and visit.user is not requester else None,
        peer=request.peer[0],
        agent=request.headers.get("user-agent", ""),
        code=code,
        received=now - (time.monotonic() - visit.started),
        completed=now,
    )


class Running:
    """An ordinary request while it runs."""

    __slots__ = ("_deadlines", "_kind", "_metrics", "_seat", "_seconds", "_task")

    def __init__(self, metrics: RequestMetrics, queue: FairQueue, deadlines: Deadlines, visit: Visit, seconds: float):
        assert visit.user is not None
        self._metrics = metrics
        self._deadlines = deadlines
        self._seat = None if never_waits(visit.user) else Seat(queue, visit.user.name)
        verb = visit.attributes.verb if visit.attributes is not None else "get"
        self._kind = "readOnly" if verb in _READS else "mutating"
        self._seconds = seconds
        self._task: asyncio.Task[Any] | None = None

    async def __aenter__(self) -> Seat | None:
        """The seat that the request has, if it needs one."""
        if self._seat is not None:
            try:
                await self._seat.take()
            except Overloaded:
                self._metrics.rejected += 1
                raise
        self._metrics.inflight[self._kind] += 1
        if self._kind == "mutating":
            self._task = self._deadlines.begin(self._seconds)
        return self._seat

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._metrics.inflight[self._kind] -= 1
        if kind is Overloaded:
            self._metrics.rejected += 1
        if self._seat is not None:
            self._seat.give_back()
        if self._task is not None and self._deadlines.end(self._task) and kind is asyncio.CancelledError:
            raise TimeoutError from error


def key_of(visit: Visit) -> RequestKey:
    """The labels of the request in metrics."""
    attributes = visit.attributes
    if attributes is None or not attributes.resource:
        return RequestKey(visit.request.method, "", "", "", "", "")
    scope = "resource" if attributes.name else "namespace" if attributes.namespace else "cluster"
    verb = _VERBS.get(attributes.verb) or attributes.verb.upper()
    return RequestKey(verb, attributes.group, attributes.version, attributes.resource, attributes.subresource, scope)
