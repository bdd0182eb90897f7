"""Frames of a tunnel: stream number, kind, length, content.

    4 bytes stream | 1 byte kind | 1 byte zero | 2 bytes length | content

OPEN begins a stream, DATA carries its bytes, CREDIT (content: 4 bytes) allows the other side that many more, CLOSE ends
it.
PING and PONG (stream 0) show that the other side is alive.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

HEAD = struct.Struct(">IBBH")
LONGEST = 64 * 1024 - 1
PROTOCOL = "karmada-tunnel/1"
REPLICA = "karmada-replica"
"""Header of the answer: which replica of the server holds the tunnel."""
KNOWN = "karmada-known-replicas"
"""Header of the request: replicas that hold a tunnel of this agent already, comma-separated."""


class Kind(IntEnum):
    """What a frame means."""

    OPEN = 1
    DATA = 2
    CREDIT = 3
    CLOSE = 4
    PING = 5
    PONG = 6


class Frame(NamedTuple):
    """One frame."""

    stream: int
    kind: Kind
    content: bytes = b""


class FrameError(Exception):
    """The bytes are no frames: the connection cannot be trusted any more."""


def encode(frame: Frame) -> bytes:
    """A frame as bytes."""
    size = len(frame.content)
    if size > LONGEST:
        raise ValueError("a frame carries at most 64 KiB")
    return HEAD.pack(frame.stream, frame.kind, 0, size) + frame.content


CREDIT_SIZE = 4


def credit(stream: int, amount: int) -> Frame:
    """Leave to send more."""
    return Frame(stream, Kind.CREDIT, amount.to_bytes(CREDIT_SIZE, "big"))


class Decoder:
    """Takes bytes in any portions and returns whole frames."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that became complete."""
        data = self._rest + data
        position = 0
        while len(data) - position >= HEAD.size:
            stream, kind, reserved, size = HEAD.unpack_from(data, position)
            if reserved or kind not in Kind.__members__.values():
                raise FrameError("unknown kind of frame")
            end = position + HEAD.size + size
            if end > len(data):
                break
            yield Frame(stream, Kind(kind), data[position + HEAD.size : end])
            position = end
        self._rest = data[position:]
