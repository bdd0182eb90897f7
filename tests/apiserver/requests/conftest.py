"""A server in the test's own process, and short ways to talk to it."""

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from tests.apiserver.widgets import CRDS, WIDGETS

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.transport import GroupVersionResource, PatchType, Request, Verb

RESOURCES = {
    "configmaps": GroupVersionResource("", "v1", "configmaps"),
    "crds": CRDS,
    "csrs": GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests"),
    "deployments": GroupVersionResource("apps", "v1", "deployments"),
    "namespaces": GroupVersionResource("", "v1", "namespaces"),
    "pods": GroupVersionResource("", "v1", "pods"),
    "secrets": GroupVersionResource("", "v1", "secrets"),
    "widgets": WIDGETS,
}


class Api:
    """Requests as one user; objects in and out are trees."""

    def __init__(self, server: ApiServer, user: UserInfo = ADMIN) -> None:
        self.server = server
        self.transport = server.direct(user, "tests/1.0")

    async def send(self, verb: str, resource: str, name: str = "", body: Any = None, **options: Any) -> Any:
        namespaced = resource not in ("namespaces", "crds", "csrs")
        namespace = options.pop("namespace", "default" if namespaced else "")
        patch = options.pop("patch", None)
        request = Request(
            Verb(verb),
            RESOURCES[resource],
            namespace,
            name,
            options.pop("subresource", ""),
            {key.rstrip("_"): value for key, value in options.items()},
            body,
            PatchType(patch) if patch else None,
        )
        return orjson.loads(await self.transport.send(request))

    async def create(self, resource: str, body: Any, **options: Any) -> Any:
        return await self.send("create", resource, "", body, **options)

    async def get(self, resource: str, name: str, **options: Any) -> Any:
        return await self.send("get", resource, name, **options)

    async def list(self, resource: str, **options: Any) -> Any:
        return await self.send("list", resource, **options)

    async def update(self, resource: str, body: Any, **options: Any) -> Any:
        return await self.send("update", resource, body["metadata"]["name"], body, **options)

    async def patch(
        self, resource: str, name: str, body: Any, kind: PatchType = PatchType.MERGE, **options: Any
    ) -> Any:
        return await self.send("patch", resource, name, body, patch=kind, **options)

    async def delete(self, resource: str, name: str, **options: Any) -> Any:
        return await self.send("delete", resource, name, **options)


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as running:
        yield running


@pytest.fixture
async def api(server: ApiServer) -> Api:
    return Api(server)


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}
