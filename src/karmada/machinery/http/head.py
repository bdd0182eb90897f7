"""The head of an outgoing HTTP/1.1 request, written in one place and from parsed parts.

Whatever the parts hold, one request comes out, with the headers that were asked for: what could end a line, a word or
a path early is refused with `UnsafeHead`, never repaired, as a repaired name would be somebody else's.
"""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_TARGET = re.compile(r"[!-~]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SAFE_IN_PATHS = "/:@!$&'()*+,;=~-._"
_SAFE_IN_QUERIES = _SAFE_IN_PATHS + "%?"
HOP_BY_HOP = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers about one connection and how a message ends on it: a proxy sets its own on each side."""
_CARRIES_REQUESTS = ("h2c", "http/", "tls/")
"""Protocols in which further requests could follow: nobody would look at what is asked for in them."""


class UnsafeHead(ValueError):
    """A part that cannot be sent without meaning something else; the text says which."""


def request_head(method: str, target: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """Request line and headers, with the empty line after them."""
    if not _TOKEN.fullmatch(method):
        raise UnsafeHead(f"{method!r} is no HTTP method")
    if not _TARGET.fullmatch(target):
        raise UnsafeHead("the path has characters in it that must be encoded")
    lines = [f"{method} {target} HTTP/1.1\r\n"]
    for name, value in headers:
        if not _TOKEN.fullmatch(name):
            raise UnsafeHead(f"{name!r} is no name of a header")
        if _CONTROL.search(value):
            raise UnsafeHead(f"the header {name} has control characters in it")
        lines.append(f"{name}: {value}\r\n")
    lines.append("\r\n")
    try:
        return "".join(lines).encode()
    except UnicodeEncodeError:
        raise UnsafeHead("a header is not valid Unicode") from None


def request_target(path: str, query: str = "", base: str = "") -> str:
    """A decoded path and a raw query, encoded for the request line, below `base`.

    No segment is empty, `.` or `..`: the other side might resolve them and leave what the caller was allowed to reach.
    """
    if _CONTROL.search(path) or "\t" in path:
        raise UnsafeHead("the path has control characters in it")
    first, *segments = path.split("/")
    if first or any(not segment for segment in segments[:-1]):
        raise UnsafeHead("the path must begin with a slash and have no empty parts")
    if any(segment.partition(";")[0] in (".", "..") for segment in segments):
        raise UnsafeHead("the path must not have . or .. as one of its parts")
    target = base + quote(path, safe=_SAFE_IN_PATHS)
    return f"{target}?{quote(query, safe=_SAFE_IN_QUERIES)}" if query else target


def wanted_protocol(headers: Mapping[str, str]) -> str:
    """The one protocol that a client asks to switch to; empty for none, and for those that carry further requests."""
    options = {option.strip().lower() for option in headers.get("connection", "").split(",")}
    protocol = headers.get("upgrade", "").strip()
    if "upgrade" not in options or "," in protocol or protocol.lower().startswith(_CARRIES_REQUESTS):
        return ""
    return protocol


def is_field_value(text: str) -> bool:
    """Whether a text can be the value of a header."""
    return _CONTROL.search(text) is None


def identity_value(name: str, value: str) -> str:
    """The value of a header that says who somebody is; refused where the receiver would read another one."""
    if _CONTROL.search(value) or value != value.strip(" \t"):
        raise UnsafeHead(f"{name} cannot be passed on: it begins or ends with a blank or has control characters in it")
    return value
