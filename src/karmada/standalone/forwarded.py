"""A transport over what passes HTTP requests on: the cluster proxy of this process, and the tunnels behind it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import unquote

import orjson

from karmada.apiserver.requests.model import Answer, AnyAnswer, Upgraded
from karmada.machinery import limits
from karmada.machinery.errors import BadAnswer, BadRequest, Timeout, Unavailable, from_status
from karmada.machinery.http.answer import Budget
from karmada.machinery.http.paths import Wire, to_wire
from karmada.machinery.http.streaming import events
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import HttpRequest
from karmada.machinery.os_errors import spelled
from karmada.machinery.transport import Request, WatchStream

PassOn = Callable[[HttpRequest, str], Awaitable[AnyAnswer]]
"""Passes a request on to a path."""
RAW_TIMEOUT = 30.0


class ForwardedTransport:
    """Implements `machinery.transport.Transport`."""

    def __init__(self, pass_on: PassOn, agent: str) -> None:
        self._pass_on = pass_on
        self._agent = agent
        self._budget = Budget()

    async def send(self, request: Request) -> bytes:
        """Answer every verb but watch."""
        return await self._answer(to_wire(request), request.accept, request.timeout)

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Request a path that is no resource."""
        wire = Wire(method, path, "application/json" if body else "", body or b"")
        return await self._answer(wire, accept, RAW_TIMEOUT)

    @contextlib.asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        """Open a watch; leaving the context closes it."""
        try:
            async with asyncio.timeout(request.timeout):
                status, parts = await self._opened(to_wire(request), request.accept)
                if status != 200:
                    raise _refusal(status, await parts.whole())
        except TimeoutError:
            raise Timeout(f"the server did not start the watch within {request.timeout:g} s") from None
        stream = events(parts)
        try:
            yield stream
        finally:
            await stream.aclose()
            await parts.close()

    async def close(self) -> None:
        """Nothing is kept open between requests."""

    async def _answer(self, wire: Wire, accept: str, timeout: float) -> bytes:
        try:
            async with asyncio.timeout(timeout):
                status, parts = await self._opened(wire, accept)
                body = await parts.whole()
        except TimeoutError:
            raise Timeout(f"no answer to {wire.method} within {timeout:g} s") from None
        if status >= 300:
            raise _refusal(status, body)
        return body

    async def _opened(self, wire: Wire, accept: str) -> tuple[int, "_Parts"]:
        path, _, query = wire.path.partition("?")
        headers = {"accept": accept or "application/json", "user-agent": self._agent}
        if wire.body:
            headers["content-type"] = wire.content_type
        request = HttpRequest(wire.method, unquote(path), query, headers, wire.body, ("", 0), None)
        try:
            answer = await self._pass_on(request, request.path)
        except Failure as failure:
            raise from_status(failure.code, failure.status(), 1.0) from failure
        if isinstance(answer, Upgraded):
            raise BadRequest("the answer is a connection of its own")
        if isinstance(answer, Answer):
            return answer.code, _Parts(_once(answer.body), self._budget)
        return answer.code, _Parts(answer.chunks, self._budget)


class _Parts:
    """A body that arrives in parts."""

    def __init__(self, chunks: AsyncIterator[bytes], budget: Budget) -> None:
        self._chunks = chunks
        self.budget = budget

    async def read(self) -> bytes:
        """The next part; empty at the end."""
        try:
            while not (part := await anext(self._chunks)):
                pass
        except StopAsyncIteration:
            return b""
        except OSError as error:
            raise Unavailable(f"the connection broke: {spelled(error)}") from error
        return part

    async def whole(self) -> bytes:
        """All of it, if that is not too much."""
        parts: list[bytes] = []
        size = 0
        try:
            while part := await self.read():
                size += len(part)
                if size > limits.BUFFERED:
                    raise BadAnswer(f"the answer has more than {limits.BUFFERED} bytes")
                parts.append(part)
        finally:
            await self.close()
        return b"".join(parts)

    async def close(self) -> None:
        """Read no more."""
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _refusal(status: int, body: bytes) -> Exception:
    try:
        tree = orjson.loads(body)
    except orjson.JSONDecodeError:
        tree = None
    if not isinstance(tree, dict) or tree.get("kind") != "Status":
        tree = {"message": f"the server answered {status}"}
    return from_status(status, tree, 1.0)
