"""What happens to every request around its answer: a seat or a place in the watch budget, metrics, the audit log.

The access log is the logger `karmada.apiserver.access` at level DEBUG, so it is off unless somebody asks for it.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Any

from karmada.apiserver.audit import AuditLog, AuditRecord
from karmada.apiserver.auth.model import Attributes, UserInfo
from karmada.apiserver.failures import Failure
from karmada.apiserver.http.model import HttpRequest
from karmada.apiserver.metrics import RequestKey, RequestMetrics
from karmada.apiserver.overload.deadlines import Deadlines
from karmada.apiserver.overload.fairness import FairQueue, never_waits
from karmada.apiserver.overload.watches import WatchBudget

_access = logging.getLogger("karmada.apiserver.access")
_VERBS = {"create": "POST", "update": "PUT"}
_READS = ("get", "list", "watch", "head", "options")


class Visit:
    """One request on its way; `user` and `attributes` are filled in when they are known."""

    __slots__ = ("attributes", "request", "started", "user")

    def __init__(self, request: HttpRequest, started: float) -> None:
        self.request = request
        self.started = started
        self.user: UserInfo | None = None
        self.attributes: Attributes | None = None


class Traffic:
    """See the module's contract. `requester` names who really asked, for the audit log."""

    def __init__(
        self,
        metrics: RequestMetrics | None = None,
        queue: FairQueue | None = None,
        watches: WatchBudget | None = None,
        audit: AuditLog | None = None,
        requester: Callable[[HttpRequest], UserInfo] | None = None,
    ) -> None:
        self.metrics = metrics or RequestMetrics()
        self._queue = queue or FairQueue()
        self._deadlines = Deadlines()
        self._watches = watches or WatchBudget()
        self._audit = audit
        self._requester = requester

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
        key = key_of(visit)
        self.metrics.opened(key)

        def leave() -> None:
            ticket.close()
            self.metrics.closed(key)

        return leave

    def leave(self, visit: Visit, code: int) -> None:
        """A request was answered, or its stream began."""
        seconds = time.monotonic() - visit.started
        self.metrics.answered(key_of(visit), code, seconds)
        if _access.isEnabledFor(logging.DEBUG):
            user = visit.user.name if visit.user is not None else "-"
            _access.debug("%s %s %d %.1fms %s", visit.request.method, visit.request.path, code, seconds * 1e3, user)
        if self._audit is not None and visit.user is not None and visit.attributes is not None:
            self._audit.record(self._record(visit, visit.user, visit.attributes, code))

    def _record(self, visit: Visit, user: UserInfo, attributes: Attributes, code: int) -> AuditRecord:
        request = visit.request
        requester, impersonated = user, None
        if "impersonate-user" in request.headers and self._requester is not None:
            requester, impersonated = self._requester(request), user
        now = time.time()
        return AuditRecord(
            identifier=str(uuid.uuid4()),
            uri=f"{request.path}?{request.query}" if request.query else request.path,
            attributes=attributes,
            user=requester,
            impersonated=impersonated,
            peer=request.peer[0],
            agent=request.headers.get("user-agent", ""),
            code=code,
            received=now - (time.monotonic() - visit.started),
            completed=now,
        )


class Running:
    """An ordinary request while it runs."""

    __slots__ = ("_deadlines", "_kind", "_metrics", "_queue", "_seconds", "_task", "_user")

    def __init__(self, metrics: RequestMetrics, queue: FairQueue, deadlines: Deadlines, visit: Visit, seconds: float):
        assert visit.user is not None
        self._metrics = metrics
        self._queue = queue
        self._deadlines = deadlines
        self._user = "" if never_waits(visit.user) else visit.user.name
        verb = visit.attributes.verb if visit.attributes is not None else "get"
        self._kind = "readOnly" if verb in _READS else "mutating"
        self._seconds = seconds
        self._task: asyncio.Task[Any] | None = None

    async def __aenter__(self) -> None:
        if self._user:
            try:
                await self._queue.take(self._user)
            except Failure:
                self._metrics.rejected += 1
                raise
        self._metrics.inflight[self._kind] += 1
        if self._kind == "mutating":
            self._task = self._deadlines.begin(self._seconds)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._metrics.inflight[self._kind] -= 1
        if self._user:
            self._queue.give_back()
        if self._task is not None and self._deadlines.end(self._task) and kind is asyncio.CancelledError:
            raise TimeoutError from error


def key_of(visit: Visit) -> RequestKey:
    """How metrics tell the request apart."""
    asked = visit.attributes
    if asked is None or not asked.resource:
        return RequestKey(visit.request.method, "", "", "", "", "")
    scope = "resource" if asked.name else "namespace" if asked.namespace else "cluster"
    verb = _VERBS.get(asked.verb) or asked.verb.upper()
    return RequestKey(verb, asked.group, asked.version, asked.resource, asked.subresource, scope)
