"""Exec and attach over WebSocket: several streams on one connection, distinguished by a leading channel number.

Channels: 0 input, 1 output, 2 errors, 3 the final status, 4 window sizes; 255 closes the channel named by its payload
(version 5). Binary protocols put the number in the first byte, base64 ones as a digit before base64 text.
"""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable

import orjson

from karmada.machinery.httpserver.backends import ExecBackend, ExecRequest, ExitStatus, TerminalSize
from karmada.machinery.httpserver.client_input import ClientInput
from karmada.machinery.httpserver.model import HttpRequest, Upgrade
from karmada.machinery.httpserver.spdy import asks_for_spdy
from karmada.machinery.httpserver.websocket import WebSocket, upgrade
from karmada.machinery.httpserver.window import Window

STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
EXEC_PROTOCOLS = (
    "v5.channel.k8s.io",
    "v4.channel.k8s.io",
    "v4.base64.channel.k8s.io",
    "channel.k8s.io",
    "base64.channel.k8s.io",
    "",
)


class Channels:
    """Channel messages on a WebSocket in the encoding of its subprotocol."""

    def __init__(self, socket: WebSocket, protocol: str) -> None:
        self._socket = socket
        self._text = "base64" in protocol

    async def receive(self) -> tuple[int, bytes] | None:
        """The next message of any channel; None at the end."""
        while (message := await self._socket.receive()) is not None:
            if isinstance(message, bytes):
                if message:
                    return message[0], message[1:]
            elif message[:1].isdigit():
                try:
                    return int(message[0]), base64.b64decode(message[1:])
                except binascii.Error:
                    continue
        return None

    async def send(self, channel: int, data: bytes) -> None:
        """Send on a channel."""
        if self._text:
            await self._socket.send(f"{channel}{base64.b64encode(data).decode()}")
        else:
            await self._socket.send(bytes((channel,)) + data)


class ChannelStreams:
    """`ProcessStreams` on channels; `pump` feeds them until the client is gone."""

    def __init__(self, channels: Channels) -> None:
        self._channels = channels
        self._input = ClientInput()
        self._window = Window()

    async def read(self) -> bytes:
        """Next input; empty at its end."""
        return await self._input.read()

    async def write(self, data: bytes) -> None:
        """Standard output."""
        await self._channels.send(STDOUT, data)

    async def write_error(self, data: bytes) -> None:
        """Standard error."""
        await self._channels.send(STDERR, data)

    async def resized(self) -> TerminalSize:
        """The next size of the client's window."""
        return await self._window.resized()

    async def pump(self) -> None:
        """Distribute what arrives; returns when the client is gone."""
        while (message := await self._channels.receive()) is not None:
            channel, data = message
            if channel == STDIN and data:
                await self._input.feed(data)
            elif channel == CLOSE and data[:1] == bytes((STDIN,)):
                await self._input.feed(b"")
            elif channel == RESIZE and (size := parse_size(data)) is not None:
                self._window.report(size)
        await self._input.feed(b"")


def exec_upgrade(request: HttpRequest, wanted: ExecRequest, backend: ExecBackend) -> Upgrade:
    """Serve exec or attach on a WebSocket, or on SPDY; raises a `Failure` for clients that speak something else."""
    if asks_for_spdy(request):
        from karmada.machinery.httpserver.spdy_exec import spdy_exec_upgrade

        return spdy_exec_upgrade(request, wanted, backend)

    async def serve(socket: WebSocket, protocol: str) -> None:
        channels = Channels(socket, protocol)
        streams = ChannelStreams(channels)
        # An empty message informs the client that the streams exist.
        await channels.send(STDOUT if wanted.stdout else STDERR if wanted.stderr else STATUS, b"")
        status = await run_until_gone(backend.execute(wanted, streams), streams.pump)
        if status is not None:
            versioned = protocol.startswith("v")
            data = status_object(status) if versioned else plain_status(status)
            if data:
                await channels.send(STATUS, data)

    return upgrade(request, EXEC_PROTOCOLS, serve)


def status_object(status: ExitStatus) -> bytes:
    """The final status as version 4 and later send it."""
    if status.message:
        body = {"metadata": {}, "status": "Failure", "message": status.message, "reason": "InternalError", "code": 500}
    elif status.code == 0:
        body = {"metadata": {}, "status": "Success"}
    else:
        body = {
            "metadata": {},
            "status": "Failure",
            "message": f"command terminated with non-zero exit code: exit status {status.code}",
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": str(status.code)}]},
        }
    return orjson.dumps(body)


async def run_until_gone(work: Awaitable[ExitStatus], pump: Callable[[], Awaitable[None]]) -> ExitStatus | None:
    """Run the command while its client is there; None when the client went first."""
    running = asyncio.ensure_future(work)
    reading = asyncio.ensure_future(pump())
    try:
        await asyncio.wait((running, reading), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            return None
        return running.result()
    finally:
        for task in (running, reading):
            task.cancel()
        await asyncio.gather(running, reading, return_exceptions=True)


def plain_status(status: ExitStatus) -> bytes:
    """The final status as versions before 4 send it; empty for success."""
    if status.message:
        return status.message.encode()
    return f"command terminated with exit code {status.code}".encode() if status.code else b""


def parse_size(data: bytes) -> TerminalSize | None:
    """A window's size as clients send it; None when it is unreadable."""
    try:
        size = orjson.loads(data)
        return TerminalSize(int(size["Width"]), int(size["Height"]))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None
