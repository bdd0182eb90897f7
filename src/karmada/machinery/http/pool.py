"""Connections to one server, kept open and reused, newest first. Each use has the connection for itself."""

import asyncio
import os
import ssl
from typing import cast

from karmada.machinery.errors import Unavailable
from karmada.machinery.http.connection import Budget, Connection, new_buffer
from karmada.machinery.http.target import Target

IDLE = 60.0
"""Seconds after which an unused connection is not trusted to be open any more."""


class Pool:
    """Idle connections, by the TLS context they were made with: a new certificate means new connections."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._scheme, self.host, port = _address(target.server)
        known = self._scheme in ("http", "https")
        if not known or not self.host or (port and not (port.isdecimal() and int(port) < 1 << 16)):
            raise ValueError(f"the server must be http(s)://host[:port], not {target.server!r}")
        self.secure = self._scheme == "https"
        self.port = int(port) if port else 443 if self.secure else 80
        self._buffer = new_buffer()
        self._budget = Budget()
        self._idle: dict[ssl.SSLContext | None, list[Connection]] = {}
        self._closed = False

    def reuse(self, context: ssl.SSLContext | None) -> Connection | None:
        """An idle connection, if there is one."""
        idle = self._idle.get(context, [])
        now = asyncio.get_running_loop().time()
        while idle:
            connection = idle.pop()
            if connection.usable and now - connection.idle_since < IDLE:
                return connection
            connection.close()
        return None

    async def open(self, context: ssl.SSLContext | None) -> Connection:
        """A new connection. Failing to make one has had no effect on the server."""
        if self._closed:
            raise Unavailable("the transport is closed")
        try:
            return await self._connect(context)
        except ssl.SSLCertVerificationError as error:
            raise Unavailable(f"{self._target.server} cannot be trusted: {error.verify_message}") from error
        except (OSError, ssl.SSLError) as error:
            raise Unavailable(f"no connection to {self._target.server}: {error}") from error

    def give_back(self, context: ssl.SSLContext | None, connection: Connection) -> None:
        """Keep a connection for the next request if it can take one."""
        if self._closed or not connection.usable:
            connection.close()
            return
        connection.idle_since = asyncio.get_running_loop().time()
        if context not in self._idle:
            self._drop_all()
        self._idle.setdefault(context, []).append(connection)

    def close(self) -> None:
        """Close what is idle; what is in use is closed when it is given back."""
        self._closed = True
        self._drop_all()

    def _drop_all(self) -> None:
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    async def _connect(self, context: ssl.SSLContext | None) -> Connection:
        loop = asyncio.get_running_loop()
        name = self._target.server_name or self.host
        if isinstance(loop, asyncio.BaseEventLoop):
            name = _spelled(name)  # uvloop takes no bytes
        raw = await self._tunnel() if self._may_need_proxy() else None
        if raw is None:
            _, connection = await loop.create_connection(
                lambda: Connection(self._buffer, self._budget),
                self.host,
                self.port,
                ssl=context,
                server_hostname=name if context else None,
            )
            return connection
        connection = Connection(self._buffer, self._budget)
        if context is None:
            raw.set_protocol(connection)
            connection.connection_made(raw)
            return connection
        secured = await loop.start_tls(raw, connection, context, server_hostname=name)
        if secured is None:
            raise Unavailable("the connection broke during the TLS handshake")
        connection.connection_made(secured)
        return connection

    def _may_need_proxy(self) -> bool:
        name = f"{self._scheme}_proxy"
        return bool(self._target.proxy) or name in os.environ or name.upper() in os.environ

    async def _tunnel(self) -> asyncio.Transport | None:
        """The way through the proxy, if there is one for this server."""
        from karmada.machinery.http.proxy import proxy_for, tunnel

        proxy = proxy_for(self._scheme, self.host, self._target.proxy, os.environ)
        return None if proxy is None else await tunnel(proxy, self._target, self.host, self.port)


def _address(server: str) -> tuple[str, str, str]:
    """Scheme, host and port of a server's URL. By hand: the module that knows all URLs is slow to import."""
    scheme, _, rest = server.partition("://")
    authority = rest.partition("/")[0].rpartition("@")[2]
    if authority.startswith("["):
        host, _, port = authority[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = authority.partition(":")
    return scheme.lower(), host.lower(), port


def _spelled(host: str) -> str:
    """A host as TLS takes it. Bytes spare the import of the codec for names beyond ASCII: programs start sooner."""
    return cast(str, host.encode()) if host.isascii() else host
