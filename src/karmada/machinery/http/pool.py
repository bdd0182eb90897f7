"""Connections to one server, kept open and reused, newest first. Each use has the connection for itself."""

import asyncio
import os
import ssl
from typing import cast

from karmada.machinery.errors import Unavailable
from karmada.machinery.http.answer import Budget
from karmada.machinery.http.connection import Connection, new_buffer
from karmada.machinery.http.messages import Address
from karmada.machinery.http.target import Target
from karmada.machinery.os_errors import spelled

IDLE = 60.0
"""Seconds after which an unused connection is not trusted to be open any more."""


class Pool:
    """Idle connections, by the TLS context they were made with: a new certificate means new connections."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.address = Address(target)
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
            raise Unavailable(f"no connection to {self._target.server}: {spelled(error)}") from error

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
        name = self._target.server_name or self.address.host
        if isinstance(loop, asyncio.BaseEventLoop):
            name = _spelled(name)  # uvloop takes no bytes
        raw = await self._tunnel() if self.address.may_need_proxy(self._target.proxy, os.environ) else None
        if raw is None:
            _, connection = await loop.create_connection(
                lambda: Connection(self._buffer, self._budget),
                self.address.host,
                self.address.port,
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

    async def _tunnel(self) -> asyncio.Transport | None:
        """The way through the proxy, if there is one for this server."""
        from karmada.machinery.http.proxy import proxy_for, tunnel

        proxy = proxy_for(self.address.scheme, self.address.host, self._target.proxy, os.environ)
        return None if proxy is None else await tunnel(proxy, self._target, self.address.host, self.address.port)


def _spelled(host: str) -> str:
    """A host as TLS takes it. Bytes spare the import of the codec for names beyond ASCII: programs start sooner."""
    return cast(str, host.encode()) if host.isascii() else host
