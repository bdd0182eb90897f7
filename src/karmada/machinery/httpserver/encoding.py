"""Answers to bytes: status lines, headers, chunks, and when compressing is worth its time. Free of I/O."""

import zlib
from collections.abc import Iterable, Iterator
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from ipaddress import ip_address

from karmada.machinery.httpserver.model import PIECE, Headers

LAST_CHUNK = b"0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

GZIP_LEVEL = 1
GZIP_MINIMUM = 128 * 1024
"""Below this size compressing costs more than it saves; the same threshold as Kubernetes uses."""

_LINES = {int(s): f"HTTP/1.1 {int(s)} {s.phrase}\r\n".encode() for s in HTTPStatus}


class DateHeader:
    """The Date header, formatted once a second."""

    __slots__ = ("_line", "_second")

    def __init__(self) -> None:
        self._second = -1
        self._line = b""

    def at(self, now: float) -> bytes:
        """The header line for a time in seconds since the epoch."""
        second = int(now)
        if second != self._second:
            self._second = second
            self._line = f"Date: {formatdate(second, usegmt=True)}\r\n".encode()
        return self._line


def head(status: int, content_type: str, headers: Headers, date: bytes, framing: bytes, keep_alive: bool) -> bytes:
    """Status line and headers; `framing` is the line that says how the body ends (may be empty)."""
    line = _LINES.get(status) or b"HTTP/1.1 %d Status\r\n" % status
    more = _private(headers, content_type) if headers else _alone(content_type)
    close = b"" if keep_alive else b"Connection: close\r\n"
    return b"%b%b%b%b%b\r\n" % (line, more, date, framing, close)


def fields(headers: Headers, content_type: str = "") -> bytes:
    """Header lines; raises ValueError rather than write one that holds more than one."""
    lines = []
    for name, value in headers.items():
        lines += [f"{name}: {single}\r\n" for single in ((value,) if isinstance(value, str) else value)]
    if content_type:
        lines.append(f"Content-Type: {content_type}\r\n")
    more = "".join(lines).encode("utf-8", "surrogateescape")
    if not more.count(b"\n") == more.count(b"\r") == len(lines):
        raise ValueError("a header value contains a line break")
    return more


_PRIVATE = b"Cache-Control: no-cache, private\r\n"
"""Nobody on the way keeps an answer, unless it says itself for how long."""


def _private(headers: Headers, content_type: str) -> bytes:
    kept = any(name.lower() == "cache-control" for name in headers)
    return fields(headers, content_type) + (b"" if kept else _PRIVATE)


@lru_cache(64)
def _alone(content_type: str) -> bytes:
    """The header lines of an answer that has none but its content type, as most do."""
    return _private({}, content_type)


def length(size: int) -> bytes:
    """Framing of a whole body."""
    return b"Content-Length: %d\r\n" % size


CHUNKED = b"Transfer-Encoding: chunked\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body; `data` must not be empty, as that would end the body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def cut(data: bytes, after: int = 0) -> Iterator[bytes]:
    """What follows the first `after` bytes, in pieces that are not too large."""
    if not after and len(data) <= PIECE:
        yield data
    else:
        for start in range(after, len(data), PIECE):
            yield data[start : start + PIECE]


def wants_gzip(accept_encoding: str, size: int, peer: str) -> bool:
    """Whether to compress: the client asked, the answer is large, and it travels over a network at all."""
    if size < GZIP_MINIMUM or "gzip" not in accept_encoding:
        return False
    for offer in accept_encoding.split(","):
        coding, _, weight = offer.partition(";")
        if coding.strip().lower() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000") and not _loopback(peer)
    return False


def gzip(parts: Iterable[bytes]) -> bytes:
    """Compress at the cheap level; releases the GIL, so it may run in a thread."""
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 31)
    return b"".join([*map(packer.compress, parts), packer.flush()])


def _loopback(peer: str) -> bool:
    try:
        return ip_address(peer.partition("%")[0]).is_loopback
    except ValueError:
        return True
