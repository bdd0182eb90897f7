"""One HTTP request on a connection of its own: the head of the answer, then its body or another protocol."""

import asyncio
from dataclasses import dataclass, field

import httptools

from karmada.machinery.channel import Channel, splice
from karmada.machinery.httpserver.model import ByteStream

HEAD_SECONDS = 60.0
HEAD_LIMIT = 256 * 1024


class ExchangeFailed(OSError):
    """The connection ended, or what came is no HTTP, before there was an answer."""


@dataclass(slots=True)
class Reply:
    """The head of an answer; header names are lower case. `switched` is set after a change of protocol."""

    channel: Channel
    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    switched: bool = False
    rest: bytes = b""
    """What of the new protocol came with the head."""

    def header(self, name: str) -> str:
        """The value of a header, empty when there is none."""
        return next((value for known, value in self.headers if known == name), "")

    async def carry_on(self, stream: ByteStream) -> None:
        """Pass on what either side sends in the new protocol until one of them ends."""
        try:
            if self.rest:
                await stream.write(self.rest)
            await splice(stream, self.channel)
        finally:
            await self.channel.close()


class _Parser:
    """Collects what httptools finds."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self.parts: list[bytes] = []
        self.has_head = False
        self.is_complete = False
        self._quiet = 0
        """Bytes since the head or a part of the body: the parser keeps what is unfinished, without a bound."""
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        self._quiet += len(data)
        if self.has_head and self._quiet > HEAD_LIMIT:
            raise ExchangeFailed("what stands between the parts of the answer is too large")
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._reply.switched = True
            self._reply.rest = data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            raise ExchangeFailed(f"the answer is not valid HTTP: {error}") from error

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.has_head:
            return  # trailers are dropped
        self._reply.headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 and status != 101:
            self._reply.headers.clear()
            return
        self._reply.status = status
        self.has_head = True
        self._quiet = 0

    def on_body(self, body: bytes) -> None:
        self._quiet = 0
        self.parts.append(body)

    def on_message_complete(self) -> None:
        self.is_complete = self.has_head


class Body:
    """The body of an answer as it comes; reading it to its end, or `aclose`, closes the connection."""

    def __init__(self, channel: Channel, parser: _Parser, only_head: bool) -> None:
        self._channel = channel
        self._parser = parser
        self._only_head = only_head

    def __aiter__(self) -> "Body":
        return self

    async def __anext__(self) -> bytes:
        parser = self._parser
        while not parser.parts:
            if self._only_head or parser.is_complete:
                await self.aclose()
                raise StopAsyncIteration
            data = await self._channel.read()
            if not data:
                await self.aclose()
                raise StopAsyncIteration
            parser.feed(data)
        data = b"".join(parser.parts)
        parser.parts.clear()
        return data

    async def aclose(self) -> None:
        """Drop the connection."""
        await self._channel.close()


async def exchange(channel: Channel, head: bytes, body: bytes, *, only_head: bool) -> tuple[Reply, Body]:
    """Send a request; its answer's head and body."""
    reply = Reply(channel)
    parser = _Parser(reply)
    try:
        async with asyncio.timeout(HEAD_SECONDS):
            await channel.write(head + body)
            received = 0
            while not parser.has_head:
                data = await channel.read()
                received += len(data)
                if not data or received > HEAD_LIMIT:
                    raise ExchangeFailed("the connection ended before the answer")
                parser.feed(data)
    except BaseException:
        await channel.close()
        raise
    return reply, Body(channel, parser, only_head)
