"""A control plane with members whose objects are searchable, over HTTPS as clients use it."""

from pathlib import Path
from typing import Any

from tests.membership.world import Member, World, eventually, user_transport

from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import objects
from karmada.membership.join import join

PODS = GroupVersionResource("", "v1", "pods")
NODES = GroupVersionResource("", "v1", "nodes")
REGISTRIES = GroupVersionResource("search.karmada.io", "v1alpha1", "resourceregistries")
GROUP = "/apis/search.karmada.io/v1alpha1"
VIEW = f"{GROUP}/proxying/templates/proxy"
PROXY, CACHE = f"{GROUP}/proxying/karmada/proxy", f"{GROUP}/search/cache"
CLUSTER = "resource.karmada.io/cached-from-cluster"


def registry(*kinds: tuple[str, str], clusters: list[str] | None = None, name: str = "all") -> JSONObject:
    selectors = [{"apiVersion": api_version, "kind": kind} for api_version, kind in kinds]
    target: JSONObject = {"clusterNames": clusters} if clusters else {}
    return {
        "apiVersion": "search.karmada.io/v1alpha1",
        "kind": "ResourceRegistry",
        "metadata": {"name": name},
        "spec": {"targetCluster": target, "resourceSelectors": selectors},
    }


def pod(name: str, namespace: str = "default", **labels: str) -> JSONObject:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }


class Searched:
    """The world, its members, and clients of the global API."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.hub = world.hub
        self.members: dict[str, Member] = {}

    async def start(self, *names: str) -> None:
        self.world.endpoint = await self.world.plane.listen()
        for name in names:
            await self.join(name)

    async def join(self, name: str) -> Member:
        return await self.adopt(await self.world.member(name))

    async def adopt(self, member: Member) -> Member:
        """Make a cluster a member."""
        name = member.name
        self.members[name] = member
        await join(member.client, self.hub, member.describe())
        await self.world.ready(name)
        roles = member.client.resource(objects.CLUSTER_ROLES)
        await eventually(lambda: roles.get("karmada-impersonator"))
        return member

    async def register(self, wanted: JSONObject) -> None:
        """Create a registry and wait until what it selects is cached."""
        await self.hub.resource(REGISTRIES).create(wanted)
        await self.cached(wanted["metadata"]["name"])

    async def cached(self, name: str = "all", status: str = "True") -> JSONObject:
        async def look() -> JSONObject | None:
            found = await self.hub.resource(REGISTRIES).get(name)
            ready = next(c for c in found["status"]["conditions"] if c["type"] == "Ready")
            return ready if ready["status"] == status else None

        condition: JSONObject = await eventually(look)
        return condition

    async def grant(self, server: Client, user: str, rule: JSONObject) -> None:
        """Give a user a right on a server."""
        name = f"{user}-{rule['resources'][0].replace('/', '-')}"
        await server.resource(objects.CLUSTER_ROLES).create(objects.cluster_role(name, [rule], {}))
        bindings = server.resource(objects.CLUSTER_ROLE_BINDINGS)
        await bindings.create(objects.cluster_role_binding(name, objects.user_subject(user), {}))

    def client(self, user: str = "system:admin", *groups: str, path: str = PROXY) -> Client:
        chosen = groups or (("system:masters",) if user == "system:admin" else ())
        return Client(user_transport(self.world.plane.server, self.world.endpoint, user, *chosen, path=path))


def names(items: list[Any]) -> list[tuple[str, str]]:
    return [(item["metadata"]["annotations"][CLUSTER], item["metadata"]["name"]) for item in items]


def configure(searched: Searched, folder: Path, path: str = PROXY) -> None:
    """Write the kubeconfig of an administrator."""
    authority = searched.world.plane.server.identity.authority
    certificate, key = authority.issue_client("system:admin", ["system:masters"])
    address = searched.world.endpoint + path
    write_kubeconfig(
        folder / "kubeconfig", kubeconfig(address, authority.certificate_pem, certificate=certificate, key=key)
    )
