"""Requests and answers as they are passed on: which headers go, which stay, what is added. Pure."""

from collections.abc import Sequence

from karmada.gateway.upstream_routes import UpstreamRoute
from karmada.machinery.http.head import HOP_BY_HOP, is_field_value, request_head, wanted_protocol
from karmada.machinery.httpserver.model import HttpRequest

_SAID_HERE = frozenset(
    {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto", "x-real-ip"}
)
"""What clients cannot say about themselves."""
_FOR_API_SERVERS = ("impersonate-", "x-remote-")
_KEPT_FROM_API_SERVERS = frozenset({"authorization", "cookie"})
_OF_API_SERVERS = frozenset({"audit-id", "x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid"})


def host_of(header: str) -> str:
    """The host of a Host header, without its port and a dot at the end."""
    if header.startswith("["):
        return header.partition("]")[0][1:]
    return header.partition(":")[0].rstrip(".").lower()


def is_reserved(name: str) -> bool:
    """Whether a header is the gateway's own to set: how a message ends, who asks, and as whom API servers see it."""
    read = _as_read(name)
    return read in HOP_BY_HOP or read in _SAID_HERE or read.startswith(_FOR_API_SERVERS)


def _as_read(name: str) -> str:
    """A header's name for servers too that read an underscore as a dash, as those of CGI, WSGI and PHP do."""
    return name.replace("_", "-")


def target_of(request: HttpRequest) -> str:
    """Path and query of a request as they were sent, also where a whole URL was."""
    target = request.target.decode("ascii")
    if target.startswith("/"):
        return target
    return "/" + target.partition("://")[2].partition("/")[2] if "://" in target else "/"


def is_safe(path: str) -> bool:
    """Whether a decoded path means the same to everybody: none of its parts is `.` or `..`."""
    return not any(part.partition(";")[0] in (".", "..") for part in path.split("/"))


def request_bytes(request: HttpRequest, route: UpstreamRoute, scheme: str, host: str = "") -> bytes:
    """The request as an endpoint gets it, under another host if one is given; raises `UnsafeHead`."""
    headers = request.headers
    requested = headers.get("host", "")
    fields = [("Host", route.host or host or requested)]
    named = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    for name, value in headers.items():
        read = _as_read(name)
        if read in HOP_BY_HOP or read in _SAID_HERE or name in named:
            continue
        if route.through_api and (read in _KEPT_FROM_API_SERVERS or read.startswith(_FOR_API_SERVERS)):
            continue
        fields += [(name, one) for one in value.split("\n")]
    if protocol := wanted_protocol(headers):
        fields += [("Connection", "Upgrade"), ("Upgrade", protocol)]
    if request.body or request.method in ("POST", "PUT", "PATCH"):
        fields.append(("Content-Length", str(len(request.body))))
    fields += [
        ("X-Forwarded-For", request.peer[0]),
        ("X-Real-Ip", request.peer[0]),
        ("X-Forwarded-Host", requested),
        ("X-Forwarded-Proto", scheme),
    ]
    head = request_head(request.method, route.base + target_of(request), fields)
    return head[:-2] + route.headers + b"\r\n" + request.body


def answer_headers(headers: Sequence[tuple[str, str]], through_api: bool) -> tuple[str, dict[str, str | list[str]]]:
    """The content type of an answer, and its other headers as the client gets them."""
    content_type = ""
    kept: dict[str, str | list[str]] = {}
    named = {part.strip().lower() for name, value in headers if name == "connection" for part in value.split(",")}
    for name, value in headers:
        if name == "content-type":
            content_type = value if is_field_value(value) else ""
        elif name in HOP_BY_HOP or name in named or name == "date" or not is_field_value(value):
            continue
        elif not through_api or name not in _OF_API_SERVERS:
            before = kept.get(name, [])
            kept[name] = [*([before] if isinstance(before, str) else before), value]
    return content_type, kept


def switching_headers(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The headers of an answer that switches protocols."""
    left_out = ("date", "content-length")
    return {name: value for name, value in headers if name not in left_out and is_field_value(value)}


def is_refusal(content_type: str, body: bytes) -> bool:
    """Whether an answer is an API server's own on the way, not that of the pod behind it."""
    return content_type.startswith("application/json") and body.startswith(b'{"kind":"Status"')


def logged(request: HttpRequest) -> str:
    """A request for the access log: without its query, which may hold secrets."""
    text = f"{request.method} {host_of(request.headers.get('host', ''))}{request.path}"
    return "".join(letter if letter.isprintable() else "?" for letter in text[:512])
