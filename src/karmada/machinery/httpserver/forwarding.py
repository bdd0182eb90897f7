"""Port-forward: connections to a pod's ports through one upgraded connection.

Three dialects: `SPDY/3.1+portforward.k8s.io` (kubectl), where each connection is a pair of SPDY streams, one for data
and one for errors, tunnelled in binary messages; the same streams without the tunnel (older clients); and
`v4.channel.k8s.io` (other clients), where each port named in the query has a pair of channels and carries one
connection.
"""

import asyncio
import contextlib
import struct
from collections.abc import Sequence

from karmada.machinery.httpserver.backends import ForwardingFailed, PortForwardBackend
from karmada.machinery.httpserver.channels import Channels
from karmada.machinery.httpserver.model import ByteStream, HttpRequest, Upgrade
from karmada.machinery.httpserver.spdy import SpdyConnection, SpdyError, SpdyStream, asks_for_spdy, spdy_upgrade
from karmada.machinery.httpserver.websocket import WebSocket, upgrade

PLAIN = "portforward.k8s.io"
TUNNEL = f"SPDY/3.1+{PLAIN}"
CHANNELS = ("v4.channel.k8s.io", "v4.base64.channel.k8s.io")


class _Tunnel:
    """Bytes on the binary messages of a WebSocket (`ByteStream`)."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def read(self) -> bytes:
        """Next bytes; empty at the end."""
        while (message := await self._socket.receive()) is not None:
            if message and isinstance(message, bytes):
                return message
        return b""

    async def write(self, data: bytes) -> None:
        """Write with back-pressure."""
        await self._socket.send(data)

    async def close(self) -> None:
        """Close the WebSocket."""
        await self._socket.close()


def forward_upgrade(
    request: HttpRequest, namespace: str, pod: str, ports: Sequence[int], backend: PortForwardBackend
) -> Upgrade:
    """Serve port-forward; `ports` are those of the query. Raises a `Failure` for other protocols."""
    if asks_for_spdy(request):

        async def serve_spdy(transport: ByteStream, protocol: str) -> None:
            await _serve_streams(transport, namespace, pod, backend)

        return spdy_upgrade(request, (PLAIN,), serve_spdy)

    async def serve(socket: WebSocket, protocol: str) -> None:
        if protocol == TUNNEL:
            await _serve_streams(_Tunnel(socket), namespace, pod, backend)
        else:
            await _serve_channels(Channels(socket, protocol), namespace, pod, ports, backend)

    return upgrade(request, (TUNNEL, *CHANNELS), serve)


async def _serve_streams(tunnel: ByteStream, namespace: str, pod: str, backend: PortForwardBackend) -> None:
    """Pair the streams of each connection by its request id, and serve each pair in a task of its own."""
    connection = SpdyConnection(tunnel)
    errors: dict[str, SpdyStream] = {}
    tasks: set[asyncio.Task[None]] = set()
    try:
        async for stream in connection.accept():
            identifier = stream.headers.get("requestid", "")
            if stream.headers.get("streamtype") == "error":
                errors[identifier] = stream
                continue
            work = _serve_pair(stream, errors.pop(identifier, None), namespace, pod, backend)
            task = asyncio.create_task(work)
            tasks.add(task)
            task.add_done_callback(tasks.discard)
    except SpdyError:
        pass
    finally:
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _serve_pair(
    data: SpdyStream, error: SpdyStream | None, namespace: str, pod: str, backend: PortForwardBackend
) -> None:
    with contextlib.suppress(ConnectionError):
        try:
            port = int(data.headers.get("port", ""))
            await backend.forward(namespace, pod, port, data)
        except (ForwardingFailed, ValueError) as failure:
            if error is not None:
                await error.write(_message(failure, data.headers.get("port", ""), pod))
        finally:
            await data.close()
            if error is not None:
                await error.close()


async def _serve_channels(
    channels: Channels, namespace: str, pod: str, ports: Sequence[int], backend: PortForwardBackend
) -> None:
    streams = [_ChannelStream(channels, 2 * index) for index in range(len(ports))]
    for index, port in enumerate(ports):
        # Both channels of a port begin with its number.
        for channel in (2 * index, 2 * index + 1):
            await channels.send(channel, struct.pack("<H", port))
    tasks = [
        asyncio.create_task(_serve_channel(stream, namespace, pod, port, backend))
        for stream, port in zip(streams, ports, strict=True)
    ]
    try:
        while (message := await channels.receive()) is not None:
            channel, data = message
            if channel % 2 == 0 and channel // 2 < len(streams) and data:
                await streams[channel // 2].feed(data)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _serve_channel(
    stream: "_ChannelStream", namespace: str, pod: str, port: int, backend: PortForwardBackend
) -> None:
    try:
        await backend.forward(namespace, pod, port, stream)
    except ForwardingFailed as failure:
        await stream.write_error(_message(failure, str(port), pod))


class _ChannelStream:
    """One port's connection on its pair of channels (`ByteStream`)."""

    def __init__(self, channels: Channels, number: int) -> None:
        self._channels = channels
        self._number = number
        self._input: asyncio.Queue[bytes] = asyncio.Queue(64)

    async def feed(self, data: bytes) -> None:
        """Bytes from the client."""
        await self._input.put(data)

    async def read(self) -> bytes:
        """Next bytes; the connection ends by cancellation, as channels have no end of their own."""
        return await self._input.get()

    async def write(self, data: bytes) -> None:
        """Write with back-pressure."""
        await self._channels.send(self._number, data)

    async def write_error(self, data: bytes) -> None:
        """Write to the port's error channel."""
        await self._channels.send(self._number + 1, data)

    async def close(self) -> None:
        """Channels stay open until the whole connection closes."""


def _message(failure: Exception, port: str, pod: str) -> bytes:
    return f"error forwarding port {port} to pod {pod}: {failure}".encode()
