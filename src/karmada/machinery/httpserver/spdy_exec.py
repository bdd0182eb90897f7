"""Exec and attach over SPDY, for clients that do not speak WebSocket yet: one stream for each direction.

The client opens a stream of each type it asked for: error, stdin, stdout, stderr, resize. The final status goes to
the error stream, as an object in version 4 and as text before.
"""

import asyncio
from collections.abc import AsyncIterator

from karmada.machinery.httpserver.backends import ExecBackend, ExecRequest, TerminalSize
from karmada.machinery.httpserver.channels import parse_size, plain_status, run_until_gone, status_object
from karmada.machinery.httpserver.model import ByteStream, HttpRequest, Upgrade
from karmada.machinery.httpserver.spdy import SpdyConnection, SpdyError, SpdyStream, spdy_upgrade
from karmada.machinery.httpserver.window import Window

PROTOCOLS = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
OPEN_SECONDS = 30.0
"""How long a client may take to open its streams."""
_SIZE_LIMIT = 64 * 1024
"""Bytes in which sizes are looked for: a client that never ends a line is not waited for."""


class _Streams:
    """`ProcessStreams` on SPDY streams."""

    def __init__(self, streams: dict[str, SpdyStream]) -> None:
        self._streams = streams
        self._window = Window()

    async def read(self) -> bytes:
        """Next input; empty at its end."""
        stdin = self._streams.get("stdin")
        return await stdin.read() if stdin is not None else b""

    async def write(self, data: bytes) -> None:
        """Standard output."""
        await self._write("stdout", data)

    async def write_error(self, data: bytes) -> None:
        """Standard error; terminals have only one output."""
        await self._write("stderr" if "stderr" in self._streams else "stdout", data)

    async def resized(self) -> TerminalSize:
        """The next size of the client's window."""
        return await self._window.resized()

    async def follow_window(self) -> None:
        """Note sizes until the client is gone: left unread they would hold up the streams beside them."""
        resize, rest = self._streams.get("resize"), b""
        while resize is not None and (data := await resize.read()):
            *whole, rest = (rest + data)[-_SIZE_LIMIT:].split(b"\n")
            for line in whole:
                if (size := parse_size(line)) is not None:
                    self._window.report(size)

    async def _write(self, name: str, data: bytes) -> None:
        stream = self._streams.get(name)
        if stream is not None:
            await stream.write(data)


def spdy_exec_upgrade(request: HttpRequest, wanted: ExecRequest, backend: ExecBackend) -> Upgrade:
    """Serve exec or attach on SPDY streams; raises a 403 `Failure` when no version fits."""

    async def serve(transport: ByteStream, protocol: str) -> None:
        connection = SpdyConnection(transport)
        accepted = connection.accept()
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                streams = await _opened(accepted, _expected(wanted))
        except (TimeoutError, SpdyError, StopAsyncIteration):
            return

        process = _Streams(streams)
        following = asyncio.create_task(process.follow_window())

        async def others() -> None:
            async for stream in accepted:
                await stream.reset()

        try:
            status = await run_until_gone(backend.execute(wanted, process), others)
        finally:
            following.cancel()
        if status is None:
            return
        data = status_object(status) if protocol.startswith("v4") else plain_status(status)
        if data:
            await streams["error"].write(data)
        for stream in streams.values():
            await stream.close()
        await connection.close()

    return spdy_upgrade(request, PROTOCOLS, serve)


def _expected(wanted: ExecRequest) -> set[str]:
    names = {"error"}
    for name, wants in (("stdin", wanted.stdin), ("stdout", wanted.stdout), ("resize", wanted.tty)):
        if wants:
            names.add(name)
    if wanted.stderr and not wanted.tty:
        names.add("stderr")
    return names


async def _opened(accepted: AsyncIterator[SpdyStream], expected: set[str]) -> dict[str, SpdyStream]:
    streams: dict[str, SpdyStream] = {}
    while expected - streams.keys():
        stream = await anext(accepted)
        streams[stream.headers.get("streamtype", "")] = stream
    return streams
