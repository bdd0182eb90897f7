"""Requests passed on to another API server, with the caller's identity in the front-proxy headers.

Connections that change their protocol (exec, attach, port-forward, agents' tunnels) are carried on: their request is
authenticated and authorised here like any other, they count among the long-running requests of their user, and they
end after `channel.IDLE_SECONDS` of silence.
"""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import NamedTuple
from urllib.parse import quote

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.outgoing import Caller, Response, Target
from karmada.apiserver.requests.model import AnyAnswer, Streamed, Upgraded
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.services import address_of
from karmada.apiserver.watchcache import WatchCache
from karmada.machinery.channel import Channel, splice
from karmada.machinery.http.head import HOP_BY_HOP, UnsafeHead, identity_value, request_target, wanted_protocol
from karmada.machinery.httpserver.failure import bad_request
from karmada.machinery.httpserver.model import ByteStream, HttpRequest

_PROBE_SECONDS = 5.0
_TOKEN_CHARACTERS = "!#$&'*+-.^_`|~"
"""What header names may hold beside letters and digits."""
_NOT_PASSED_ON = HOP_BY_HOP | {"authorization", "sec-websocket-protocol"}
_NOT_PASSED_BACK = _NOT_PASSED_ON | {"content-type", "date"}
_TOKEN_PROTOCOL = "base64url.bearer.authorization.k8s.io."


class Backend(NamedTuple):
    """The server behind an APIService."""

    namespace: str
    service: str
    port: int
    authorities: bytes
    insecure: bool

    @classmethod
    def of(cls, spec: JSONObject) -> "Backend":
        """From the spec of an APIService."""
        service = spec["service"]
        return cls(
            service["namespace"],
            service["name"],
            service.get("port") or 443,
            base64.b64decode(spec.get("caBundle") or ""),
            bool(spec.get("insecureSkipTLSVerify")),
        )

    @property
    def host(self) -> str:
        """The name its certificate must have."""
        return f"{self.service}.{self.namespace}.svc"


class Proxy:
    """Passes requests on; `certificate` gives the files of the front-proxy client certificate."""

    def __init__(self, store: WatchCache, caller: Caller, certificate: Callable[[], tuple[str, str] | None]) -> None:
        self._store = store
        self._caller = caller
        self._certificate = certificate

    def _target(self, backend: Backend, path: str) -> Target:
        address = address_of(self._store, backend.namespace, backend.service, backend.port)
        return Target(
            backend.host,
            backend.port,
            path,
            True,
            backend.authorities,
            (address.host, address.port),
            self._certificate(),
            backend.insecure,
        )

    async def probe(self, backend: Backend, path: str) -> Response:
        """How the server answers a path; raises `Unreachable` or `CallFailed`."""
        headers = identity_headers(UserInfo("system:kube-aggregator", ("system:masters",)))
        return await self._caller.request("GET", self._target(backend, path), headers, b"", _PROBE_SECONDS)

    async def forward(self, backend: Backend, request: HttpRequest, user: UserInfo) -> AnyAnswer:
        """Pass a request on; the answer is streamed as it comes. Raises `Unreachable` or `CallFailed`."""
        try:
            path = request_target(request.path, request.query)
            headers: dict[str, str | list[str]] = {
                name: value
                for name, value in request.headers.items()
                if name not in _NOT_PASSED_ON and not is_identity(name)
            }
            if protocols := without_token(request.headers.get("sec-websocket-protocol", "")):
                headers["Sec-WebSocket-Protocol"] = protocols
            if protocol := wanted_protocol(request.headers):
                headers["Upgrade"] = protocol
            headers.update(identity_headers(user))
        except UnsafeHead as error:
            raise bad_request(str(error)) from None
        answer = await self._caller.open(request.method, self._target(backend, path), headers, request.body)
        if answer.channel is not None:
            return Upgraded(_switching(answer.headers), _carrying(answer.channel))
        kept = {name: value for name, value in answer.headers.items() if name not in _NOT_PASSED_BACK}
        return Streamed(answer.status, _closing(answer.chunks), answer.headers.get("content-type", ""), kept)


async def _closing(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        yield chunk


def _switching(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer that switches protocols."""
    kept = {name: value for name, value in headers.items() if name not in _NOT_PASSED_ON and name != "date"}
    if chosen := headers.get("sec-websocket-protocol"):
        kept["Sec-WebSocket-Protocol"] = chosen
    return {"Connection": "Upgrade", "Upgrade": headers["upgrade"], **kept}


def _carrying(channel: Channel) -> Callable[[ByteStream], Awaitable[None]]:
    async def serve(stream: ByteStream) -> None:
        await splice(stream, channel)

    return serve


def without_token(protocols: str) -> str:
    """The subprotocols a browser offers, without the one that carries its token for this server."""
    offered = [protocol.strip() for protocol in protocols.split(",")]
    return ", ".join(protocol for protocol in offered if protocol and not protocol.startswith(_TOKEN_PROTOCOL))


def is_identity(name: str) -> bool:
    """Whether a header (in lower case) says who asks, for servers too that read an underscore as a dash."""
    return name.replace("_", "-").startswith(("x-remote-", "impersonate-"))


def identity_headers(user: UserInfo) -> dict[str, str | list[str]]:
    """A user as front-proxy headers, several groups as several headers; raises `UnsafeHead`."""
    headers: dict[str, str | list[str]] = {"X-Remote-User": identity_value("X-Remote-User", user.name)}
    if user.uid:
        headers["X-Remote-Uid"] = identity_value("X-Remote-Uid", user.uid)
    if user.groups:
        headers["X-Remote-Group"] = [identity_value("X-Remote-Group", group) for group in user.groups]
    for key, values in user.extra.items():
        name = "X-Remote-Extra-" + quote(key, safe=_TOKEN_CHARACTERS)
        headers[name] = [identity_value(name, value) for value in values]
    return headers
