"""How requests get to an endpoint: straight to its address, or through the API server of its cluster.

Addresses of pods mean something only in a network that reaches them, and the same address is another pod elsewhere. So
a route is never tried out: clusters whose pod CIDRs are routed are named by the operator, all others are reached
through `clusters/proxy` of the control plane (and so through the agent's tunnel, where there is one) and the member's
own `pods/proxy`, as the gateway's user.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass
from typing import NamedTuple

from karmada.gateway.endpoints import Endpoint
from karmada.gateway.exchange import Broken, Destination
from karmada.machinery.errors import ApiError
from karmada.machinery.http.credentials import CredentialSource
from karmada.machinery.http.target import NOTHING, Target
from karmada.machinery.http.tls import TLSSettings
from karmada.machinery.os_errors import spelled

FINDING_SECONDS = 10.0
"""Credentials may come from a program."""
PROXY = "/apis/cluster.karmada.io/v1alpha1/clusters"


class UpstreamRoute(NamedTuple):
    """A destination and what a request to it must carry."""

    to: Destination
    base: str = ""
    """What stands before the request's own path."""
    host: str = ""
    """In place of the client's Host header, where an API server reads it."""
    headers: bytes = b""
    """Credentials, as header lines."""

    @property
    def through_api(self) -> bool:
        """Whether an API server passes the request on."""
        return bool(self.base)


Find = Callable[[Endpoint], Awaitable[UpstreamRoute]]
"""The way to an endpoint; raises `Broken` when there is none."""


async def direct_route(endpoint: Endpoint) -> UpstreamRoute:
    """The way to an endpoint's own address, which `endpoints.objection` had nothing against."""
    return UpstreamRoute(Destination(endpoint.address, endpoint.port))


class ThroughClusterProxy:
    """Routes through the control plane's cluster proxy."""

    def __init__(self, target: Target) -> None:
        scheme, _, rest = target.server.partition("://")
        authority, _, base = rest.partition("/")
        name, _, port = authority.rpartition(":") if authority.rpartition(":")[2].isdecimal() else (authority, "", "")
        self._host = name.strip("[]")
        self._port = int(port) if port else 443 if scheme == "https" else 80
        self._secure = scheme == "https"
        self._authority = authority
        self._base = f"/{base.strip('/')}" if base.strip("/") else ""
        self._name = target.server_name
        self._tls = TLSSettings(target)
        self._credentials = CredentialSource(target)

    async def __call__(self, endpoint: Endpoint) -> UpstreamRoute:
        """The way to a pod; slices that name none lead nowhere here."""
        if not endpoint.pod:
            raise Broken(
                f"{endpoint} names no pod, and its network is not routed: name {endpoint.cluster} direct", False
            )
        held = await self._credentials.current()
        context: ssl.SSLContext | None = None
        if self._secure:
            context = self._tls.context(held.certificate or NOTHING, held.key)
        pod = f"/api/v1/namespaces/{endpoint.namespace}/pods/{endpoint.pod}:{endpoint.port}/proxy"
        base = f"{self._base}{PROXY}/{endpoint.cluster}/proxy{pod}"
        return UpstreamRoute(
            Destination(self._host, self._port, context, self._name), base, self._authority, held.headers
        )


@dataclass(slots=True)
class UpstreamRoutes:
    """The way to each endpoint by its cluster."""

    direct: Container[str]
    """Clusters whose pod CIDRs are routed."""
    api: Find
    near: Find = direct_route

    async def __call__(self, endpoint: Endpoint) -> UpstreamRoute:
        """The way to an endpoint."""
        try:
            async with asyncio.timeout(FINDING_SECONDS):
                return await (self.near if endpoint.cluster in self.direct else self.api)(endpoint)
        except (ApiError, OSError) as error:
            raise Broken(f"there is no way to {endpoint}: {spelled(error)}", False) from None
