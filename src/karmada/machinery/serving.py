"""The diagnostics server of a component: health, readiness, metrics, and profiles for those who may see them.

    /healthz /livez    the process works: every health check passes
    /readyz            it can do its job: caches are loaded, leadership is settled; `?verbose` names each check
    /metrics           Prometheus text
    /debug/profile     where the time goes for `?seconds=N`, as folded stacks (flame graph input)
    /debug/tasks       what every task waits for

Debug paths answer 403 unless an `authorize` function is given and agrees. Requests are small, bounded and short.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from karmada.machinery import profiling
from karmada.machinery.listening import stop_accepting

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

log = logging.getLogger(__name__)

HEAD_LIMIT = 16 * 1024
PATIENCE = 10.0

Check = Callable[[], bool | str]
"""True when fine; False or a text saying what is wrong."""


@dataclass(frozen=True, slots=True)
class DiagnosticsRequest:
    """A request for the diagnostics server."""

    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DiagnosticsResponse:
    """Its answer."""

    body: bytes
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"


Handler = Callable[[DiagnosticsRequest], Awaitable[DiagnosticsResponse]]


@dataclass(slots=True)
class DiagnosticsServer:
    """What a component shows of itself; `routes` adds paths of its own, those that end in `/` with all below them."""

    registry: "CollectorRegistry | None" = None
    health: dict[str, Check] = field(default_factory=dict)
    readiness: dict[str, Check] = field(default_factory=dict)
    authorize: Callable[[DiagnosticsRequest], Awaitable[bool]] | None = None
    routes: dict[str, Handler] = field(default_factory=dict)
    _server: asyncio.Server | None = None

    async def listen(self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> int:
        """Start serving; the port it serves on."""
        self._server = await asyncio.start_server(self._converse, host, port, limit=HEAD_LIMIT, ssl=tls)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop serving."""
        if self._server is not None:
            await stop_accepting(self._server)
            await self._server.wait_closed()

    async def answer(self, request: DiagnosticsRequest) -> DiagnosticsResponse:
        """The answer to one request."""
        route = self._route(request.path)
        if route is not None:
            return await route(request)
        match request.path:
            case "/healthz" | "/livez":
                return _checked(self.health, "verbose" in request.query)
            case "/readyz":
                return _checked(self.health | self.readiness, "verbose" in request.query)
            case "/metrics":
                return self._metrics()
            case profiling.PROFILE | profiling.TASKS:
                if self.authorize is None or not await self.authorize(request):
                    return DiagnosticsResponse(b"forbidden\n", 403)
                page = await profiling.page(request.path, request.query.get("seconds", [""])[0])
                return DiagnosticsResponse(page.body, page.status) if page else DiagnosticsResponse(b"", 404)
        return DiagnosticsResponse(b"not found\n", 404)

    def _route(self, path: str) -> Handler | None:
        if path in self.routes:
            return self.routes[path]
        return next(
            (route for prefix, route in self.routes.items() if prefix[-1:] == "/" and path.startswith(prefix)), None
        )

    def _metrics(self) -> DiagnosticsResponse:
        from prometheus_client import REGISTRY, generate_latest

        body = generate_latest(self.registry or REGISTRY)
        return DiagnosticsResponse(body, content_type="text/plain; version=0.0.4; charset=utf-8")

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
            writer.write(_encoded(await self._respond(head)))
            async with asyncio.timeout(PATIENCE):
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, TimeoutError):
            pass
        finally:
            writer.close()

    async def _respond(self, head: bytes) -> DiagnosticsResponse:
        lines = head.decode("latin-1").split("\r\n")
        method, _, rest = lines[0].partition(" ")
        target = rest.rpartition(" ")[0]
        if method != "GET":
            return DiagnosticsResponse(b"method not allowed\n", 405)
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        url = urlsplit(target)
        try:
            return await self.answer(DiagnosticsRequest(url.path, parse_qs(url.query, keep_blank_values=True), headers))
        except Exception:
            log.exception("the answer to %s failed", url.path)
            return DiagnosticsResponse(b"internal error\n", 500)


_PHRASES = {
    200: "OK",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    429: "Too Many Requests",
    503: "Service Unavailable",
}


def _encoded(response: DiagnosticsResponse) -> bytes:
    head = (
        f"HTTP/1.1 {response.status} {_PHRASES.get(response.status, 'Error')}\r\n"
        f"Content-Type: {response.content_type}\r\n"
        f"Content-Length: {len(response.body)}\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
    return head.encode("latin-1") + response.body


def _checked(checks: Mapping[str, Check], verbose: bool) -> DiagnosticsResponse:
    lines, failed = [], False
    for name, check in checks.items():
        try:
            outcome = check()
        except Exception as error:
            outcome = type(error).__name__
        bad = outcome is not True
        failed = failed or bad
        reason = f" failed: {outcome}" if isinstance(outcome, str) else " failed" if bad else " ok"
        lines.append(f"[{'-' if bad else '+'}]{name}{reason}")
    status = 503 if failed else 200
    if not failed and not verbose:
        return DiagnosticsResponse(b"ok")
    return DiagnosticsResponse("\n".join([*lines, "check failed" if failed else "check passed", ""]).encode(), status)
