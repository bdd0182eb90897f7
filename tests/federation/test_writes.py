"""What one propagation costs in writes, and that a restart costs none."""

import asyncio

from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions
from karmada.testing.loop import VirtualClock, run_virtual

from .conftest import CLUSTERS, Federation

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
EVENTS = GroupVersionResource("", "v1", "events")
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]},
        },
    },
}
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}]},
}


async def reported(hub):
    binding = await hub.resource(BINDINGS).get("web-deployment", "default")
    found = {one["type"]: one["status"] for one in binding["status"].get("conditions") or ()}
    return found.get("FullyApplied") == "True"


async def versions(client, type_):
    listing = await client.resource(type_).list()
    return {(tree["metadata"].get("namespace"), tree["metadata"]["name"]): tree["metadata"] for tree in listing.items}


async def count(client, type_, since):
    """How often objects of a kind were written after a revision."""
    times = 0
    async with client.encoded(type_).watch(resource_version=since, timeoutSeconds="1") as batches:
        async for batch in batches:
            times += len(batch)
    return times


async def test_one_deployment_costs_the_least_number_of_writes(federation):
    await federation.apply(POLICY)
    since = (await federation.hub.resource(DEPLOYMENTS).page(limit=1)).resource_version
    await federation.apply(DEPLOYMENT)
    await federation.happens(lambda: reported(federation.hub))
    assert await count(federation.hub, DEPLOYMENTS, since) == 2, "created, claimed"
    assert await count(federation.hub, BINDINGS, since) == 4, "created, scheduled, said so, reported"
    assert await count(federation.hub, WORKS, since) == 4, "for each of two members: created, reported"


async def test_what_controllers_made_keeps_no_record_of_field_owners(federation):
    await federation.apply(POLICY, DEPLOYMENT)
    await federation.happens(lambda: reported(federation.hub))
    for type_ in (BINDINGS, WORKS):
        made = (await federation.hub.resource(type_).list()).items
        assert made
        assert [one["metadata"]["name"] for one in made if "managedFields" in one["metadata"]] == []
    written = await federation.hub.resource(DEPLOYMENTS).get("web", "default")
    assert written["metadata"]["managedFields"]


def server():
    return ApiServer(ApiServerOptions(now=VirtualClock().now))


def control_plane(members, storage):
    async def open_member(cluster):
        return members[cluster.metadata.name].direct(ADMIN)

    return ControlPlane(ControlPlaneOptions(storage=storage, clock=VirtualClock()), open_member)


async def copies(members):
    return [await versions(Client(one.direct(ADMIN)), DEPLOYMENTS) for one in members.values()]


def test_a_restart_writes_nothing():
    async def main():
        storage, again = MemoryStorage(), MemoryStorage()
        async with server() as one, server() as two:
            members = {"member1": one, "member2": two}
            async with control_plane(members, storage) as plane:
                for name in members:
                    cluster = {"metadata": {"name": name}, "spec": {"syncMode": "Push"}}
                    await plane.client.resource(CLUSTERS).create(cluster)
                await Federation(plane.client, {}).apply(POLICY, DEPLOYMENT)
                await asyncio.sleep(60)
                assert await reported(plane.client)
                kinds = (DEPLOYMENTS, BINDINGS, WORKS, EVENTS)
                before = {type_: await versions(plane.client, type_) for type_ in kinds}
            held = await copies(members)
            assert all(held)
            again.start_from(storage.snapshot())
            async with control_plane(members, again) as plane:
                await plane.loaded()
                await asyncio.sleep(60)
                assert {type_: await versions(plane.client, type_) for type_ in kinds} == before
            assert await copies(members) == held

    run_virtual(main)
