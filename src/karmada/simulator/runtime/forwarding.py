"""Port-forward: a connection to a port of a pod; a simulated one answers HTTP and echoes everything else."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable

from karmada.machinery.clock import Clock
from karmada.machinery.httpserver import encoding
from karmada.machinery.httpserver.backends import ForwardingFailed
from karmada.machinery.httpserver.model import ByteStream, HttpResponse
from karmada.machinery.httpserver.parsing import Limits, Refusal, RequestParser
from karmada.simulator.network.listeners import http_response, web_request
from karmada.simulator.network.plane import Network, PodPort, Unreachable

CHUNK = 64 << 10
_METHODS = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"PATCH ", b"DELETE ", b"OPTIONS ")


class Forwarding:
    """Connects to ports of pods."""

    def __init__(self, cluster: str, network: Network, clock: Clock) -> None:
        self._cluster = cluster
        self._network = network
        self._clock = clock
        self._date = encoding.DateHeader()
        self.address_of: Callable[[str, str], str | None] = lambda namespace, pod: None
        """The address of a pod that is processes."""

    async def forward(self, namespace: str, pod: str, port: int, stream: ByteStream) -> None:
        """Serve one connection to its end."""
        if (address := self.address_of(namespace, pod)) is not None:
            await _pass_on(address, port, stream)
            return
        try:
            target = self._network.at(self._cluster, namespace, pod, port)
            self._network.listening(target, self._cluster)
        except Unreachable as error:
            raise ForwardingFailed(str(error)) from None
        parser = RequestParser(Limits(), ("127.0.0.1", 0))
        speaks_http = False
        try:
            while data := await stream.read():
                speaks_http = speaks_http or data.startswith(_METHODS)
                if not speaks_http:
                    await stream.write(data)
                elif not await self._answer(target, parser, data, stream):
                    break
        finally:
            parser.close()
        await stream.close()

    async def _answer(self, target: PodPort, parser: RequestParser, data: bytes, stream: ByteStream) -> bool:
        """Answer what became complete; whether the connection goes on."""
        for parsed in parser.feed(data):
            if isinstance(parsed, Refusal):
                await stream.write(self._encoded(HttpResponse(parsed.status, parsed.message.encode(), "text/plain")))
                return False
            try:
                reply = self._network.ask(target, web_request(parsed.request), self._cluster)
            except Unreachable:
                return False
            await self._clock.sleep(reply.seconds)
            response = http_response(reply)
            await stream.write(self._encoded(response, parsed.keep_alive, parsed.request.method == "HEAD"))
            if not parsed.keep_alive:
                return False
        return True

    def _encoded(self, answer: HttpResponse, keep_alive: bool = False, only_head: bool = False) -> bytes:
        framing = b"" if answer.status in (204, 304) else encoding.length(len(answer.body))
        date = self._date.at(time.time())
        head = encoding.head(answer.status, answer.content_type, answer.headers, date, framing, keep_alive)
        return head if only_head or not framing else head + answer.body


async def _pass_on(address: str, port: int, stream: ByteStream) -> None:
    """Join a connection with a process that listens."""
    try:
        reader, writer = await asyncio.open_connection(address, port)
    except OSError as error:
        raise ForwardingFailed(f"failed to connect to {address}:{port}: {os.strerror(error.errno or 0)}") from None

    async def there() -> None:
        with contextlib.suppress(OSError):
            while data := await stream.read():
                writer.write(data)
                await writer.drain()
            writer.write_eof()

    sending = asyncio.create_task(there(), name=f"forward to {address}:{port}")
    try:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                await stream.write(data)
        await stream.close()
    finally:
        sending.cancel()
        writer.transport.abort()
        await asyncio.gather(sending, return_exceptions=True)
