"""Answers of a server from the bytes of its connection: the protocol without its I/O.

What the server sends is bounded by `machinery.limits`; more than that, or what is no HTTP, is an offence after which
the connection must not be used any more.
"""

from collections import deque

import httptools

from karmada.machinery import limits
from karmada.machinery.errors import AnswerTooLarge, BadAnswer

SMALL = 4096
"""Parts of a body up to this size are gathered in one piece: a server may send each byte by itself."""


class Head:
    """Status and headers of an answer."""

    __slots__ = ("headers", "status", "warnings")

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.warnings: list[bytes] = []


class Budget:
    """Bytes that all connections to one server may hold together."""

    def __init__(self, limit: int = limits.BUFFERED) -> None:
        self._limit = limit
        self.used = 0

    def take(self, size: int) -> bool:
        """Hold that many more; whether that is allowed."""
        self.used += size
        return self.used <= self._limit

    def give_back(self, size: int) -> None:
        """Hold that many less."""
        self.used -= size


class AnswerParser:
    """One answer at a time, whole or as a stream of body parts; also the parser's callbacks (`on_*`)."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._parser = httptools.HttpResponseParser(self)
        self._head = Head()
        self._parts: deque[bytes | bytearray] = deque()
        self._held = 0
        """Bytes in `_parts`, taken from the budget."""
        self._limit = limits.ANSWER
        self._framing = 0
        """Bytes since the last that belonged to a body."""
        self._pieces = 0
        self._arrived = 0
        """Parts of the body, and bytes, since the request or the last time somebody read them."""
        self._offence: BadAnswer | None = None
        self._complete = True
        self._streams = False
        """Whether the body is read as it arrives, however long it gets."""

    def _expect(self, *, stream: bool) -> None:
        """A request was sent: an answer follows."""
        self._head = Head()
        self._complete = False
        self._limit = limits.ANSWER
        self._framing = 0
        self._streams = stream

    def _feed(self, data: memoryview) -> BadAnswer | None:
        """Take what has arrived; what is wrong with it, if anything."""
        if self._framing > limits.FRAMING:
            return BadAnswer(f"the server sent more than {limits.FRAMING} bytes of headers")
        size = len(data)
        self._framing += size
        self._arrived += size
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            return self._offence or BadAnswer(f"the answer is not valid HTTP: {error}")
        if self._pieces > limits.PIECES and self._arrived < limits.PIECE * self._pieces:
            self._offence = BadAnswer("the server sent its answer in too many parts")
        return self._offence

    def _taken(self) -> bytes:
        """The body so far, which is the caller's from now on."""
        parts, self._parts = self._parts, deque()
        self.budget.give_back(self._held)
        self._held = self._pieces = self._arrived = 0
        only = parts[0] if len(parts) == 1 else b""
        return only if isinstance(only, bytes) and len(parts) == 1 else b"".join(parts)

    def _overfull(self) -> None:
        """More of a stream waits for its reader than should."""

    def _last(self) -> None:
        """The connection takes no further request."""

    def on_message_begin(self) -> None:
        """An answer begins. After two to one request nobody would know which belongs to the next one."""
        if self._complete:
            raise ValueError("more than one answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header line; what follows the body is none."""
        if self._head.status:
            return
        lowered = name.lower()
        if lowered == b"warning":
            self._head.warnings.append(value)
        else:
            self._head.headers[lowered] = value

    def on_headers_complete(self) -> None:
        """The head is complete."""
        head = self._head
        status = head.status = self._parser.get_status_code()
        self._framing = 0
        if status >= 300:
            self._limit = limits.REFUSAL
        length = head.headers.get(b"content-length", b"0")
        if status < 200:
            self._offence = BadAnswer(f"the server answered {status}, which nobody asked for")
        elif head.headers.get(b"content-encoding", b"identity").lower() != b"identity":
            # Nothing is ever unpacked: a kilobyte may become a gigabyte.
            self._offence = BadAnswer("the server sent an encoded answer, which nobody asked for")
        elif not self._streams and length.isdigit() and int(length[:20]) > self._limit:
            self._offence = self._too_large()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        size = len(body)
        self._framing = 0
        self._held += size
        self._pieces += 1
        if not self.budget.take(size):
            self._offence = BadAnswer(f"the server sent more than {limits.BUFFERED} bytes at once")
        last = self._parts[-1] if self._parts else None
        if last is None or size > SMALL:
            self._parts.append(body)
        elif isinstance(last, bytearray):
            last += body
        else:
            self._parts.append(bytearray(body))
        if not self._streams:
            if self._held > self._limit:
                self._offence = self._too_large()
        elif self._held > limits.STREAM_BUFFER:
            self._overfull()

    def _too_large(self) -> AnswerTooLarge:
        return AnswerTooLarge(f"the answer is larger than {self._limit} bytes")

    def on_message_complete(self) -> None:
        """The answer is complete."""
        self._complete = True
        keep = self._parser.should_keep_alive()
        self._parser = httptools.HttpResponseParser(self)
        if not keep:
            self._last()
