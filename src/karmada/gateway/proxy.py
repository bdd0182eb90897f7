"""The handler of requests: finds the backend, tries its endpoints, hands back the answer.

An attempt that never reached its endpoint is repeated elsewhere; one that may have is repeated only when that does no
harm. At most a fifth of the requests under way may be repeats, so that a failing backend is not asked three times as
much. Clients learn nothing of clusters and pods from the gateway's own answers.
"""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial

from karmada.gateway import forwarding
from karmada.gateway.balancing import ATTEMPTS, GATEWAY_ERRORS, IDEMPOTENT, Balancer, may_retry
from karmada.gateway.endpoints import Endpoint
from karmada.gateway.exchange import Broken, Connections, UpstreamConnection
from karmada.gateway.metrics import GatewayMetrics
from karmada.gateway.routes import Route
from karmada.gateway.rules import Backend, Rule
from karmada.gateway.upstream_routes import Find, UpstreamRoute
from karmada.machinery.channel import splice
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.http.head import UnsafeHead, wanted_protocol
from karmada.machinery.httpserver.model import (
    ByteStream,
    HttpAnswer,
    HttpRequest,
    HttpResponse,
    StreamResponse,
    Upgrade,
)
from karmada.machinery.httpserver.server import log_failure
from karmada.machinery.throttle import ThrottledLog

log = logging.getLogger(__name__)
access = logging.getLogger("karmada.gateway.access")

WHOLE = 64 * 1024
"""Answers up to this size are sent in one piece, with their length."""
FEWEST_RETRIES = 3
RETRIED_SHARE = 0.2
_NEVER_REACHED = frozenset({401, 403, 404})
"""Refusals of an API server on the way after which the pod has not seen the request."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds."""

    connect: float = 2.0
    answer: float = 60.0
    """Until the head of an answer, and between two parts of its body."""


class Gateway:
    """The `Handler` of one listener; `scheme` is how clients came in."""

    def __init__(
        self,
        match: Callable[[str, str, HttpRequest], Route | None],
        balancer: Callable[[Backend], Balancer | None],
        find: Find,
        connections: Connections,
        metrics: GatewayMetrics,
        *,
        times: Times | None = None,
        scheme: str = "http",
        clock: Clock = REAL,
    ) -> None:
        self._random = clock.random()
        self._match = match
        self._balancer = balancer
        self._find = find
        self._connections = connections
        self._metrics = metrics
        self._times = times or Times()
        self._scheme = scheme
        self._clock = clock
        self._retrying = 0
        self._log = ThrottledLog(log, clock.monotonic)

    async def __call__(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request."""
        started = self._clock.monotonic()
        self._metrics.active += 1
        tried: list[Endpoint] = []
        status = 500
        try:
            answer = await self._answer(request, tried)
            status = answer.status if not isinstance(answer, Upgrade) else 101
            return answer
        finally:
            self._metrics.active -= 1
            seconds = self._clock.monotonic() - started
            self._metrics.answered(tried[-1].cluster if tried else "", status, seconds)
            if access.isEnabledFor(logging.INFO):
                by = " ".join(map(str, tried)) or "-"
                access.info("%s %s %d %.3f %s", request.peer[0], forwarding.logged(request), status, seconds, by)

    def admit(self, request: HttpRequest) -> HttpResponse | int:
        """Judge a request by its head: no body is gathered for one that leads nowhere."""
        found = self._routed(request)
        return found if isinstance(found, HttpResponse) else sys.maxsize

    def _routed(self, request: HttpRequest) -> Route | HttpResponse:
        if not forwarding.is_safe(request.path):
            return _own(400, "the path must not have . or .. as one of its parts")
        route = self._match(forwarding.host_of(request.headers.get("host", "")), request.path, request)
        return route or _own(404, "no route for this host and path")

    async def _answer(self, request: HttpRequest, tried: list[Endpoint]) -> HttpAnswer:
        route = self._routed(request)
        if isinstance(route, HttpResponse):
            return route
        try:
            if route.rule is not None:
                return await self._ruled(request, route.rule, tried)
            return await self._passed(request, route.backend, tried)
        except UnsafeHead as error:
            return _own(400, str(error))

    async def _ruled(self, request: HttpRequest, rule: Rule, tried: list[Endpoint]) -> HttpAnswer:
        """Answer as a rule of an HTTPRoute says."""
        target = forwarding.target_of(request)
        if rule.redirect is not None:
            return rule.redirect.answer(target, request.path, request.headers.get("host", ""), self._scheme)
        backend = rule.chosen(self._random.random())
        if rule.change is None:
            return await self._passed(request, backend, tried)
        return await self._passed(rule.change.of(request, target), backend, tried, rule.change.hostname)

    async def _passed(
        self, request: HttpRequest, backend: Backend | None, tried: list[Endpoint], host: str = ""
    ) -> HttpAnswer:
        if backend is None:
            return _own(500, "the route of this path names no backend that can be used")
        balancer = self._balancer(backend)
        if balancer is None:
            return _own(503, "the service behind this path is not known yet")
        return await self._attempts(request, balancer, tried, host)

    async def _attempts(
        self, request: HttpRequest, balancer: Balancer, tried: list[Endpoint], host: str = ""
    ) -> HttpAnswer:
        failed = _own(503, "no endpoint of the service is ready")
        for attempt in range(1, ATTEMPTS + 1):
            endpoint = balancer.pick(self._clock.monotonic(), tried)
            if endpoint is None:
                return failed
            tried.append(endpoint)
            balancer.began(endpoint)
            ok = False
            try:
                if attempt == 1:
                    found = await self._attempt(endpoint, request, host)
                else:
                    found = await self._retry(endpoint, request, host)
                ok = found.status not in GATEWAY_ERRORS
                again = not ok and request.method in IDEMPOTENT and self._may_repeat(attempt, balancer, tried)
                if not again:
                    return await self._passed_on(found)
                found.connection.drop()
            except Broken as error:
                self._log.warning(endpoint, "%s does not answer: %s", endpoint, error)
                failed = _own(502, "the service did not answer")
                if not may_retry(request.method, attempt, error.sent) or not self._may_repeat(attempt, balancer, tried):
                    return failed
            except TimeoutError:
                self._log.warning(endpoint, "%s does not answer in time", endpoint)
                return _own(504, "the service did not answer in time")
            finally:
                balancer.ended(endpoint, ok, self._clock.monotonic())
        return failed

    def _may_repeat(self, attempt: int, balancer: Balancer, tried: list[Endpoint]) -> bool:
        """Whether there is somebody else to ask, and not too much is repeated already."""
        others = any(other not in tried for other in (*balancer.endpoints, *balancer.spare))
        budget = max(FEWEST_RETRIES, RETRIED_SHARE * self._metrics.active)
        return attempt < ATTEMPTS and others and self._retrying < budget

    async def _retry(self, endpoint: Endpoint, request: HttpRequest, host: str) -> "_Found":
        self._metrics.retries += 1
        self._retrying += 1
        try:
            return await self._attempt(endpoint, request, host)
        finally:
            self._retrying -= 1

    async def _attempt(self, endpoint: Endpoint, request: HttpRequest, host: str) -> "_Found":
        route = await self._find(endpoint)
        data = forwarding.request_bytes(request, route, self._scheme, host)
        # What must not be repeated does not go out on a connection that the other side may be giving up just now.
        fresh = request.method not in IDEMPOTENT or bool(wanted_protocol(request.headers))
        connection = await self._connections.take(route.to, fresh, self._times.connect)
        try:
            async with asyncio.timeout(self._times.answer):
                await connection.send(data)
                found = _Found(connection, route, request.method == "HEAD")
                if route.through_api and found.status >= 400:
                    await found.check()
        except BaseException:
            connection.drop()
            raise
        return found

    async def _passed_on(self, found: "_Found") -> HttpAnswer:
        connection, route = found.connection, found.route
        if connection.switched:
            return Upgrade(forwarding.switching_headers(connection.headers), partial(_carry, connection))
        content_type, headers = forwarding.answer_headers(connection.headers, route.through_api)
        if connection.complete and found.held + connection.held <= WHOLE and not found.only_head:
            body = found.taken + await connection.read()
            self._connections.give_back(route.to, connection)
            return HttpResponse(connection.status, body, content_type, headers)
        if found.only_head:
            connection.drop()
            return StreamResponse(connection.status, _nothing(), content_type, headers)
        return StreamResponse(connection.status, self._body(found), content_type, headers)

    async def _body(self, found: "_Found") -> AsyncIterator[bytes]:
        connection = found.connection
        try:
            if found.taken:
                yield found.taken
            while True:
                async with asyncio.timeout(self._times.answer):
                    data = await connection.read()
                if not data:
                    break
                yield data
            self._connections.give_back(found.route.to, connection)
        finally:
            if not connection.complete:
                connection.drop()


def broke_off(request: HttpRequest, error: Exception) -> None:
    """Log an answer that was begun and cannot be finished: if by its endpoint, one line among the requests."""
    if not isinstance(error, Broken | TimeoutError):
        log_failure(request, error)
    elif access.isEnabledFor(logging.INFO):
        why = str(error) or "nothing more came in time"
        access.info("%s %s the answer broke off: %s", request.peer[0], forwarding.logged(request), why)


class _Found:
    """An endpoint's answer, of which the head has arrived."""

    def __init__(self, connection: UpstreamConnection, route: UpstreamRoute, only_head: bool) -> None:
        self.connection = connection
        self.route = route
        self.only_head = only_head
        self.status = connection.status
        self.taken = b""

    @property
    def held(self) -> int:
        """Bytes of the body that were read already."""
        return len(self.taken)

    async def check(self) -> None:
        """Raise `Broken` when the answer is that of an API server on the way, which could not reach the pod."""
        if self.only_head:
            return
        while len(self.taken) < WHOLE and (data := await self.connection.read()):
            self.taken += data
        content_type = next((value for name, value in self.connection.headers if name == "content-type"), "")
        if forwarding.is_refusal(content_type, self.taken):
            raise Broken(f"the API server on the way answered {self.status}", self.status not in _NEVER_REACHED)


async def _carry(connection: UpstreamConnection, stream: ByteStream) -> None:
    await splice(stream, connection)


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


def _own(status: int, text: str) -> HttpResponse:
    return HttpResponse(status, f"{text}\n".encode(), "text/plain; charset=utf-8")
