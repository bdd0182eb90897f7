"""Bytes to requests: an incremental HTTP/1.1 request parser with limits, free of I/O.

`feed` takes bytes in any portions and returns what became complete, in order: requests, and at most one `Refusal`,
after which nothing more is parsed and the connection must close once everything before it is answered.
Requests that ask for an upgrade end the parsing too: later bytes are kept in `rest` for the new protocol.

- Memory is bounded by the limits plus one portion, also for what is parsed and dropped.
- All connections of a server share the `Room` for bodies, from the first byte to the answer.
- A request with a body is shown to `admit` when its headers are complete: nobody makes the server gather a body for a
  request that it refuses.
- Trailers of a chunked body are parsed, bounded and dropped: they are never headers.
- Paths with control characters, encoded or not, and repeated headers of which one must count are refused.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import httptools
import msgspec

from karmada.machinery.httpserver.model import HttpRequest, HttpResponse

MIB = 1024 * 1024
SMALL = 64 * 1024
"""Bytes of a body for which there is always room."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one request."""

    body: int = 3 * MIB
    head: int = 128 * 1024
    """Request line and headers together; trailers and the framing between parts of a body likewise."""
    headers: int = 256
    """Names of headers."""
    lines: int = 1000
    """Headers with repeated ones."""


class Room:
    """How many bytes of bodies all connections of a server may hold together."""

    __slots__ = ("left",)

    def __init__(self, size: float = inf) -> None:
        self.left = size


class Refusal(NamedTuple):
    """A request that is not served; answered with `status` or with `answer`, then the connection closes."""

    status: int
    message: str
    answer: HttpResponse | None = None


Admit = Callable[[HttpRequest], HttpResponse | int]
"""Judges a request by its headers: the answer that refuses it, or how large its body may be."""

_REQUEST = re.compile(rb"[A-Z]{1,32} /[^ \r\n]* HTTP/1\.[01]\r\n")
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_UNKNOWN_METHOD = Refusal(405, "the server does not allow this method on the requested resource")
_SEPARATE = ("impersonate-", "x-remote-")
"""Headers whose values may hold commas: repeated ones are joined with a newline, which no value holds."""
_SINGLE = frozenset({"authorization", "host", "impersonate-uid", "impersonate-user", "x-remote-uid", "x-remote-user"})
"""Headers that occur once: servers behind this one might believe another occurrence than this one does."""


class Parsed(msgspec.Struct, frozen=True, eq=False):
    """A complete request and how its connection goes on."""

    request: HttpRequest
    keep_alive: bool
    chunked: bool
    """Whether the client understands chunked answers (HTTP/1.1)."""
    upgrade: bool
    """Whether the request asks for another protocol; nothing is parsed after it."""


class _Stop(Exception):
    """Leaves the C parser; the refusal is in `RequestParser._refusal`, as an exception would keep the parser alive."""


class RequestParser:
    """Parses one connection's requests; `close` it when the connection ends."""

    __slots__ = (
        "_admit",
        "_body",
        "_closed",
        "_done",
        "_head_bytes",
        "_headers",
        "_in_body",
        "_in_head",
        "_limit",
        "_limits",
        "_lines",
        "_out",
        "_parser",
        "_quiet",
        "_refusal",
        "_request",
        "_room",
        "_size",
        "_switching",
        "_url",
        "certificate",
        "continue_wanted",
        "held",
        "peer",
        "rest",
    )

    def __init__(
        self,
        limits: Limits,
        peer: tuple[str, int],
        certificate: bytes | None = None,
        admit: Admit | None = None,
        room: Room | None = None,
    ) -> None:
        self._limits = limits
        self._admit = admit
        self._room = room or Room()
        self.held = 0
        """Bytes of bodies, of the request that arrives and of those that were not answered yet."""
        self._parser = httptools.HttpRequestParser(self)
        self._headers: dict[str, str] = {}
        self._url = b""
        self._body: bytes | bytearray = b""
        self._size = 0
        self._limit = 0
        """How large the body may be."""
        self._lines = 0
        self._head_bytes = 0
        self._quiet = 0
        """Bytes since the last content of the body."""
        self._in_head = False
        self._in_body = False
        self._closed = self._done = False
        self._out: list[Parsed | Refusal] = []
        self._refusal: Refusal | None = None
        self._request: HttpRequest | None = None
        self.peer = peer
        self.certificate = certificate
        self.continue_wanted = False
        """Set when a request waits for `100 Continue`; whoever sends that clears it."""
        self._switching = False
        self.rest = b""
        """Bytes after a request that asks for an upgrade."""

    @property
    def busy(self) -> bool:
        """Whether a request has begun and is not complete."""
        return self._in_head or self._in_body

    @property
    def in_body(self) -> bool:
        """Whether the headers of a request are complete and its body is not."""
        return self._in_body

    def feed(self, data: bytes) -> list[Parsed | Refusal]:
        """Parse the next portion and return what became complete."""
        if self._done:
            if self._switching:
                self.rest += data
            return []
        out: list[Parsed | Refusal] = []
        self._out = out
        self._quiet += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._done = self._switching = True
            self.rest = data[upgrade.args[0] :]
        except httptools.HttpParserCallbackError:
            out.append(self._refusal or Refusal(400, "Bad Request"))
            self.close()
        except httptools.HttpParserError as error:
            unknown = isinstance(error, httptools.HttpParserInvalidMethodError) and not out and _REQUEST.match(data)
            out.append(_UNKNOWN_METHOD if unknown else Refusal(400, "Bad Request"))
            self.close()
        else:
            # The C parser keeps unfinished names and values itself, so they count by the portions they came in.
            if self._in_head:
                self._head_bytes += len(data)
            if self._head_bytes > self._limits.head or (self._in_body and self._quiet > self._limits.head):
                out.append(_TOO_MUCH_HEAD)
                self.close()
        return out

    def release(self, size: int) -> None:
        """A request with so large a body is answered."""
        freed = min(size, self.held)
        self.held -= freed
        self._room.left += freed

    def close(self) -> None:
        """Parse no more, and release the C parser: it and this object hold each other, with all that was read."""
        if self._closed:
            return
        self._closed = self._done = True
        self.release(self.held)
        self._in_head = self._in_body = self.continue_wanted = False
        del self._parser
        self._request = None
        self._headers = {}
        self._url = self._body = b""

    # Callbacks of the C parser.

    def on_message_begin(self) -> None:
        self._headers = {}
        self._url = b""
        self._body = b""
        self._size = 0
        self._lines = 0
        self._head_bytes = 0
        self._in_head = True

    def on_url(self, url: bytes) -> None:
        self._url = self._url + url if self._url else url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value) + 4
        self._lines += 1
        limits, headers = self._limits, self._headers
        if self._head_bytes > limits.head or self._lines > limits.lines or len(headers) > limits.headers:
            raise self._stop(_TOO_MUCH_HEAD)
        if not self._in_head:
            return
        key = name.decode("latin-1").lower()
        text = value.decode("utf-8", "replace")
        if key in headers:
            if key in _SINGLE:
                raise self._stop(Refusal(400, f"Bad Request: more than one {key} header"))
            text = f"{headers[key]}\n{text}" if key.startswith(_SEPARATE) else f"{headers[key]}, {text}"
        headers[key] = text

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._in_body = True
        self._head_bytes = self._quiet = self._lines = 0
        headers = self._headers
        if len(self._url) > self._limits.head or len(headers) > self._limits.headers:
            raise self._stop(_TOO_MUCH_HEAD)
        length = int(headers.get("content-length", "0"))
        if length > self._limits.body:
            raise self._stop(_too_large(self._limits.body))
        waiting = "expect" in headers
        if waiting and headers["expect"].lower() != "100-continue":
            raise self._stop(Refusal(417, "Expectation Failed"))
        if "host" not in headers and self._parser.get_http_version() == "1.1":
            raise self._stop(Refusal(400, "Bad Request: missing required Host header"))
        target = _split(self._url)
        if isinstance(target, Refusal):
            raise self._stop(target)
        method = self._parser.get_method().decode("ascii")
        request = HttpRequest(method, target[0], target[1], headers, b"", self.peer, self.certificate)
        request.target = self._url
        self._request = request
        self._limit = self._limits.body
        if length or "transfer-encoding" in headers:
            if self._admit is not None:
                self._ask(self._admit, request, length)
            self.continue_wanted = waiting

    def on_body(self, body: bytes) -> None:
        self.continue_wanted = False
        self._quiet = 0
        self._size += len(body)
        if self._size > self._limit:
            raise self._stop(_too_large(self._limit))
        self.held += len(body)
        self._room.left -= len(body)
        if self._room.left < 0 and self._size > SMALL:
            raise self._stop(_NO_ROOM)
        if not self._body:
            self._body = body
        elif isinstance(self._body, bytearray):
            self._body += body
        else:
            self._body = bytearray(self._body) + body

    def on_message_complete(self) -> None:
        parser, request = self._parser, self._request
        assert request is not None
        self.continue_wanted = False
        request.body = bytes(self._body)
        upgrade = parser.should_upgrade()
        chunked = parser.get_http_version() == "1.1"
        self._out.append(Parsed(request, parser.should_keep_alive() and not upgrade, chunked, upgrade))
        self._in_body = False
        self._request = None
        self._headers = {}
        self._body = b""
        self._size = 0

    def _ask(self, admit: Admit, request: HttpRequest, length: int) -> None:
        """Have the request judged by its headers before any of its body is kept."""
        verdict = admit(request)
        if isinstance(verdict, HttpResponse):
            raise self._stop(Refusal(verdict.status, "", verdict))
        if verdict < self._limit:
            self._limit = verdict
            if length > verdict:
                raise self._stop(_too_large(verdict))

    def _stop(self, refusal: Refusal) -> _Stop:
        self._refusal = refusal
        return _Stop()


_NO_ROOM = Refusal(503, "Too many large requests at once: try again later")
_TOO_MUCH_HEAD = Refusal(431, "Request Header Fields Too Large")


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"Request entity too large: limit is {limit}")


def _split(url: bytes) -> tuple[str, str] | Refusal:
    """Path and raw query of a request target in origin, absolute or authority form."""
    if not url.startswith(b"/"):
        _, scheme, rest = url.partition(b"://")
        slash = rest.find(b"/") if scheme else -1
        url = rest[slash:] if slash >= 0 else (b"/" if scheme else url)
    path, _, query = url.partition(b"?")
    try:
        if b"%" not in path:
            # The C parser lets no control character pass.
            return path.decode("ascii"), query.decode("ascii")
        text = unquote_to_bytes(path).decode("utf-8")
        parameters = query.decode("ascii")
    except UnicodeDecodeError:
        return Refusal(400, "Bad Request: the path is not UTF-8")
    if _CONTROL.search(text):
        return Refusal(400, "Bad Request: the path has control characters in it")
    return text, parameters
