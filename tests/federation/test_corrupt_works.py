"""A Work that cannot be read any more is built anew from its binding, and nothing else is disturbed."""

import orjson
import pytest

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.apiserver.storage.base import Value
from karmada.machinery.client import Client
from karmada.machinery.transport import EventType, Transport
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions
from karmada.testing.loop import VirtualClock, run_virtual
from karmada.testing.scenarios.federation import CLUSTERS, DEPLOYMENTS, POLICIES, deployment

WORKS = ("work.karmada.io", "works")


async def corrupt(server: ApiServer, name: str, part: str) -> None:
    """What a disk may do to a stored object."""
    [item] = [item for item in server.store.list(WORKS).items if item.name.startswith(name)]
    head, tail = orjson.dumps(orjson.loads(item.body) | {part: "garbage"}).split(f'"{item.revision}"'.encode(), 1)
    value = Value(head + b'"', b'"' + tail)
    await server.store.update(WORKS, item.namespace, item.name, value, item.index, item.revision)


@pytest.mark.parametrize("part", ["spec", "status"])
def test_a_corrupt_work_is_built_anew_and_its_objects_stay(part: str, failures: list[str]) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        async with ApiServer(ApiServerOptions(now=clock.now)) as member:

            async def open_member(cluster: Cluster) -> Transport:
                return member.direct(ADMIN)

            gone: list[str] = []
            member.store.subscribe(
                lambda kind, event: gone.append(event.item.name) if event.type is EventType.DELETED else None,
                ("apps", "deployments"),
            )
            async with ControlPlane(ControlPlaneOptions(clock=clock), open_member) as plane:
                hub, there = plane.client, Client(member.direct(ADMIN)).resource(DEPLOYMENTS)
                await hub.resource(CLUSTERS).create({"metadata": {"name": "member1"}, "spec": {"syncMode": "Push"}})
                selectors = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
                placement = {"clusterAffinity": {"clusterNames": ["member1"]}}
                spec = {"resourceSelectors": selectors, "placement": placement}
                await hub.resource(POLICIES).create({"metadata": {"name": "all", "namespace": "default"}, "spec": spec})
                for name in ("web", "other"):
                    await hub.resource(DEPLOYMENTS).create(deployment(name, 1))
                await clock.sleep(60)
                await corrupt(plane.server, "web", part)
                await clock.sleep(60)
                for name in ("web", "other"):
                    await hub.resource(DEPLOYMENTS).patch(name, {"spec": {"replicas": 3}}, "default")
                await clock.sleep(60)
                for name in ("web", "other"):
                    assert (await there.get(name, "default"))["spec"]["replicas"] == 3
                bodies = [orjson.loads(item.body) for item in plane.server.store.list(WORKS).items]
                assert all(isinstance(body["spec"], dict) and isinstance(body["status"], dict) for body in bodies)
                failures.clear()
                await clock.sleep(3600)
                assert failures == []
                assert gone == []

    run_virtual(scenario)
