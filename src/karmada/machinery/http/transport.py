"""The `http` transport: API requests over connections that are kept, with deadlines and retries that cannot do harm.

What is repeated, and why that is safe:
- a request for which no connection could be made: the server never saw it;
- a read whose connection broke: reads change nothing;
- a request answered with 429 and Retry-After: the server refused it before doing anything (evictions excepted: there
  it is an answer);
- a read answered with 503 and Retry-After;
- a request answered with 401, once, when fresher credentials can be had.
A write whose connection broke after it was sent is not repeated: whether it happened is for the caller to find out.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable

from karmada.machinery import limits
from karmada.machinery.errors import Timeout, TooManyRequests, Unauthorized, Unavailable
from karmada.machinery.http.answer import Head
from karmada.machinery.http.connection import Connection, ConnectionBroken
from karmada.machinery.http.credentials import CredentialSource
from karmada.machinery.http.identity import Credentials
from karmada.machinery.http.messages import Refused, refusal, require_json
from karmada.machinery.http.paths import Wire, to_wire
from karmada.machinery.http.pool import Pool
from karmada.machinery.http.streaming import events
from karmada.machinery.http.target import NOTHING, Target
from karmada.machinery.http.tls import TLSSettings
from karmada.machinery.os_errors import spelled
from karmada.machinery.transport import Request, WatchStream

IN_FLIGHT = 64
ATTEMPTS = 5
RAW_TIMEOUT = 30.0


class HttpTransport:
    """Implements `machinery.transport.Transport` over HTTP."""

    def __init__(self, target: Target, *, agent: str = "karmada", warn: Callable[[str], None] | None = None) -> None:
        self._pool = Pool(target)
        self._tls = TLSSettings(target)
        self._credentials = CredentialSource(target)
        self._warn = warn
        self._in_flight = asyncio.Semaphore(IN_FLIGHT)
        self._common = self._pool.address.common(agent)

    async def send(self, request: Request) -> bytes:
        """Answer every verb but watch."""
        wire = to_wire(request)
        evicting = request.subresource == "eviction"
        return await self._answer(wire, request.accept, request.timeout, retry_busy=not evicting, is_object=True)

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Request a path that is no resource."""
        wire = Wire(method, path, "application/json" if body else "", body or b"")
        return await self._answer(wire, accept, RAW_TIMEOUT, retry_busy=True)

    @contextlib.asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        """Open a watch on a connection of its own; leaving the context closes it."""
        try:
            async with asyncio.timeout(request.timeout):
                connection, head = await self._opened(to_wire(request), request.accept)
        except TimeoutError:
            raise Timeout(f"the server did not start the watch within {request.timeout:g} s") from None
        stream = events(connection)
        try:
            require_json(head)
            yield stream
        finally:
            await stream.aclose()
            connection.close()

    @contextlib.asynccontextmanager
    async def stream(self, path: str, timeout: float = RAW_TIMEOUT) -> AsyncIterator[AsyncIterator[bytes]]:
        """Read a path whose answer may never end (logs); parts come as they arrive. `timeout` is for the start."""
        try:
            async with asyncio.timeout(timeout):
                connection, _ = await self._opened(Wire("GET", path, "", b""), "*/*")
        except TimeoutError:
            raise Timeout(f"no answer to GET {_plain(path)} within {timeout:g} s") from None
        try:
            yield _parts(connection)
        finally:
            connection.close()

    async def close(self) -> None:
        """Close all connections that are not in use; those in use close when they are done."""
        self._pool.close()

    async def _answer(
        self, wire: Wire, accept: str, timeout: float, *, retry_busy: bool, is_object: bool = False
    ) -> bytes:
        try:
            async with asyncio.timeout(timeout), self._in_flight:
                return await self._persist(wire, accept, retry_busy, is_object)
        except TimeoutError:
            raise Timeout(f"no answer to {wire.method} {_plain(wire.path)} within {timeout:g} s") from None

    async def _persist(self, wire: Wire, accept: str, retry_busy: bool, is_object: bool) -> bytes:
        reading = wire.method == "GET"
        renewed = False
        for attempt in range(1, ATTEMPTS + 1):
            credentials = await self._credentials.current()
            try:
                return await self._exchange(wire, accept, credentials, is_object)
            except Refused as refused:
                error = refused.error
                if isinstance(error, Unauthorized) and not renewed and self._credentials.refused(credentials):
                    renewed = True
                    continue
                busy = retry_busy and isinstance(error, TooManyRequests)
                safe = busy or (reading and isinstance(error, Unavailable))
                if refused.retry_after is None or not safe or attempt == ATTEMPTS:
                    raise error from None
                await asyncio.sleep(refused.retry_after)
            except ConnectionBroken:
                if not reading or attempt == ATTEMPTS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def _exchange(self, wire: Wire, accept: str, credentials: Credentials, is_object: bool) -> bytes:
        context = self._context(credentials)
        connection = self._pool.reuse(context) or await self._pool.open(context)
        try:
            head, body = await connection.exchange(self._encoded(wire, accept, credentials))
        finally:
            self._pool.give_back(context, connection)
        self._pass_warnings(head)
        if head.status >= 300:
            raise refusal(head, body)
        if is_object:
            require_json(head)
        return body

    async def _opened(self, wire: Wire, accept: str) -> tuple[Connection, Head]:
        for renewed in (False, True):
            credentials = await self._credentials.current()
            connection = await self._pool.open(self._context(credentials))
            try:
                head = await connection.open(self._encoded(wire, accept, credentials))
                self._pass_warnings(head)
                if head.status == 200:
                    return connection, head
                body = b""
                while (data := await connection.read()) and len(body) <= limits.REFUSAL:
                    body += data
            except BaseException:
                connection.close()
                raise
            connection.close()
            error = refusal(head, body).error
            if not isinstance(error, Unauthorized) or renewed or not self._credentials.refused(credentials):
                raise error
        raise AssertionError("the second attempt returns or raises")

    def _context(self, credentials: Credentials) -> ssl.SSLContext | None:
        if not self._pool.address.secure:
            return None
        try:
            return self._tls.context(credentials.certificate or NOTHING, credentials.key)
        except (OSError, ssl.SSLError) as error:
            raise Unauthorized(f"the certificates cannot be used: {spelled(error)}") from error

    def _encoded(self, wire: Wire, accept: str, credentials: Credentials) -> bytes:
        return self._pool.address.encode(wire, accept, self._common, credentials.headers)

    def _pass_warnings(self, head: Head) -> None:
        if self._warn is not None:
            for warning in head.warnings:
                self._warn(limits.printable(warning.decode("utf-8", "replace"), limits.MESSAGE))


async def _parts(connection: Connection) -> AsyncIterator[bytes]:
    while data := await connection.read():
        yield data


def _plain(path: str) -> str:
    return path.partition("?")[0]
