"""Owners that another server keeps."""

from typing import Any

import pytest

from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource
from karmada.testing.loop import run_virtual

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
API_SERVICES = GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices")


def owned(name: str, api_version: str) -> dict[str, Any]:
    owner = {"apiVersion": api_version, "kind": "Thing", "name": "owner", "uid": f"uid of {name}"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "ownerReferences": [owner]},
    }


def test_what_objects_of_another_server_own_stays() -> None:
    async def main() -> None:
        async with ApiServer() as server:
            client = Client(server.direct(ADMIN))
            service = {"name": "other", "namespace": "default"}
            spec = {"group": "other.io", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
            metadata = {"name": "v1.other.io"}
            await client.resource(API_SERVICES).create(
                {
                    "apiVersion": "apiregistration.k8s.io/v1",
                    "kind": "APIService",
                    "metadata": metadata,
                    "spec": {**spec, "service": service, "insecureSkipTLSVerify": True},
                }
            )
            kept, gone = owned("kept", "other.io/v1"), owned("gone", "absent.io/v1")
            await client.resource(CONFIG_MAPS).create(kept)
            async with client.resource(CONFIG_MAPS).watch() as stream:
                await client.resource(CONFIG_MAPS).create(gone)
                async for batch in stream:
                    if any(change.type == "DELETED" for change in batch):
                        break
            await client.resource(CONFIG_MAPS).get("kept", "default")
            with pytest.raises(NotFound):
                await client.resource(CONFIG_MAPS).get("gone", "default")

    run_virtual(main)
