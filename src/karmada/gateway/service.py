"""The gateway as a whole: what it follows, what it serves, what it reports.

    async with GatewayService(client, informers, supervisor, options, find, open_member) as gateway:
        gateway.http_port

Every replica serves; none leads.
"""

from collections.abc import Callable, Container
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType

from karmada.gateway.certificates import Certificates
from karmada.gateway.exchange import IDLE_SECONDS, Connections
from karmada.gateway.members import OpenMember
from karmada.gateway.metrics import GatewayMetrics
from karmada.gateway.proxy import Gateway, Times, broke_off
from karmada.gateway.reconcilers import GatewayReconcilers
from karmada.gateway.status import StatusWriter
from karmada.gateway.upstream_routes import Find
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.httpserver.parsing import Limits
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.httpserver.timeouts import Timeouts
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor

COMPONENT = "karmada-gateway"
SWEEPER = "gateway-connections"
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    """What the operator chose."""

    http: tuple[str, int] | None = ("127.0.0.1", 0)
    https: tuple[str, int] | None = None
    addresses: tuple[str, ...] = ()
    """Under which clients reach it, for the status of ingresses."""
    class_name: str = "karmada"
    direct: Container[str] = ()
    """Clusters whose endpoints are connected to at their own addresses."""
    max_body: int = 10 * MIB
    max_connections: int = 10_000
    times: Times = field(default_factory=Times)


class GatewayService:
    """A running gateway."""

    def __init__(
        self,
        client: Client,
        informers: InformerFactory,
        supervisor: Supervisor,
        options: GatewayOptions,
        find: Find,
        open_member: OpenMember,
        clock: Clock = REAL,
    ) -> None:
        self._options = options
        self._clock = clock
        self._supervisor = supervisor
        self._certificates = Certificates()
        self._connections = Connections()
        self._stack = AsyncExitStack()
        status = StatusWriter(client, options.addresses, clock)
        self.reconcilers = status.reconcilers = GatewayReconcilers(
            client,
            informers,
            open_member,
            self._certificates,
            status.controller.enqueue,
            options.class_name,
            clock,
            options.direct,
        )
        self._controllers = (*self.reconcilers.controllers, status.controller)
        self.metrics = GatewayMetrics(lambda: self.reconcilers.balancers)
        self._handler: Callable[[str], Gateway] = lambda scheme: Gateway(
            lambda host, path, request: self.reconcilers.table.match(host, path, request),
            self.reconcilers.balancers.get,
            find,
            self._connections,
            self.metrics,
            times=options.times,
            scheme=scheme,
            clock=clock,
        )
        self.http_port = self.https_port = 0

    async def __aenter__(self) -> "GatewayService":
        self._stack.callback(self._connections.close)
        self._stack.push_async_callback(self.reconcilers.members.close)
        for controller in self._controllers:
            self._supervisor.start(controller.name, controller.run)
        self._supervisor.start(SWEEPER, self._sweep)
        if self._options.http is not None:
            self.http_port = await self._listen(self._server("http"), *self._options.http)
        if self._options.https is not None:
            self.https_port = await self._listen(self._server("https"), *self._options.https)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        for controller in self._controllers:
            await self._supervisor.cancel(controller.name)
        await self._supervisor.cancel(SWEEPER)
        await self._stack.aclose()

    async def _sweep(self) -> None:
        while True:
            await self._clock.sleep(IDLE_SECONDS)
            self._connections.sweep()

    def is_ready(self) -> bool | str:
        """Whether the routes there were at the start are served; a text says what is missing."""
        return self.reconcilers.ready or "the routes are not known yet"

    def _server(self, scheme: str) -> HttpServer:
        limits = Limits(body=self._options.max_body, head=64 * 1024)
        tls = self._certificates.front if scheme == "https" else None
        # Its clients have no names here: all of them share what there is.
        handler = self._handler(scheme)
        return HttpServer(
            handler,
            admit=handler.admit,
            tls=tls,
            limits=limits,
            # People download through slow lines, and what they have not read yet stays with the endpoint.
            timeouts=Timeouts(slowest=1.0),
            max_unauthenticated=self._options.max_connections,
            failed=broke_off,
        )

    async def _listen(self, server: HttpServer, host: str, port: int) -> int:
        bound = await server.listen(host, port)
        self._stack.push_async_callback(server.stop)
        return bound
