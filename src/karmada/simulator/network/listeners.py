"""Loopback sockets for ports of pods: opened when somebody asks for one, closed when the pod goes.

Only loopback addresses are bound, whatever the member's own server listens on: simulated pods trust everybody.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from karmada.apiserver.watchcache import WatchCache
from karmada.apiserver.watchcache.keys import Kind
from karmada.apiserver.watchcache.model import StoreEvent
from karmada.machinery.clock import Clock
from karmada.machinery.httpserver.model import Handler, HttpAnswer, HttpRequest, HttpResponse
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.transport import EventType
from karmada.simulator.network.plane import PODS, Network, PodPort, Unreachable
from karmada.simulator.network.program import WebReply, WebRequest

LOOPBACK = "127.0.0.1"
MOST = 1024
"""Sockets of one member at most: each is a file descriptor."""


class Entrance(NamedTuple):
    """A name inside a member, with a port."""

    namespace: str
    host: str
    port: int


Target = PodPort | Entrance


class Listeners:
    """The open ports of one member's pods."""

    def __init__(self, cluster: str, network: Network, store: WatchCache, clock: Clock) -> None:
        self._cluster = cluster
        self._network = network
        self._clock = clock
        self._open: dict[Target, tuple[HttpServer, int]] = {}
        self._opening = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()
        store.subscribe(self._changed, PODS)

    async def address(self, target: PodPort) -> tuple[str, int]:
        """Where a pod's port can be reached on this machine; raises `Unreachable` when nobody listens there."""
        self._network.listening(target)
        return LOOPBACK, await self._port(target, lambda: target)

    async def entrance(self, namespace: str, host: str, port: int) -> tuple[str, int]:
        """Where a name can be reached on this machine; every request goes where the name leads at that moment."""
        self._network.lookup(self._cluster, namespace, host)
        target = Entrance(namespace, host, port)
        return LOOPBACK, await self._port(target, lambda: self._network.route(self._cluster, *target))

    async def _port(self, key: Target, find: Callable[[], PodPort]) -> int:
        async with self._opening:
            known = self._open.get(key)
            if known is None:
                if len(self._open) >= MOST:
                    raise Unreachable(f"{self._cluster} has {MOST} open ports already: delete pods or restart it")
                server = HttpServer(self._handler(find))
                known = self._open[key] = (server, await server.listen(LOOPBACK, 0))
        return known[1]

    def __len__(self) -> int:
        return len(self._open)

    async def close(self) -> None:
        """Close all of them."""
        servers = [server for server, _ in self._open.values()]
        self._open.clear()
        await asyncio.gather(*(server.stop(grace=0.0) for server in servers), *self._closing)

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if event.type is not EventType.DELETED or not self._open:
            return
        gone = [target for target in self._open if isinstance(target, PodPort) and target.uid == event.item.index.uid]
        for server, _ in [self._open.pop(target) for target in gone]:
            task = asyncio.get_running_loop().create_task(server.stop(grace=0.0))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _handler(self, find: Callable[[], PodPort]) -> Handler:
        async def handle(request: HttpRequest) -> HttpAnswer:
            try:
                reply = self._network.ask(find(), web_request(request))
            except Unreachable as error:
                return HttpResponse(503, f"{error}\n".encode(), "text/plain; charset=utf-8")
            if reply.seconds:
                await self._clock.sleep(reply.seconds)
            return http_response(reply)

        return handle


def web_request(request: HttpRequest, path: str = "") -> WebRequest:
    """A request from the network as pods see it; `path` in place of its own."""
    target = (path or request.path) + (f"?{request.query}" if request.query else "")
    return WebRequest(request.method, target, request.headers, request.body)


def http_response(reply: WebReply) -> HttpResponse:
    """A pod's reply for the network."""
    return HttpResponse(reply.status, reply.body, reply.content_type, dict(reply.headers))
