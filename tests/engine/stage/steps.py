"""What tests of the stage do again and again."""

import contextlib
from typing import Any

from tests.engine.world import deployment

from karmada.machinery.client import Client
from karmada.machinery.errors import AlreadyExists
from karmada.machinery.transport import GroupVersionResource
from karmada.testing.stage.federation import eventually

from .conftest import DEPLOYMENTS, PATIENCE

LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")
ALL = ("member1", "member2", "member3")


def policy(*clusters: str) -> dict[str, Any]:
    """All Deployments to these clusters, or to all."""
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "everything", "namespace": "default"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": {"clusterAffinity": {"clusterNames": list(clusters or ALL)}},
        },
    }


async def copies(members: dict[str, Client], name: str) -> bool:
    """Whether a Deployment is in the given members."""
    for member in members.values():
        await member.resource(DEPLOYMENTS).get(name, "default")
    return True


async def arrive(members: dict[str, Client], *names: str) -> None:
    """Wait until Deployments are in the given members."""
    for name in names:
        await eventually(lambda name=name: copies(members, name), PATIENCE)


async def create(hub: Client, name: str) -> None:
    """Create a Deployment on a server that comes back; an attempt without an answer may have succeeded."""

    async def there() -> bool:
        with contextlib.suppress(AlreadyExists):
            await hub.resource(DEPLOYMENTS).create(deployment(name))
        return True

    await eventually(there, PATIENCE)


async def lease(client: Client, name: str) -> dict[str, Any]:
    """The specification of a component's lease."""
    found: dict[str, Any] = await client.resource(LEASES).get(name, "karmada-system")
    return found["spec"]


async def holder(client: Client, name: str) -> str:
    """Who leads a component."""
    return str((await lease(client, name)).get("holderIdentity") or "")
