"""What admission functions need to know about other objects, asked through a client."""

from collections.abc import Mapping

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.machinery.client import Client
from karmada.machinery.discovery import UnknownKind
from karmada.machinery.errors import NotFound
from karmada.machinery.resource import Scope
from karmada.machinery.transport import JSONObject
from karmada.membership.objects import NAMESPACES


class ClientLookup:
    """A `Lookup` and `Inventory` on the control plane itself; the client is set once the server exists."""

    client: Client

    async def list(self, api_version: str, kind: str, namespace: str = "") -> list[JSONObject]:
        """All objects of a kind."""
        served = await self.client.mapper.of_kind(api_version, kind)
        return (await self.client.resource(served.type).list(Scope(namespace))).items

    async def replace_status(self, api_version: str, kind: str, tree: JSONObject, dry_run: bool) -> None:
        """Write the status of an object that was read."""
        served = await self.client.mapper.of_kind(api_version, kind)
        await self.client.resource(served.type).update(tree, "status", dry_run=dry_run)

    async def labels_of(self, namespace: str) -> Mapping[str, str]:
        """The labels of a namespace; none of one that is not there."""
        try:
            found = await self.client.resource(NAMESPACES).get(namespace)
        except NotFound:
            return {}
        return found["metadata"].get("labels") or {}

    async def has_cluster(self, name: str) -> bool:
        """Whether there is a cluster of a name."""
        try:
            await self.client.of(Cluster).get(name)
        except NotFound:
            return False
        return True

    async def serves(self, api_version: str, kind: str) -> bool:
        """Whether the control plane has a kind."""
        try:
            await self.client.mapper.of_kind(api_version, kind)
        except UnknownKind:
            return False
        return True
