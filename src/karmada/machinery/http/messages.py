"""Requests and answers of an API server as HTTP messages: what goes out, and what an answer means. No I/O."""

from collections.abc import Mapping

from karmada.machinery import limits, small_json
from karmada.machinery.errors import ApiError, BadAnswer, BadRequest, from_status
from karmada.machinery.http.answer import Head
from karmada.machinery.http.paths import Wire
from karmada.machinery.http.target import Target

LONGEST_RETRY = 3600.0


class Refused(Exception):
    """An answer that is no success; carries what decides about a retry."""

    def __init__(self, error: ApiError, retry_after: float | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after = retry_after


class Address:
    """Where a server is, from its URL."""

    def __init__(self, target: Target) -> None:
        self.scheme, self.host, port = _parts(target.server)
        known = self.scheme in ("http", "https")
        if not known or not self.host or (port and not (port.isdecimal() and int(port) < 1 << 16)):
            raise ValueError(f"the server must be http(s)://host[:port], not {target.server!r}")
        self.secure = self.scheme == "https"
        self.port = int(port) if port else 443 if self.secure else 80
        self._base = target.server[target.server.index("://") + 3 :].partition("/")[2]

    def encode(self, wire: Wire, accept: str, agent: bytes, credentials: bytes) -> bytes:
        """A request as bytes; `agent` and `credentials` are header lines."""
        prefix = f"/{self._base}" if self._base else ""
        if not (wire.path.isascii() and wire.path.isprintable() and accept.isprintable()) or " " in wire.path:
            raise BadRequest(f"the path {wire.path!r} has characters in it that must be encoded")
        lines = f"{wire.method} {prefix}{wire.path} HTTP/1.1\r\nAccept: {accept or 'application/json'}\r\n"
        if wire.body:
            lines += f"Content-Type: {wire.content_type}\r\nContent-Length: {len(wire.body)}\r\n"
        elif wire.method in ("POST", "PUT", "PATCH"):
            lines += "Content-Length: 0\r\n"
        return lines.encode() + agent + credentials + b"\r\n" + wire.body

    def may_need_proxy(self, configured: str, environment: Mapping[str, str]) -> bool:
        """Whether a proxy is named anywhere; `proxy.proxy_for` knows exceptions."""
        name = f"{self.scheme}_proxy"
        return bool(configured) or name in environment or name.upper() in environment

    def common(self, agent: str) -> bytes:
        """The header lines that all requests have."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"Host: {host}:{self.port}\r\nUser-Agent: {agent}\r\n".encode()


def require_json(head: Head) -> None:
    """Refuse what says itself that it is no object: a proxy's page, for example."""
    kind = head.headers.get(b"content-type", b"application/json")
    if b"json" not in kind.lower():
        shown = limits.printable(kind.decode("latin-1"), 100)
        raise BadAnswer(f"the server answered with {shown} where JSON was asked for")


def refusal(head: Head, body: bytes) -> Refused:
    """What an answer that is no success means."""
    given = head.headers.get(b"retry-after", b"")
    retry_after = min(float(given), LONGEST_RETRY) if given.isdigit() else None
    try:
        status = small_json.loads(body)
    except ValueError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        status = {"message": _message(head.status, body)}
    return Refused(from_status(head.status, status, retry_after or 1.0), retry_after)


def _message(code: int, body: bytes) -> str:
    """What an answer without a Status says."""
    if code == 404:
        return "the server could not find the requested resource"
    text = body[:1000].decode("utf-8", "replace").strip()
    return f"the server answered {code}: {text}" if text else ""


def _parts(server: str) -> tuple[str, str, str]:
    """Scheme, host and port of a server's URL. By hand: the module that knows all URLs is slow to import."""
    scheme, _, rest = server.partition("://")
    authority = rest.partition("/")[0].rpartition("@")[2]
    if authority.startswith("["):
        host, _, port = authority[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = authority.partition(":")
    return scheme.lower(), host.lower(), port
