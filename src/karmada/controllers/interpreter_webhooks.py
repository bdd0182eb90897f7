"""Sends the interpreter's questions to webhooks: `WebhookClient.post` is the `Post` that the interpreter is given.

Connections are kept and reused. What may succeed when tried again (no connection, 429, 5xx) is `NotDelivered`; any
other answer than 200 is an error.
"""

import asyncio
import ssl
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

from karmada.interpreter.model import InterpretError, Unavailable
from karmada.interpreter.webhook import Endpoint, NotDelivered
from karmada.machinery import errors
from karmada.machinery.http.connection import Connection
from karmada.machinery.http.head import UnsafeHead, request_head
from karmada.machinery.os_errors import spelled

IDLE = 4
"""Connections kept per webhook."""
SECURE_PORT, PLAIN_PORT = 443, 80


class WebhookClient:
    """The connections of one process to interpreter webhooks."""

    def __init__(self) -> None:
        self._idle: dict[Endpoint, list[Connection]] = {}

    async def post(self, endpoint: Endpoint, body: bytes) -> bytes:
        """Send a question and give the answer."""
        request = _request(endpoint, body)
        connection = self._reuse(endpoint) or await _connect(endpoint)
        try:
            head, answer = await connection.exchange(request)  # an exchange that fails closes the connection
        except (errors.Unavailable, errors.BadAnswer) as error:
            raise NotDelivered(str(error)) from error
        self._keep(endpoint, connection)
        if head.status == 200:
            return answer
        if head.status == 429 or head.status >= 500:
            raise NotDelivered(f"{endpoint.url} answered with status {head.status}")
        raise InterpretError(f"{endpoint.url} answered with status {head.status}")

    def close(self) -> None:
        """Drop all connections."""
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    def _reuse(self, endpoint: Endpoint) -> Connection | None:
        idle = self._idle.get(endpoint, [])
        while idle:
            connection = idle.pop()
            if connection.usable:
                return connection
            connection.close()
        return None

    def _keep(self, endpoint: Endpoint, connection: Connection) -> None:
        idle = self._idle.setdefault(endpoint, [])
        if connection.usable and len(idle) < IDLE:
            idle.append(connection)
        else:
            connection.close()


def _url(endpoint: Endpoint) -> SplitResult:
    try:
        url = urlsplit(endpoint.url)
        _ = url.port
    except ValueError as error:
        raise Unavailable(f"{endpoint.url!r} is no address of a webhook: {error}") from error
    if url.scheme not in ("http", "https") or not url.hostname:
        raise Unavailable(f"{endpoint.url} is no address of a webhook: it must begin with https:// and a host")
    return url


async def _connect(endpoint: Endpoint) -> Connection:
    url = _url(endpoint)
    secure = url.scheme == "https"
    port = url.port or (SECURE_PORT if secure else PLAIN_PORT)
    host = url.hostname or ""
    name = (endpoint.server_name or host) if secure else None
    context = _context(endpoint.ca_bundle) if secure else None
    try:
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection, host, port, ssl=context, server_hostname=name
        )
    except ssl.SSLCertVerificationError as error:
        raise InterpretError(f"{endpoint.url} cannot be trusted: {error.verify_message}") from error
    except OSError as error:
        raise NotDelivered(f"no connection to {endpoint.url}: {spelled(error)}") from error
    return connection


@lru_cache(maxsize=64)
def _context(ca_bundle: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if ca_bundle:
            context.load_verify_locations(cadata=ca_bundle.decode("ascii"))
        else:
            context.load_default_certs()
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise Unavailable("clientConfig.caBundle holds no certificates in PEM form") from error
    return context


def _request(endpoint: Endpoint, body: bytes) -> bytes:
    url = _url(endpoint)
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    fields = [
        ("Host", url.netloc),
        ("Content-Type", "application/json"),
        ("Accept", "application/json"),
        ("Content-Length", str(len(body))),
    ]
    try:
        return request_head("POST", path, fields) + body
    except UnsafeHead as error:
        raise Unavailable(f"{endpoint.url!r} is no address of a webhook: {error}") from None
