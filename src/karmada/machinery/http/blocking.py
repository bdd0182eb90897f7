"""Plain reads without an event loop: a command that asks a server three questions is over before asyncio is imported.

The same messages and the same parser as `http.transport`, over one blocking connection. Whatever is not plain raises
`NeedsLoop`, and the whole command is run again with a loop, which knows proxies, plugins, retries and streams, and
shows who is waited for. So only commands that write nothing, and print when they have everything, may use it.
"""

import contextlib
import os
import socket
import ssl
import time
from typing import NoReturn, cast

from karmada.machinery.errors import BadAnswer, TooManyRequests, Unauthorized, Unavailable
from karmada.machinery.http.answer import AnswerParser, Budget, Head
from karmada.machinery.http.identity import fixed
from karmada.machinery.http.messages import Address, refusal, require_json
from karmada.machinery.http.paths import Wire, to_wire
from karmada.machinery.http.target import Target
from karmada.machinery.http.tls import TLSSettings
from karmada.machinery.transport import Request, Verb, WatchStream

PATIENCE = 1.0
"""Seconds for one answer: whoever waits longer is to see what for."""
BUFFER = 64 * 1024


class NeedsLoop(BaseException):
    """It cannot be done without an event loop. No error: nothing that handles errors may keep it."""


class BlockingTransport:
    """Implements `machinery.transport.Transport` for reads that are answered at once."""

    def __init__(self, target: Target, *, agent: str) -> None:
        self._address = Address(target)
        credentials = fixed(target)
        if credentials is None or self._address.may_need_proxy(target.proxy, os.environ):
            raise NeedsLoop
        self._target = target
        self._credentials = credentials
        self._common = self._address.common(agent)
        self._connection: _Connection | None = None

    async def send(self, request: Request) -> bytes:
        """Answer gets and lists."""
        if request.verb not in (Verb.GET, Verb.LIST):
            raise NeedsLoop
        head, body = self._answer(to_wire(request), request.accept)
        require_json(head)
        return body

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Read a path that is no resource."""
        if method != "GET":
            raise NeedsLoop
        return self._answer(Wire(method, path, "", b""), accept)[1]

    def watch(self, request: Request) -> contextlib.AbstractAsyncContextManager[WatchStream]:
        """Streams need a loop."""
        _give_up()

    def stream(self, path: str, timeout: float = 0.0) -> NoReturn:
        """Streams need a loop."""
        _give_up()

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def _answer(self, wire: Wire, accept: str) -> tuple[Head, bytes]:
        request = self._address.encode(wire, accept, self._common, self._credentials.headers)
        try:
            if self._connection is None or not self._connection.usable:
                self._connection = self._connected()
            head, body = self._connection.exchange(request, time.monotonic() + PATIENCE)
        except (OSError, BadAnswer):
            raise NeedsLoop from None
        if head.warnings:
            raise NeedsLoop
        if head.status >= 300:
            error = refusal(head, body).error
            if isinstance(error, Unauthorized | TooManyRequests | Unavailable):
                raise NeedsLoop
            raise error
        return head, body

    def _connected(self) -> "_Connection":
        # Bytes spare the import of the codec for names beyond ASCII.
        host = self._address.host
        spelled = cast(str, host.encode()) if host.isascii() else host
        plain = socket.create_connection((spelled, self._address.port), PATIENCE)
        if not self._address.secure:
            return _Connection(plain)
        context = TLSSettings(self._target).context(self._credentials.certificate, self._credentials.key)
        name = self._target.server_name or host
        try:
            return _Connection(context.wrap_socket(plain, server_hostname=cast(str, name.encode())))
        except BaseException:
            plain.close()
            raise


class _Connection(AnswerParser):
    """One connection, one request at a time."""

    def __init__(self, connected: socket.socket | ssl.SSLSocket) -> None:
        super().__init__(Budget())
        self._socket = connected
        self._buffer = memoryview(bytearray(BUFFER))
        self.usable = True

    def exchange(self, request: bytes, until: float) -> tuple[Head, bytes]:
        """Send a request and wait for the whole answer; raises OSError or BadAnswer."""
        self._expect(stream=False)
        self._socket.sendall(request)
        while not self._complete:
            self._socket.settimeout(max(until - time.monotonic(), 0.001))
            size = self._socket.recv_into(self._buffer)
            if not size:
                raise ConnectionError("closed by the server")
            offence = self._feed(self._buffer[:size])
            if offence is not None:
                raise offence
        return self._head, self._taken()

    def close(self) -> None:
        """Drop the connection."""
        self._socket.close()

    def _last(self) -> None:
        self.usable = False
        self._socket.close()


def _give_up() -> NoReturn:
    raise NeedsLoop
