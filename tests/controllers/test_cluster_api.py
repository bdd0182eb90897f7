"""Clusters of Cluster API join when they are provisioned and leave with it; what others joined is left alone."""

import pytest
import yaml
from tests.controllers.plane import CLUSTERS, CRDS, on_a_plane, server

from karmada.apiserver.auth.kubeconfig import kubeconfig
from karmada.apiserver.server import ADMIN
from karmada.controllers.cluster_api import MARK, PROVISIONED, ClusterApiDetector
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound, Unavailable
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.transport import Verb
from karmada.membership import objects

VERSION = {
    "name": "v1beta1",
    "served": True,
    "storage": True,
    "subresources": {"status": {}},
    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
}
DEFINITION = {
    "metadata": {"name": "clusters.cluster.x-k8s.io"},
    "spec": {
        "group": "cluster.x-k8s.io",
        "names": {"kind": "Cluster", "plural": "clusters"},
        "scope": "Namespaced",
        "versions": [VERSION],
    },
}
NAME = "fresh"


class World:
    """A control plane, a cluster that Cluster API manages, and the cluster in which Cluster API runs."""

    def __init__(self, plane, management, member):
        self.plane = plane
        self.hub = plane.client.resource(CLUSTERS)
        self.management = management
        self.member = member
        self.reached = []
        self.closed = 0
        informers = InformerFactory(management, plane.supervisor, clock=plane.clock)
        client = plane.context.client
        self.detector = ClusterApiDetector(client, management, informers, clock=plane.clock, reach=self.reach)
        plane.start(self.detector.controller)

    async def reach(self, target):
        self.reached.append(target.server)
        world, inner = self, self.member.direct(ADMIN)

        class Closing:
            async def close(self):
                world.closed += 1
                await inner.close()

            def __getattr__(self, name):
                return getattr(inner, name)

        return Closing()

    async def provision(self, phase="Provisioned"):
        await self.management.resource(PROVISIONED).create({"metadata": {"name": NAME, "namespace": "default"}})
        await self.turn(phase)

    async def turn(self, phase):
        change = {"status": {"phase": phase}}
        await self.management.resource(PROVISIONED).patch(NAME, change, "default", subresource="status")
        await self.plane.clock.sleep(10)

    async def secret(self, value=None):
        config = kubeconfig("https://member:6443", b"", token="t")
        data = {"value": yaml.safe_dump(config).encode() if value is None else value}
        await self.management.resource(objects.SECRETS).create(objects.secret(f"{NAME}-kubeconfig", "default", data))

    async def joined(self):
        try:
            return await self.hub.get(NAME)
        except NotFound:
            return None


def run(test):
    async def scenario(plane):
        async with server(plane.clock) as one, server(plane.clock) as other:
            management = Client(one.direct(ADMIN))
            await management.resource(CRDS).create(DEFINITION)
            await plane.clock.sleep(1)
            await test(World(plane, management, other))

    on_a_plane(scenario)


def test_a_cluster_joins_when_it_is_provisioned_and_leaves_with_its_deletion():
    async def scenario(world):
        await world.secret()
        await world.provision("Provisioning")
        assert await world.joined() is None
        await world.turn("Provisioned")
        cluster = await world.joined()
        assert cluster["metadata"]["annotations"][MARK] == f"default/{NAME}"
        assert cluster["spec"]["apiEndpoint"] == "https://member:6443"
        assert (world.reached, world.closed) == (["https://member:6443"], 1)
        await world.turn("Provisioned")
        await world.management.resource(PROVISIONED).delete(NAME, "default")
        await world.plane.clock.sleep(10)
        assert await world.joined() is None

    run(scenario)


def test_a_cluster_that_is_being_deleted_leaves_while_its_object_is_held():
    async def scenario(world):
        await world.secret()
        await world.provision()
        provisioned = world.management.resource(PROVISIONED)
        await provisioned.patch(NAME, {"metadata": {"finalizers": ["test/hold"]}}, "default")
        assert await world.joined()
        await provisioned.delete(NAME, "default")
        await world.plane.clock.sleep(10)
        assert await world.joined() is None
        await world.turn("Provisioned")
        assert await world.joined() is None, "it does not join again"

    run(scenario)


def test_a_member_is_marked_however_soon_after_joining_the_process_ends():
    async def scenario(world):
        async def before(request):
            if request.resource == CLUSTERS and request.verb is Verb.PATCH:
                raise Unavailable("the process is gone")

        world.plane.transport.before = before
        await world.secret()
        await world.provision()
        assert (await world.joined())["metadata"]["annotations"][MARK] == f"default/{NAME}"

    run(scenario)


@pytest.mark.parametrize("mark", [None, "other/fresh"], ids=["by hand", "from another namespace"])
def test_a_member_that_another_joined_under_the_name_is_left_alone(mark):
    async def scenario(world):
        metadata = {"name": NAME, "annotations": {MARK: mark} if mark else {}}
        await world.hub.create({"metadata": metadata, "spec": {"syncMode": "Push"}})
        await world.secret()
        await world.provision()
        assert world.reached == []
        await world.management.resource(PROVISIONED).delete(NAME, "default")
        await world.plane.clock.sleep(10)
        assert "deletionTimestamp" not in (await world.joined())["metadata"]

    run(scenario)


PLUGIN = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh", "interactiveMode": "Never"}


def with_plugin():
    config = kubeconfig("https://member:6443", b"")
    config["users"][0]["user"] = {"exec": PLUGIN}
    return yaml.safe_dump(config).encode()


@pytest.mark.parametrize(
    "value", [None, b"not: [a kubeconfig", with_plugin()], ids=["no secret", "no kubeconfig", "a program to start"]
)
def test_a_cluster_without_a_usable_secret_joins_once_there_is_one(value, caplog):
    async def scenario(world):
        if value is not None:
            await world.secret(value)
        await world.provision()
        assert await world.joined() is None
        assert world.reached == []
        assert world.detector.controller.results["error"] > 0
        if value is not None:
            await world.management.resource(objects.SECRETS).delete(f"{NAME}-kubeconfig", "default")
        await world.secret()
        await world.plane.clock.sleep(60)
        assert await world.joined()

    run(scenario)
    why = "does not exist yet" if value is None else "holds no usable kubeconfig"
    assert f"the secret default/{NAME}-kubeconfig {why}" in caplog.text


def test_only_phases_and_deletions_have_a_cluster_looked_at_again():
    async def scenario(world):
        await world.provision("Provisioning")
        looked = dict(world.detector.controller.results)
        await world.management.resource(PROVISIONED).patch(NAME, {"metadata": {"labels": {"a": "b"}}}, "default")
        await world.plane.clock.sleep(5)
        assert world.detector.controller.results == looked
        await world.turn("Failed")
        assert world.detector.controller.results["success"] == looked["success"] + 1

    run(scenario)


def test_a_connection_ends_also_when_joining_fails():
    async def scenario(world):
        await world.secret()
        spec = {"id": await identity(world), "syncMode": "Push"}
        await world.hub.create({"metadata": {"name": "another"}, "spec": spec})
        await world.provision()
        assert await world.joined() is None
        assert world.closed == len(world.reached) > 0

    run(scenario)


async def identity(world):
    spaces = Client(world.member.direct(ADMIN)).resource(objects.NAMESPACES)
    return (await spaces.get("kube-system"))["metadata"]["uid"]
