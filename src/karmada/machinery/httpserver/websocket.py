"""Server side of WebSocket: the handshake on a parsed request, and whole messages on the upgraded connection."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Message, Ping, Pong, TextMessage
from wsproto.utilities import LocalProtocolError, RemoteProtocolError, generate_accept_token

from karmada.machinery.httpserver.failure import bad_request
from karmada.machinery.httpserver.model import ByteStream, HttpRequest, Upgrade

MAX_MESSAGE = 4 * 1024 * 1024
"""Larger messages end the connection: nobody may make the server gather without bound."""

PING_SECONDS = 30.0


class WebSocket:
    """Messages on an upgraded connection. Several tasks may send; one receives."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._frames = Connection(ConnectionType.SERVER)
        self._ready: list[bytes | str] = []
        self._parts: list[bytes | str] = []
        self._size = 0
        self._closed = False

    async def receive(self) -> bytes | str | None:
        """The next whole message; None when the client closed or went away."""
        while not self._ready and not self._closed:
            data = await self._stream.read()
            try:
                self._frames.receive_data(data or None)
                for event in self._frames.events():
                    await self._handle(event)
            except RemoteProtocolError:
                await self.close(1002, "protocol error")
            if not data:
                self._closed = True
        return self._ready.pop(0) if self._ready else None

    async def send(self, message: bytes | str) -> None:
        """Send a message; after the end it is dropped, as its reader is gone."""
        if self._closed:
            return
        event = BytesMessage(message) if isinstance(message, bytes) else TextMessage(message)
        await self._stream.write(self._frames.send(event))

    async def ping(self) -> None:
        """Ask for a sign of life, which keeps proxies from closing the connection."""
        if not self._closed:
            await self._stream.write(self._frames.send(Ping()))

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close with a reason; further calls do nothing."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(LocalProtocolError, ConnectionError):
            await self._stream.write(self._frames.send(CloseConnection(code, reason)))
        await self._stream.close()

    async def _handle(self, event: object) -> None:
        if isinstance(event, Message):
            self._size += len(event.data)
            if self._size > MAX_MESSAGE:
                await self.close(1009, "message too large")
                return
            self._parts.append(bytes(event.data) if isinstance(event.data, (bytes, bytearray)) else event.data)
            if event.message_finished:
                self._ready.append(_joined(self._parts))
                self._parts, self._size = [], 0
        elif isinstance(event, Ping):
            await self._stream.write(self._frames.send(Pong(event.payload)))
        elif isinstance(event, CloseConnection) and not self._closed:
            self._closed = True
            await self._stream.write(self._frames.send(event.response()))
            await self._stream.close()


def upgrade(
    request: HttpRequest, supported: Sequence[str], serve: Callable[[WebSocket, str], Awaitable[None]]
) -> Upgrade:
    """Accept a WebSocket with the first subprotocol the client offers that is supported.

    An empty string among `supported` accepts clients that offer none. Raises a 400 `Failure`.
    """
    headers = request.headers
    if "websocket" not in headers.get("upgrade", "").lower() or "sec-websocket-key" not in headers:
        wanted = headers.get("upgrade") or "none"
        raise bad_request(f"unable to upgrade: this connection needs a WebSocket, the client offered {wanted}")
    if headers.get("sec-websocket-version") != "13":
        raise bad_request("unable to upgrade: unsupported WebSocket version, only 13 is known")
    offered = [name.strip() for name in headers.get("sec-websocket-protocol", "").split(",") if name.strip()]
    chosen = next((name for name in offered or [""] if name in supported), None)
    if chosen is None:
        raise bad_request(f"unable to upgrade: none of the subprotocols {', '.join(offered)} is supported")
    token = generate_accept_token(headers["sec-websocket-key"].encode("latin-1")).decode()
    answer = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": token}
    if chosen:
        answer["Sec-WebSocket-Protocol"] = chosen

    async def run(stream: ByteStream) -> None:
        socket = WebSocket(stream)
        pinging = asyncio.create_task(_keep_alive(socket))
        try:
            await serve(socket, chosen)
        finally:
            pinging.cancel()
            await socket.close()

    return Upgrade(answer, run)


async def _keep_alive(socket: WebSocket) -> None:
    while True:
        await asyncio.sleep(PING_SECONDS)
        await socket.ping()


def _joined(parts: list[bytes | str]) -> bytes | str:
    if len(parts) == 1:
        return parts[0]
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if texts else b"".join(part for part in parts if isinstance(part, bytes))
