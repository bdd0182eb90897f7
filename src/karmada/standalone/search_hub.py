"""How karmada-search as a program of its own reaches what is behind its answers: the control plane and members.

Requests go in the name of the asking user. At members the impersonator's account of the cluster is used; at the control
plane karmada-search itself impersonates, which it may not by default: its owner grants it, or requests are refused.
What every user may read (discovery, OpenAPI, version) is read as karmada-search.
"""

import asyncio
import ssl
from urllib.parse import urlsplit

from karmada.aggregated.proxy.handler import ClusterProxy
from karmada.aggregated.proxy.upstream import CONNECT_SECONDS, Upstream, Upstreams
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import ObjectMeta
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.requests.model import Answer, AnyAnswer
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.http.credentials import CredentialSource
from karmada.machinery.http.head import request_target
from karmada.machinery.http.target import Target
from karmada.machinery.http.tls import TLSSettings
from karmada.machinery.httpserver.model import HttpRequest
from karmada.machinery.os_errors import spelled
from karmada.membership.access import SecretAccess
from karmada.membership.dialing import dial
from karmada.membership.members import MemberUnavailable
from karmada.membership.tunnel.tunnels import Tunnels

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
_PUBLIC = ("/api", "/apis", "/openapi", "/version")
_HUB = Cluster(metadata=ObjectMeta(name="of the control plane"))


class PassedOn:
    """Passes requests on in the name of their users."""

    def __init__(self, hub: Client, target: Target) -> None:
        self._hub = hub
        self._to_hub = ClusterProxy(_HubConnections(target))
        self._to_members = ClusterProxy(Upstreams(SecretAccess(hub), Tunnels()))

    async def to_cluster(self, cluster: Cluster, request: HttpRequest, path: str, user: UserInfo) -> AnyAnswer:
        """The answer of a member."""
        if cluster.spec.impersonator_secret_ref is not None:
            return await self._to_members.forward(cluster, request, path, user)
        return await self.to_control_plane(request, f"{CLUSTERS}/{cluster.metadata.name}/proxy{path}", user)

    async def to_control_plane(self, request: HttpRequest, path: str, user: UserInfo) -> AnyAnswer:
        """The answer of the control plane."""
        if request.method == "GET" and _is_public(path):
            accept = request.headers.get("accept", "")
            try:
                body = await self._hub.transport.raw("GET", request_target(path, request.query), accept=accept)
            except ApiError as error:
                return Answer(error.code or 503, b"", "text/plain")
            return Answer(200, body, _content_type(accept))
        return await self._to_hub.forward(_HUB, request, path, user)


class _HubConnections:
    """Connections to the control plane with the credentials of this program."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._tls = TLSSettings(target)
        self._credentials = CredentialSource(target)

    async def open(self, cluster: Cluster) -> Upstream:
        """A connection; raises `MemberUnavailable`."""
        url = urlsplit(self._target.server)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                credentials = await self._credentials.current()
                context = self._tls.context(credentials.certificate, credentials.key) if url.scheme == "https" else None
                channel = await dial(self._target, context)
        except TimeoutError:
            raise MemberUnavailable("the control plane does not answer") from None
        except (OSError, ssl.SSLError, ApiError) as error:
            raise MemberUnavailable(f"the control plane cannot be reached: {spelled(error)}") from error
        _, _, token = credentials.headers.partition(b"Bearer ")
        return Upstream(channel, url.netloc, url.path.rstrip("/"), token.strip())


def _is_public(path: str) -> bool:
    """Whether a path is discovery, OpenAPI or the version: no objects."""
    parts = path.strip("/").split("/")
    depth = {"api": 2, "apis": 3, "version": 1, "openapi": 99}.get(parts[0], 0)
    return path.startswith(_PUBLIC) and len(parts) <= depth


def _content_type(accept: str) -> str:
    """What the control plane was asked for first, as it answers with that where it can."""
    first = accept.partition(",")[0].strip()
    return first if first and "*" not in first else "application/json"
