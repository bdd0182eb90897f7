"""A transport whose requests are HTTP requests without a socket: handed to the server of this process as they would
come off the wire, so that everything that guards its API guards them too."""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from urllib.parse import unquote

import orjson

from karmada.apiserver.requests.model import Answer, AnyAnswer, Streamed
from karmada.machinery import limits
from karmada.machinery.errors import AnswerTooLarge, ApiError, BadAnswer, BadRequest, Timeout, from_status
from karmada.machinery.http.paths import Wire, to_wire
from karmada.machinery.http.streaming import parse
from karmada.machinery.httpserver.model import HttpRequest
from karmada.machinery.transport import Request, WatchEvent, WatchStream

Ask = Callable[[HttpRequest], Awaitable[AnyAnswer]]
RAW_TIMEOUT = 30.0
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
HERE = ("127.0.0.1", 0)


class InProcessTransport:
    """Implements `machinery.transport.Transport`; `prefix` goes before every path."""

    def __init__(self, ask: Ask, prefix: str = "", warn: Callable[[str], None] | None = None) -> None:
        self._ask = ask
        self._warn = warn
        self._prefix = prefix

    async def send(self, request: Request) -> bytes:
        """Answer every verb but watch."""
        return await self._whole(to_wire(request), request.accept, request.timeout)

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Request a path that is no resource."""
        return await self._whole(Wire(method, path, "application/json" if body else "", body or b""), accept)

    @contextlib.asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        """Open a watch; leaving the context closes it."""
        wire = to_wire(request)
        answer = await self._opened(wire, request.accept, request.timeout)
        if not isinstance(answer, Streamed) or answer.code >= 300:
            raise _refusal(answer, await _gathered(answer))
        events = _events(answer.chunks)
        try:
            yield events
        finally:
            await events.aclose()
            await _close(answer.chunks)

    async def close(self) -> None:
        """Nothing is held open between requests."""

    async def _whole(self, wire: Wire, accept: str, timeout: float = RAW_TIMEOUT) -> bytes:
        try:
            async with asyncio.timeout(timeout):
                answer = await self._ask(self._request(wire, accept))
                body = await _gathered(answer)
        except TimeoutError:
            raise Timeout(f"no answer to {wire.method} {wire.path.partition('?')[0]} within {timeout:g} s") from None
        if isinstance(answer, Answer) and self._warn is not None:
            for text in _WARNING.findall(answer.headers.get("Warning", "")):
                self._warn(text.replace('\\"', '"'))
        if isinstance(answer, (Answer, Streamed)) and answer.code < 300:
            return body
        raise _refusal(answer, body)

    async def _opened(self, wire: Wire, accept: str, timeout: float) -> AnyAnswer:
        try:
            async with asyncio.timeout(timeout):
                return await self._ask(self._request(wire, accept))
        except TimeoutError:
            raise Timeout(f"the server did not start the watch within {timeout:g} s") from None

    def _request(self, wire: Wire, accept: str) -> HttpRequest:
        path, _, query = wire.path.partition("?")
        headers = {"accept": accept or "application/json", "user-agent": "karmada-dashboard"}
        if wire.content_type:
            headers["content-type"] = wire.content_type
        return HttpRequest(wire.method, self._prefix + unquote(path), query, headers, wire.body, HERE, None)


async def _gathered(answer: AnyAnswer) -> bytes:
    if isinstance(answer, Answer):
        return answer.body
    if not isinstance(answer, Streamed):
        return b""
    parts: list[bytes] = []
    size = 0
    try:
        async for chunk in answer.chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > limits.ANSWER:
                raise AnswerTooLarge(f"the answer is larger than {limits.ANSWER} bytes")
    finally:
        await _close(answer.chunks)
    return b"".join(parts)


async def _events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[list[WatchEvent], None]:
    """The events of watch lines; a line may come in several parts."""
    unfinished = b""
    async for chunk in chunks:
        *lines, unfinished = (unfinished + chunk).split(b"\n")
        if len(unfinished) > limits.WATCH_LINE:
            raise BadAnswer(f"the server sent a watch event of more than {limits.WATCH_LINE} bytes")
        batch: list[WatchEvent] = []
        failure: ApiError | None = None
        for line in filter(None, lines):
            event = parse(line)
            if isinstance(event, ApiError):
                failure = event
                break
            batch.append(event)
        if batch:
            yield batch
        if failure is not None:
            raise failure


async def _close(chunks: object) -> None:
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()


def _refusal(answer: AnyAnswer, body: bytes) -> ApiError:
    if not isinstance(answer, (Answer, Streamed)):
        return BadRequest("this subresource needs a connection of its own")
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        text = body[:1000].decode("utf-8", "replace").strip()
        status = {"message": text or f"the server answered {answer.code}"}
    return from_status(answer.code, status)
