import asyncio
import base64
import json
import struct
import zlib

import pytest
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong, TextMessage

from karmada.machinery.httpserver.backends import ExecRequest, ExitStatus, ForwardingFailed, TerminalSize
from karmada.machinery.httpserver.channels import exec_upgrade
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.forwarding import TUNNEL, forward_upgrade
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse
from karmada.machinery.httpserver.spdy import header_dictionary

V5 = "v5.channel.k8s.io"


class Backend:
    """Runs a few commands and echoes ports."""

    def __init__(self):
        self.cancelled = asyncio.Event()

    async def execute(self, request, streams):
        if request.command == ("cat",):
            while data := await streams.read():
                await streams.write(data.upper())
            return ExitStatus()
        if request.command == ("size",):
            size = await streams.resized()
            assert size == TerminalSize(80, 24)
            return ExitStatus()
        if request.command == ("last-size",):
            await streams.read()
            size = await streams.resized()
            return ExitStatus() if size == TerminalSize(80, 24) else ExitStatus(message=f"not the newest: {size}")
        if request.command == ("hang",):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        await streams.write_error(b"oops")
        return ExitStatus(3) if request.command == ("fail",) else ExitStatus(message="no such container")

    async def forward(self, namespace, pod, port, stream):
        if port == 81:
            raise ForwardingFailed("nothing listens")
        while data := await stream.read():
            await stream.write(b"%d:" % port + data)


class WebSocketClient:
    def __init__(self, client, head):
        self._client = client
        self._frames = Connection(ConnectionType.CLIENT)
        self.head = head
        self._events = []

    def send(self, message):
        event = BytesMessage(message) if isinstance(message, bytes) else TextMessage(message)
        self.send_event(event)

    def send_event(self, event):
        self._client.send(self._frames.send(event))

    def cut(self):
        self._client.writer.close()

    async def next(self):
        while not self._events:
            data = await asyncio.wait_for(self._client.reader.read(65536), 10)
            self._frames.receive_data(data or None)
            self._events += list(self._frames.events())
        return self._events.pop(0)

    async def message(self):
        event = await self.next()
        assert isinstance(event, (BytesMessage, TextMessage)), event
        return bytes(event.data) if isinstance(event, BytesMessage) else event.data


@pytest.fixture
def backend():
    return Backend()


@pytest.fixture
async def dial(serve, backend):
    async def handler(request: HttpRequest):
        try:
            if request.path == "/forward":
                return forward_upgrade(request, "ns", "p", [80, 81], backend)
            wanted = ExecRequest("ns", "p", "", (request.path[1:],), True, True, True, False)
            return exec_upgrade(request, wanted, backend)
        except Failure as failure:
            return HttpResponse(failure.code, failure.message.encode())

    connect = await serve(handler)

    async def start(path, protocol):
        client = await connect()
        offer = f"Sec-WebSocket-Protocol: {protocol}\r\n" if protocol else ""
        client.send(
            f"GET {path} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{offer}"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        return WebSocketClient(client, await client.until(b"\r\n\r\n"))

    return start


async def test_the_handshake_chooses_the_clients_first_known_protocol(dial):
    socket = await dial("/cat", f"v9.unknown, {V5}, v4.channel.k8s.io")
    assert b"HTTP/1.1 101" in socket.head
    assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in socket.head
    assert f"Sec-WebSocket-Protocol: {V5}".encode() in socket.head


async def test_unknown_protocols_are_refused(dial):
    assert b"HTTP/1.1 400" in (await dial("/cat", "v9.unknown")).head


async def test_input_output_and_the_end_of_input(dial):
    socket = await dial("/cat", V5)
    assert await socket.message() == b"\x01"
    socket.send(b"\x00hello")
    assert await socket.message() == b"\x01HELLO"
    socket.send(b"\xff\x00")
    status = await socket.message()
    assert (status[0], json.loads(status[1:])["status"]) == (3, "Success")
    assert isinstance(await socket.next(), CloseConnection)


async def test_base64_channels(dial):
    socket = await dial("/cat", "v4.base64.channel.k8s.io")
    assert await socket.message() == "1"
    socket.send("0" + base64.b64encode(b"hello").decode())
    assert await socket.message() == "1" + base64.b64encode(b"HELLO").decode()


@pytest.mark.parametrize(
    ("command", "reason", "message"),
    [
        ("fail", "NonZeroExitCode", "command terminated with non-zero exit code: exit status 3"),
        ("nosuch", "InternalError", "no such container"),
    ],
)
async def test_failures_are_reported_with_the_exit_code(dial, command, reason, message):
    socket = await dial(f"/{command}", V5)
    await socket.message()
    assert await socket.message() == b"\x02oops"
    status = json.loads((await socket.message())[1:])
    assert (status["reason"], status["message"]) == (reason, message)
    if reason == "NonZeroExitCode":
        assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]


async def test_window_sizes_reach_the_process(dial):
    socket = await dial("/size", V5)
    await socket.message()
    socket.send(b"\x04nonsense")
    socket.send(b'\x04{"Width":80,"Height":24}')
    assert json.loads((await socket.message())[1:])["status"] == "Success"


async def test_of_many_window_sizes_that_nobody_looked_at_the_newest_is_kept(dial):
    socket = await dial("/last-size", V5)
    await socket.message()
    for height in range(1000):
        socket.send(b'\x04{"Width":1,"Height":%d}' % height)
    socket.send(b'\x04{"Width":80,"Height":24}')
    socket.send(b"\x00go")
    assert json.loads((await socket.message())[1:])["status"] == "Success"


@pytest.mark.parametrize("how", ["close", "cut"])
async def test_the_process_ends_with_its_client(dial, backend, how):
    socket = await dial("/hang", V5)
    await socket.message()
    if how == "close":
        socket.send_event(CloseConnection(1000))
    else:
        socket.cut()
    await asyncio.wait_for(backend.cancelled.wait(), 10)


async def test_pings_are_answered_and_noise_closes(dial):
    socket = await dial("/hang", V5)
    await socket.message()
    socket.send_event(Ping(b"x"))
    assert isinstance(await socket.next(), Pong)
    socket._client.send(b"\xff\xff\xff\xff")
    assert isinstance(await socket.next(), CloseConnection)


async def test_port_forward_over_channels(dial):
    socket = await dial("/forward", "v4.channel.k8s.io")
    assert [await socket.message() for _ in range(4)] == [b"\0P\0", b"\1P\0", b"\2Q\0", b"\3Q\0"]
    assert await socket.message() == b"\3error forwarding port 81 to pod p: nothing listens"
    socket.send(b"\0hi")
    assert await socket.message() == b"\x0080:hi"


class Spdy:
    """A client's side of the framing."""

    def __init__(self, socket):
        self.socket = socket
        self._deflate = zlib.compressobj(zdict=header_dictionary())
        self._buffer = b""

    def open(self, identifier, **headers):
        plain = struct.pack(">I", len(headers))
        for name, value in headers.items():
            plain += struct.pack(">I", len(name)) + name.encode() + struct.pack(">I", len(value)) + value.encode()
        block = self._deflate.compress(plain) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        payload = struct.pack(">IIH", identifier, 0, 0) + block
        self.socket.send(struct.pack(">HHI", 0x8003, 1, len(payload)) + payload)

    def data(self, identifier, data, fin=False):
        frame = struct.pack(">II", identifier, fin << 24 | len(data)) + data
        for start in range(0, len(frame), 5):
            self.socket.send(frame[start : start + 5])

    def ping(self):
        self.socket.send(struct.pack(">HHII", 0x8003, 6, 4, 1))

    async def frame(self):
        while len(self._buffer) < 8 or len(self._buffer) < 8 + self._size():
            self._buffer += await self.socket.message()
        first, rest = struct.unpack_from(">II", self._buffer)
        end = 8 + self._size()
        payload, self._buffer = self._buffer[8:end], self._buffer[end:]
        if first & 0x80000000:
            return ("control", first & 0xFFFF, struct.unpack_from(">I", payload)[0])
        return (first, payload, bool(rest >> 24 & 1))

    def _size(self):
        return struct.unpack_from(">II", self._buffer)[1] & 0xFFFFFF


class Raw:
    """A connection that was upgraded to SPDY itself."""

    def __init__(self, client):
        self._client = client

    def send(self, data):
        self._client.send(data)

    async def message(self):
        return await asyncio.wait_for(self._client.reader.read(65536), 10)


@pytest.fixture
async def dial_spdy(serve, backend):
    async def handler(request: HttpRequest):
        wanted = ExecRequest("ns", "p", "", (request.path[1:],), True, True, False, True)
        return exec_upgrade(request, wanted, backend)

    connect = await serve(handler)

    async def start(path):
        client = await connect()
        upgrade = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n"
        client.send(f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n{upgrade}\r\n".encode())
        assert b"HTTP/1.1 101" in await client.until(b"\r\n\r\n")
        spdy = Spdy(Raw(client))
        for identifier, name in enumerate(("error", "stdin", "stdout", "resize")):
            spdy.open(identifier * 2 + 1, streamtype=name)
            assert await spdy.frame() == ("control", 2, identifier * 2 + 1)
        return spdy

    return start


async def test_a_terminal_over_spdy_has_the_newest_size_however_many_went_unread(dial_spdy):
    spdy = await dial_spdy("/last-size")
    for height in range(200):
        spdy.data(7, b'{"Width":1,"Height":%d}\n' % height)
    spdy.data(7, b'{"Width":80,')
    spdy.data(7, b'"Height":24}\n')
    spdy.data(3, b"go")
    identifier, status, _ = await spdy.frame()
    assert (identifier, json.loads(status)["status"]) == (1, "Success")


async def test_a_size_without_an_end_holds_nothing_up(dial_spdy):
    spdy = await dial_spdy("/cat")
    for _ in range(200):
        spdy.data(7, b"9" * 1000)
    spdy.data(3, b"hello")
    assert await spdy.frame() == (5, b"HELLO", False)


async def test_port_forward_through_the_tunnel(dial):
    socket = await dial("/forward", TUNNEL)
    spdy = Spdy(socket)
    spdy.open(1, streamtype="error", port="80", requestid="0")
    assert await spdy.frame() == ("control", 2, 1)
    spdy.open(3, streamtype="data", port="80", requestid="0")
    assert await spdy.frame() == ("control", 2, 3)
    spdy.data(3, b"hello")
    assert await spdy.frame() == (3, b"80:hello", False)
    spdy.ping()
    assert await spdy.frame() == ("control", 6, 1)
    spdy.data(3, b"", fin=True)
    assert await spdy.frame() == (3, b"", True)
    assert await spdy.frame() == (1, b"", True)


async def test_an_unreachable_port_is_reported_on_the_error_stream(dial):
    socket = await dial("/forward", TUNNEL)
    spdy = Spdy(socket)
    spdy.open(1, streamtype="error", port="81", requestid="0")
    spdy.open(3, streamtype="data", port="81", requestid="0")
    assert [await spdy.frame() for _ in range(2)] == [("control", 2, 1), ("control", 2, 3)]
    assert await spdy.frame() == (1, b"error forwarding port 81 to pod p: nothing listens", False)


async def test_broken_framing_ends_the_connection(dial):
    socket = await dial("/forward", TUNNEL)
    socket.send(struct.pack(">HHI", 0x8002, 1, 4) + b"abcd")
    assert isinstance(await socket.next(), CloseConnection)
