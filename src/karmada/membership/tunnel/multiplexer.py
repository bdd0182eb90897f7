"""Many streams on one connection. A stream whose reader is slow holds up no other: each has a window of its own.

One side opens streams, the other accepts them. When the connection ends, every stream ends with an error. Neither side
trusts the other: one that sends more than its window, opens streams where none are accepted, or speaks otherwise than
`frames` says, loses the connection.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from karmada.machinery.channel import Channel
from karmada.machinery.clock import REAL, Clock
from karmada.membership.tunnel.frames import CREDIT_SIZE, LONGEST, Decoder, Frame, FrameError, Kind, credit, encode

WINDOW = 256 * 1024
"""Bytes of a stream that may be on their way or wait for their reader."""
MOST_STREAMS = 1024
FRAMES = 256
"""Frames that are taken before others get their turn."""
PING_SECONDS = 15.0
SILENCE = 60.0
"""A connection on which nothing at all arrives for this long is dead."""


class TunnelBroken(ConnectionError):
    """The tunnel ended."""


class Stream:
    """One stream of a tunnel (`Channel`)."""

    def __init__(self, number: int, send: Callable[[Frame], Awaitable[None]]) -> None:
        self.number = number
        self._send = send
        self._arrived = bytearray()
        self._owed = 0
        """Bytes read but not yet credited to the other side."""
        self._allowed = WINDOW
        """Bytes that may be sent."""
        self._expected = WINDOW
        """Bytes that may arrive."""
        self._ended = False
        self._closed = False
        self._broken = False
        self._changed = asyncio.Event()

    async def read(self) -> bytes:
        """Next bytes; empty at the end."""
        while not self._arrived:
            if self._broken:
                raise TunnelBroken("the tunnel broke")
            if self._ended or self._closed:
                return b""
            await self._wait()
        data = bytes(self._arrived)
        self._arrived.clear()
        self._owed += len(data)
        if self._owed >= WINDOW // 4 and not self._closed:
            owed, self._owed = self._owed, 0
            self._expected += owed
            await self._send(credit(self.number, owed))
        return data

    async def write(self, data: bytes) -> None:
        """Write as the other side allows."""
        view = memoryview(data)
        while view:
            while not self._allowed:
                self._check()
                await self._wait()
            self._check()
            size = min(len(view), self._allowed, LONGEST)
            self._allowed -= size
            await self._send(Frame(self.number, Kind.DATA, bytes(view[:size])))
            view = view[size:]

    async def close(self) -> None:
        """End the stream."""
        if self._closed or self._broken:
            return
        self._closed = True
        self._arrived.clear()
        self._changed.set()
        with contextlib.suppress(OSError):
            await self._send(Frame(self.number, Kind.CLOSE))

    def take(self, frame: Frame) -> None:
        """A frame for this stream has arrived."""
        if frame.kind is Kind.DATA:
            self._expected -= len(frame.content)
            if self._expected < 0 or not frame.content:
                raise FrameError("a stream sends more than it is allowed, or nothing")
            if not self._closed:
                self._arrived += frame.content
        elif frame.kind is Kind.CREDIT:
            self._allowed += int.from_bytes(frame.content, "big")
            if len(frame.content) != CREDIT_SIZE or self._allowed > WINDOW:
                raise FrameError("a stream allows more than was sent")
        elif frame.kind is Kind.CLOSE:
            self._ended = True
        self._changed.set()

    @property
    def is_over(self) -> bool:
        """Whether both sides have ended it."""
        return self._ended and self._closed

    def fail(self) -> None:
        """The tunnel is gone."""
        self._broken = True
        self._changed.set()

    def _check(self) -> None:
        if self._broken or self._ended or self._closed:
            raise TunnelBroken("the stream has ended")

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()


Accept = Callable[[Stream], Awaitable[None]]


class Multiplexer:
    """Streams on one connection; `accept` serves those that the other side opens."""

    def __init__(self, channel: Channel, accept: Accept | None = None, clock: Clock = REAL) -> None:
        self._channel = channel
        self._accept = accept
        self._clock = clock
        self._streams: dict[int, Stream] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._next = 1
        self._writing = asyncio.Lock()
        self._received_at = clock.monotonic()
        self.is_open = True

    async def open(self) -> Stream:
        """A new stream to the other side."""
        if not self.is_open:
            raise TunnelBroken("the tunnel is closed")
        if len(self._streams) >= MOST_STREAMS:
            raise TunnelBroken("the tunnel carries as many streams as it may")
        stream = self._add(self._next)
        self._next += 1
        await self._send(Frame(stream.number, Kind.OPEN))
        return stream

    async def run(self) -> None:
        """Carry frames until the connection ends; then end all streams."""
        decoder = Decoder()
        pinging = asyncio.create_task(self._ping())
        try:
            while data := await self._channel.read():
                self._received_at = self._clock.monotonic()
                ponged = False
                for number, frame in enumerate(decoder.feed(data), 1):
                    if not number % FRAMES:
                        await asyncio.sleep(0)
                    if frame.kind is not Kind.PING:
                        await self._take(frame)
                    elif not ponged:
                        # One answer to all that came together: a flood of questions is answered with a trickle.
                        ponged = True
                        await self._send(Frame(0, Kind.PONG))
        except (OSError, FrameError):
            pass
        finally:
            self.is_open = False
            pinging.cancel()
            for task in list(self._serving):
                task.cancel()
            for stream in self._streams.values():
                stream.fail()
            self._streams.clear()
            await asyncio.gather(pinging, *self._serving, return_exceptions=True)
            await self._channel.close()

    async def close(self) -> None:
        """Drop the connection."""
        self.is_open = False
        await self._channel.close()

    async def _take(self, frame: Frame) -> None:
        if frame.kind is Kind.OPEN:
            await self._accepted(frame.stream)
        elif frame.kind is not Kind.PONG:
            stream = self._streams.get(frame.stream)
            if stream is not None:
                stream.take(frame)
                self._drop_if_over(stream)

    async def _accepted(self, number: int) -> None:
        if self._accept is None or number in self._streams:
            raise FrameError("a stream is opened where none may be")
        if len(self._streams) >= MOST_STREAMS:
            await self._send(Frame(number, Kind.CLOSE))
            return
        stream = self._add(number)
        task = asyncio.create_task(self._serve(self._accept, stream))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, accept: Accept, stream: Stream) -> None:
        try:
            await accept(stream)
        except OSError:
            pass
        finally:
            await stream.close()

    def _add(self, number: int) -> Stream:
        stream = Stream(number, self._send)
        self._streams[number] = stream
        return stream

    def _drop_if_over(self, stream: Stream) -> None:
        if stream.is_over:
            self._streams.pop(stream.number, None)

    async def _send(self, frame: Frame) -> None:
        async with self._writing:
            await self._channel.write(encode(frame))
        if frame.kind is Kind.CLOSE and (stream := self._streams.get(frame.stream)) is not None:
            self._drop_if_over(stream)

    async def _ping(self) -> None:
        while True:
            await self._clock.sleep(PING_SECONDS)
            if self._clock.monotonic() - self._received_at > SILENCE:
                await self._channel.close()
                return
            try:
                async with asyncio.timeout(SILENCE):
                    await self._send(Frame(0, Kind.PING))
            except TimeoutError:
                # It does not read what is sent to it.
                await self._channel.close()
                return
            except OSError:
                pass
