"""The HTTP server: listens, owns all connections, cuts off slow ones, and ends gracefully.

Connections are shared out. Those on which nobody has been authenticated have a small budget of their own, in which a
new one takes the place of the oldest that owes no answer: whoever holds many open without a word only replaces his own.
One user holds at most half of the others, and what is beyond that is answered once and closed.

Graceful end: no new connections; idle ones close at once, answers under way are finished, streams end with a proper
last chunk; what is still open after the grace period is aborted.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from karmada.machinery.httpserver.connection import HttpConnection
from karmada.machinery.httpserver.encoding import DateHeader
from karmada.machinery.httpserver.model import Handler, HttpRequest
from karmada.machinery.httpserver.pacing import Pacer
from karmada.machinery.httpserver.parsing import Admit, Limits, Room
from karmada.machinery.httpserver.timeouts import Timeouts
from karmada.machinery.httpserver.unsent import Unsent
from karmada.machinery.listening import stop_accepting

if TYPE_CHECKING:
    from OpenSSL import SSL

    from karmada.machinery.httpserver.tls import TlsConnection

_log = logging.getLogger(__name__)

MAX_CONNECTIONS = 10_000
MAX_UNAUTHENTICATED = 1_000
"""Connections without an authenticated user."""
MAX_BODIES = 512 * 1024 * 1024
"""Bytes of the bodies of all requests that arrive or wait for their answer; beyond that, only small ones are taken."""
MAX_UNSENT = 512 * 1024 * 1024
"""Bytes of answers that clients have still to read; beyond that, large ones wait or are refused."""
_TRIES = 16
"""How many busy connections are passed over in search of one that can make room."""
BACKLOG = 1024
RENEW_SECONDS = 12 * 3600.0
"""How often to ask for a fresh TLS context, long before a certificate expires."""


def log_failure(request: HttpRequest, error: Exception) -> None:
    """Log an answer that failed, with its traceback: it is a defect."""
    _log.error("%s %s failed", request.method, request.path, exc_info=error)


class HttpServer:
    """Serves a handler on any number of addresses.

    `admit` judges requests with a body by their headers; `renew` gives a TLS context with a fresh certificate.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        admit: Admit | None = None,
        tls: "SSL.Context | None" = None,
        renew: "Callable[[], SSL.Context] | None" = None,
        renew_seconds: float = RENEW_SECONDS,
        limits: Limits | None = None,
        timeouts: Timeouts | None = None,
        failed: Callable[[HttpRequest, Exception], None] = log_failure,
        max_connections: int = MAX_CONNECTIONS,
        max_unauthenticated: int = MAX_UNAUTHENTICATED,
        max_bodies: int = MAX_BODIES,
        max_unsent: int = MAX_UNSENT,
    ) -> None:
        self.tls = tls
        self._renew = renew
        self._renew_seconds = renew_seconds
        self.limits = limits or Limits()
        self.timeouts = timeouts or Timeouts()
        self.failed = failed
        self.date = DateHeader()
        self.loop: asyncio.AbstractEventLoop
        self.pacer: Pacer
        self._handler = handler
        self.admit = admit
        self._max_connections = max_connections
        self._max_unauthenticated = max_unauthenticated
        self.room = Room(max_bodies)
        self.unsent = Unsent(max_unsent)
        self._connections: set[HttpConnection | TlsConnection] = set()
        self._unauthenticated: dict[HttpConnection | TlsConnection, None] = {}
        """Those without an authenticated user, the oldest first."""
        self._clients: Counter[str] = Counter()
        self._listeners: list[asyncio.Server] = []
        self._sweeper: asyncio.Task[None] | None = None
        self._empty: asyncio.Event = asyncio.Event()
        self._stopping = False

    async def listen(self, host: str, port: int) -> int:
        """Listen on an address; returns the port, chosen by the system when 0 is given."""
        if self._sweeper is None:
            self.loop = asyncio.get_running_loop()
            self.pacer = Pacer(self.loop)
            self._sweeper = self.loop.create_task(self._sweep_forever(), name="http-sweeper")
        listener = await self.loop.create_server(self._accept, host, port, backlog=BACKLOG)
        self._listeners.append(listener)
        return int(listener.sockets[0].getsockname()[1])

    async def stop(self, grace: float = 5.0) -> None:
        """End gracefully; returns when every connection is closed."""
        self._stopping = True
        await stop_accepting(*self._listeners)
        if self._sweeper is not None:
            self._sweeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeper
        for connection in list(self._connections):
            connection.end()
        if self._connections:
            try:
                await asyncio.wait_for(self._empty.wait(), grace)
            except TimeoutError:
                for connection in list(self._connections):
                    connection.abort()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._empty.wait(), grace)

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    def sweep(self, now: float) -> None:
        """Cut off the connections whose deadline has passed."""
        for connection in [c for c in self._connections if c.deadline <= now]:
            connection.expire()

    def renew(self) -> None:
        """Take a fresh context, if there is a source of one; connections that are open keep theirs."""
        if self._renew is None:
            return
        try:
            self.tls = self._renew()
        except Exception as error:
            _log.error("the serving certificate cannot be renewed: %s", error)

    # For connections.

    def forget(self, connection: "HttpConnection | TlsConnection") -> None:
        """A connection is closed."""
        self._connections.discard(connection)
        self._unauthenticated.pop(connection, None)
        self._released(connection.client)
        connection.client = ""
        if self._stopping and not self._connections:
            self._empty.set()

    def replace(self, handshake: "TlsConnection", connection: HttpConnection) -> None:
        """A TLS handshake is complete: from now on the HTTP connection answers for the socket."""
        self._connections.discard(handshake)
        self._connections.add(connection)
        if self._unauthenticated.pop(handshake, connection) is None:
            self._unauthenticated[connection] = None
        if self._stopping:
            self.loop.call_soon(connection.end)

    def identified(self, connection: HttpConnection, client: str) -> bool:
        """A connection speaks for a user now; whether it may be kept after its answer."""
        self._released(connection.client)
        connection.client = client
        if not client:
            self._unauthenticated[connection] = None
            return True
        self._unauthenticated.pop(connection, None)
        self._clients[client] += 1
        known = len(self._connections) - len(self._unauthenticated)
        return known <= self._max_connections and self._clients[client] <= self._max_connections // 2

    def _released(self, client: str) -> None:
        if client:
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]

    def _accept(self) -> asyncio.Protocol:
        if self._stopping or (len(self._unauthenticated) >= self._max_unauthenticated and not self._make_room()):
            return _Refused()
        http = HttpConnection(self, self._handler)
        connection = http if self.tls is None else self._secured(self.tls, http)
        self._connections.add(connection)
        self._unauthenticated[connection] = None
        return connection

    def _secured(self, context: "SSL.Context", http: HttpConnection) -> "TlsConnection":
        from karmada.machinery.httpserver.tls import TlsConnection

        return TlsConnection(self, context, http)

    def _make_room(self) -> bool:
        """Cut off the oldest connection without an authenticated user that owes no answer; whether there was one."""
        for connection in list(islice(self._unauthenticated, _TRIES)):
            del self._unauthenticated[connection]
            if not connection.busy:
                connection.abort()
                return True
            self._unauthenticated[connection] = None
        return False

    async def _sweep_forever(self) -> None:
        interval = max(0.05, min(vars_of(self.timeouts)) / 4)
        renewal = self.loop.time() + self._renew_seconds
        while True:
            await asyncio.sleep(interval)
            self.sweep(self.loop.time())
            if self.loop.time() >= renewal:
                renewal += self._renew_seconds
                self.renew()


def vars_of(timeouts: Timeouts) -> tuple[float, ...]:
    """All timeouts, to choose how often to look."""
    return (timeouts.handshake, timeouts.head, timeouts.body, timeouts.idle, timeouts.write)


class _Refused(asyncio.Protocol):
    """One connection too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close at once."""
        transport.close()
