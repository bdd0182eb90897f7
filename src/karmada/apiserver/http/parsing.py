"""Bytes to requests: an incremental HTTP/1.1 request parser with limits, free of I/O.

`feed` takes bytes in any portions and returns what became complete, in order: requests, and at most one `Refusal`,
after which nothing more is parsed and the connection must close once everything before it is answered.
Requests that ask for an upgrade end the parsing too: later bytes are kept in `rest` for the new protocol.
Memory is bounded by the limits plus one portion.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import httptools
import msgspec

from karmada.apiserver.http.model import HttpRequest

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one request."""

    body: int = 3 * MIB
    head: int = 128 * 1024
    """Request line and headers together."""
    headers: int = 256


class Refusal(NamedTuple):
    """Bytes that are no acceptable request; answered with `status`, then the connection closes."""

    status: int
    message: str


_REQUEST = re.compile(rb"[A-Z]{1,32} /[^ \r\n]* HTTP/1\.[01]\r\n")
_UNKNOWN_METHOD = Refusal(405, "the server does not allow this method on the requested resource")


class Parsed(msgspec.Struct, frozen=True, eq=False):
    """A complete request and how its connection goes on."""

    request: HttpRequest
    keep_alive: bool
    chunked: bool
    """Whether the client understands chunked answers (HTTP/1.1)."""
    upgrade: bool
    """Whether the request asks for another protocol; nothing is parsed after it."""


class _Stop(Exception):
    """Leaves the C parser with a refusal."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


class RequestParser:
    """Parses one connection's requests."""

    __slots__ = (
        "_body",
        "_done",
        "_head_bytes",
        "_headers",
        "_in_body",
        "_in_head",
        "_limits",
        "_out",
        "_parser",
        "_size",
        "_url",
        "certificate",
        "continue_wanted",
        "peer",
        "rest",
    )

    def __init__(self, limits: Limits, peer: tuple[str, int], certificate: bytes | None = None) -> None:
        self._limits = limits
        self._parser = httptools.HttpRequestParser(self)
        self._headers: dict[str, str] = {}
        self._url = b""
        self._body: bytes | list[bytes] = b""
        self._size = 0
        self._head_bytes = 0
        self._in_head = False
        self._in_body = False
        self._done = False
        self._out: list[Parsed | Refusal] = []
        self.peer = peer
        self.certificate = certificate
        self.continue_wanted = False
        """Set when a request waits for `100 Continue`; whoever sends that clears it."""
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
            return []
        out: list[Parsed | Refusal] = []
        self._out = out
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._done = True
            self.rest = data[upgrade.args[0] :]
        except httptools.HttpParserCallbackError as error:
            self._done = True
            cause = error.__context__
            out.append(cause.refusal if isinstance(cause, _Stop) else Refusal(400, "Bad Request"))
        except httptools.HttpParserError as error:
            self._done = True
            unknown = isinstance(error, httptools.HttpParserInvalidMethodError) and not out and _REQUEST.match(data)
            out.append(_UNKNOWN_METHOD if unknown else Refusal(400, "Bad Request"))
        else:
            # The C parser keeps unfinished names and values itself, so they count by the portions they came in.
            if self._in_head:
                self._head_bytes += len(data)
                if self._head_bytes > self._limits.head:
                    self._done = True
                    out.append(Refusal(431, "Request Header Fields Too Large"))
        return out

    # Callbacks of the C parser.

    def on_message_begin(self) -> None:
        self._headers = {}
        self._url = b""
        self._body = b""
        self._size = 0
        self._head_bytes = 0
        self._in_head = True

    def on_url(self, url: bytes) -> None:
        self._url = self._url + url if self._url else url

    def on_header(self, name: bytes, value: bytes) -> None:
        key = name.decode("latin-1").lower()
        text = value.decode("utf-8", "surrogateescape")
        headers = self._headers
        if key in headers:
            separator = "\n" if key.startswith(("impersonate-", "x-remote-")) else ", "
            text = headers[key] + separator + text
        headers[key] = text
        self._head_bytes += len(name) + len(value) + 4
        if len(headers) > self._limits.headers or self._head_bytes > self._limits.head:
            raise _Stop(Refusal(431, "Request Header Fields Too Large"))

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._in_body = True
        headers = self._headers
        if len(self._url) > self._limits.head:
            raise _Stop(Refusal(431, "Request Header Fields Too Large"))
        length = headers.get("content-length")
        if length is not None and int(length) > self._limits.body:
            raise _Stop(self._too_large())
        if "expect" in headers:
            if headers["expect"].lower() != "100-continue":
                raise _Stop(Refusal(417, "Expectation Failed"))
            self.continue_wanted = length != "0" and (length is not None or "transfer-encoding" in headers)
        if "host" not in headers and self._parser.get_http_version() == "1.1":
            raise _Stop(Refusal(400, "Bad Request: missing required Host header"))

    def on_body(self, body: bytes) -> None:
        self.continue_wanted = False
        self._size += len(body)
        if self._size > self._limits.body:
            raise _Stop(self._too_large())
        if not self._body:
            self._body = body
        elif isinstance(self._body, list):
            self._body.append(body)
        else:
            self._body = [self._body, body]

    def on_message_complete(self) -> None:
        parser = self._parser
        path, query = _split(self._url)
        body = self._body
        self.continue_wanted = False
        request = HttpRequest(
            method=parser.get_method().decode("ascii"),
            path=path,
            query=query,
            headers=self._headers,
            body=b"".join(body) if isinstance(body, list) else body,
            peer=self.peer,
            certificate=self.certificate,
        )
        upgrade = parser.should_upgrade()
        chunked = parser.get_http_version() == "1.1"
        self._out.append(Parsed(request, parser.should_keep_alive() and not upgrade, chunked, upgrade))
        self._in_body = False
        self._headers = {}
        self._body = b""
        self._size = 0

    def _too_large(self) -> Refusal:
        return Refusal(413, f"Request entity too large: limit is {self._limits.body}")


def _split(url: bytes) -> tuple[str, str]:
    """Path and raw query of a request target in origin, absolute or authority form."""
    if not url.startswith(b"/"):
        _, scheme, rest = url.partition(b"://")
        slash = rest.find(b"/") if scheme else -1
        url = rest[slash:] if slash >= 0 else (b"/" if scheme else url)
    path, _, query = url.partition(b"?")
    try:
        if b"%" in path:
            path = unquote_to_bytes(path)
        text = path.decode("utf-8")
        return text, query.decode("ascii")
    except UnicodeDecodeError:
        raise _Stop(Refusal(400, "Bad Request: the path is not UTF-8")) from None
