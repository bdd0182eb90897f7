"""A control plane and members that listen on HTTPS, all in the test's own process."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.controllers.cluster_status import StatusOptions
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.membership.registration import Description
from karmada.standalone.control_plane import ControlPlane

QUICK = StatusOptions(period=0.05, success_threshold=0.0, failure_threshold=0.0, probe_timeout=2.0)


class Member:
    """A member cluster."""

    def __init__(self, name: str, server: ApiServer, endpoint: str) -> None:
        self.name = name
        self.server = server
        self.endpoint = endpoint
        self.client = Client(server.direct(ADMIN))

    def describe(self, name: str = "", **fields: Any) -> Description:
        return Description(name or self.name, self.endpoint, **fields)


class World:
    """A control plane and a way to get members."""

    def __init__(self, plane: ControlPlane, stack: AsyncExitStack) -> None:
        self.plane = plane
        self.hub = plane.client
        self.endpoint = ""
        """Where the control plane listens, once a test has it listen."""
        self._stack = stack

    async def member(self, name: str) -> Member:
        server = await self._stack.enter_async_context(ApiServer())
        port = await server.listen()
        return Member(name, server, f"https://127.0.0.1:{port}")

    async def ready(self, name: str) -> Cluster:
        async def look() -> Cluster | None:
            cluster = await self.hub.of(Cluster).get(name)
            return cluster if is_ready(cluster) else None

        found: Cluster = await eventually(look)
        return found


async def eventually(check: Callable[[], Awaitable[Any]], attempts: int = 800) -> Any:
    last: Exception | None = None
    for _ in range(attempts):
        try:
            found = await check()
            if found:
                return found
        except (NotFound, KeyError, AssertionError) as error:
            last = error
        await asyncio.sleep(0.01)
    raise AssertionError(f"did not happen; last: {last!r}")


async def is_gone(read: Awaitable[Any]) -> bool:
    try:
        await read
    except NotFound:
        return True
    return False


def user_transport(server: ApiServer, endpoint: str, user: str, *groups: str, path: str = "") -> HttpTransport:
    """An HTTP transport to a listening server, as a user with a client certificate."""
    certificate, key = server.identity.authority.issue_client(user, groups)
    identity = Identity(Material(certificate), Material(key))
    return HttpTransport(
        Target(endpoint + path, Material(server.identity.authority.certificate_pem), identity=identity)
    )
