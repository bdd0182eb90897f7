"""Bad input and faults: a condition or message that names the cause, and no effect on other members."""

import asyncio
import datetime
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import orjson
import pytest
import yaml
from tests.membership.test_cluster_api import cluster
from tests.membership.test_unjoin import CONFIG_MAPS, WORKS, work
from tests.membership.world import QUICK, World, eventually
from tests.planes import stored

from karmada.agent.agent import Agent
from karmada.agent.options import AgentOptions
from karmada.api.cluster.v1alpha1 import Cluster, ClusterSpec, LocalSecretReference
from karmada.api.meta import ObjectMeta
from karmada.apiserver.auth.kubeconfig import kubeconfig
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.pki import server_names
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.options import Options
from karmada.machinery.resource import Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, Request, Transport, WatchStream
from karmada.membership import objects
from karmada.membership.access import target_of
from karmada.membership.agent_roles import agent_objects
from karmada.membership.credentials import ensure, obtain
from karmada.membership.join import join
from karmada.membership.members import MemberUnavailable
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions
from karmada.testing.faults import Faults, FaultyTransport
from karmada.testing.loop import VirtualClock, run_virtual

EVENTS = GroupVersionResource("", "v1", "events")
CLOCK = VirtualClock()


def named(**spec: Any) -> Cluster:
    reference = LocalSecretReference(namespace="karmada-cluster", name="m1")
    return Cluster(metadata=ObjectMeta(name="m1"), spec=ClusterSpec(sync_mode="Push", secret_ref=reference, **spec))


def config(**user: Any) -> bytes:
    tree = kubeconfig("https://127.0.0.1:1", b"", token="secret-token")
    tree["users"][0]["user"] = {"token": "secret-token"} | user
    return yaml.safe_dump(tree).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "has no data.token"),
        ({"token": b"secret-token"}, "has no data.caBundle"),
        ({"token": b"secret-token", "kubeconfig": config()}, "both data.kubeconfig and data.token"),
        ({"kubeconfig": b"secret-token: [unclosed"}, "not valid YAML"),
        ({"kubeconfig": b"[]"}, "cannot be used"),
        ({"kubeconfig": b"{}"}, "no context is chosen"),
        ({"kubeconfig": config(exec={"command": "/bin/sh"})}, "uses an exec plugin"),
        ({"kubeconfig": config(**{"client-certificate": "/etc/passwd"})}, "names the file"),
    ],
    ids=["empty", "no CA", "both", "no YAML", "a list", "no context", "exec", "files"],
)
def test_a_secret_that_cannot_be_used_says_why_and_not_what_is_in_it(data: dict[str, bytes], message: str) -> None:
    with pytest.raises(MemberUnavailable, match=message) as refused:
        target_of(named(api_endpoint="https://m1"), data)
    assert "secret-token" not in str(refused.value)


async def reported(world: World, name: str, text: str) -> Any:
    async def look() -> Any:
        found = await world.hub.resource(objects.CLUSTERS).get(name)
        ready = next(c for c in found["status"]["conditions"] if c["type"] == "Ready")
        return ready if ready["status"] == "False" and text in ready["message"] else None

    return await eventually(look)


async def test_a_wrong_kubeconfig_is_named_in_the_condition(world: World) -> None:
    secret = objects.secret("m1", "default", {"kubeconfig": b"{}"})
    await world.hub.resource(objects.SECRETS).create(secret)
    await world.hub.resource(objects.CLUSTERS).create(cluster("m1", secretRef={"namespace": "default", "name": "m1"}))
    condition = await reported(world, "m1", "no context is chosen")
    assert condition["reason"] == "StatusCollectionFailed"


async def test_an_expired_serving_certificate_is_named_in_the_condition(world: World) -> None:
    async with ApiServer() as issuing:
        authority = issuing.identity.authority
        past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=2)
        expired = authority.issue_server("m1", server_names(["127.0.0.1"]), 3600, past)
        async with ApiServer(ApiServerOptions(serving=expired)) as server:
            endpoint = f"https://127.0.0.1:{await server.listen()}"
            made = await obtain(Client(server.direct(ADMIN)), "m1", "karmada-cluster")
            data = {"token": made.token, "caBundle": authority.certificate_pem}
            await world.hub.resource(objects.SECRETS).create(objects.secret("m1", "karmada-cluster", data))
            reference = {"namespace": "karmada-cluster", "name": "m1"}
            await world.hub.resource(objects.CLUSTERS).create(cluster("m1", apiEndpoint=endpoint, secretRef=reference))
            condition = await reported(world, "m1", "certificate has expired")
            assert condition["reason"] == "ClusterNotReachable"


async def test_a_token_without_rights_is_reported_in_an_event_and_in_the_works(world: World) -> None:
    member = await world.member("m1")
    await join(member.client, world.hub, member.describe())
    await world.ready("m1")
    role = "karmada-controller-manager:karmada-m1"
    await world.plane.members.forget("m1")
    await member.client.resource(objects.CLUSTER_ROLE_BINDINGS).delete(role)
    await world.hub.resource(WORKS).create(work("m1"))

    async def seen() -> bool:
        events = (await world.hub.resource(EVENTS).list(Scope("default"))).items
        return any("Failed to count nodes and pods" in e["message"] and "forbidden" in e["message"] for e in events)

    await eventually(seen, attempts=3000)


async def test_a_member_that_hangs_delays_no_other(world: World) -> None:
    released = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await released.wait()
        writer.transport.abort()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    data = {"token": b"t", "caBundle": world.plane.server.identity.authority.certificate_pem}
    await world.hub.resource(objects.SECRETS).create(objects.secret("stuck", "karmada-cluster", data))
    reference = {"namespace": "karmada-cluster", "name": "stuck"}
    await world.hub.resource(objects.CLUSTERS).create(
        cluster("stuck", apiEndpoint=f"https://127.0.0.1:{port}", secretRef=reference)
    )
    member = await world.member("fine")
    await join(member.client, world.hub, member.describe())
    await world.ready("fine")
    condition = await reported(world, "stuck", "not reachable: no answer within")
    assert condition["reason"] == "ClusterNotReachable"
    await world.hub.resource(objects.CLUSTERS).delete("stuck")
    released.set()
    server.close()
    await server.wait_closed()


async def test_an_address_that_leads_to_another_cluster_is_not_used(world: World) -> None:
    real, other = await world.member("m1"), await world.member("other")
    made = await obtain(other.client, "m1", "karmada-cluster")
    await join(real.client, world.hub, real.describe())
    await world.ready("m1")
    secret = objects.secret("m1", "karmada-cluster", {"token": made.token, "caBundle": made.authority})
    await world.hub.resource(objects.SECRETS).patch("m1", {"data": secret["data"]}, "karmada-cluster")
    await world.hub.resource(objects.CLUSTERS).patch("m1", {"spec": {"apiEndpoint": other.endpoint}})
    await reported(world, "m1", "is another one")
    await world.hub.resource(WORKS).create(work("m1"))
    third = await world.member("m3")  # what it gets was begun later
    await join(third.client, world.hub, third.describe())
    await world.ready("m3")
    await world.hub.resource(WORKS).create(work("m3"))
    await eventually(lambda: third.client.resource(CONFIG_MAPS).get("a", "default"), attempts=3000)
    found = (await other.client.resource(CONFIG_MAPS).list(Scope("default"))).items
    assert "a" not in [item["metadata"]["name"] for item in found]


async def test_rotated_credentials_are_picked_up_without_a_restart(world: World) -> None:
    member = await world.member("m1")
    await join(member.client, world.hub, member.describe())
    await world.ready("m1")
    for kind in (objects.SECRETS, objects.SERVICE_ACCOUNTS):
        await member.client.resource(kind).delete("karmada-m1", "karmada-cluster")
    made = await obtain(member.client, "m1", "karmada-cluster")
    secret = objects.secret("m1", "karmada-cluster", {"token": made.token, "caBundle": made.authority})
    await world.hub.resource(objects.SECRETS).patch("m1", {"data": secret["data"]}, "karmada-cluster")
    await world.hub.resource(WORKS).create(work("m1"))
    await eventually(lambda: member.client.resource(CONFIG_MAPS).get("a", "default"), attempts=3000)


class Discovery:
    """A member's transport that answers discovery as prepared."""

    def __init__(self, inner: Transport, groups: list[dict[str, Any]]) -> None:
        self._inner = inner
        self._groups = groups

    async def send(self, request: Request) -> bytes:
        return await self._inner.send(request)

    @asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        async with self._inner.watch(request) as stream:
            yield stream

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        answer = await self._inner.raw(method, path, body, accept)
        if path != "/apis":
            return answer
        found = orjson.loads(answer)
        found["items"] += self._groups
        return orjson.dumps(found)

    async def close(self) -> None:
        await self._inner.close()


def group(number: int, **fields: Any) -> dict[str, Any]:
    resource = {
        "resource": f"things{number}",
        "responseKind": {"kind": f"Thing{number}"},
        "scope": "Namespaced",
        "verbs": ["get", "list"],
    }
    return {
        "metadata": {"name": f"group-{number}.example.com"},
        "versions": [{"version": "v1", "resources": [resource], **fields}],
    }


async def status_with(groups: list[dict[str, Any]]) -> Cluster:
    async with ApiServer() as member:

        async def open_member(_: Cluster) -> Transport:
            return Discovery(member.direct(ADMIN), groups)

        async with ControlPlane(ControlPlaneOptions(storage=stored(), options=Options(QUICK)), open_member) as plane:
            await plane.client.resource(objects.CLUSTERS).create(cluster("m1"))

            async def collected() -> Cluster | None:
                found = await plane.client.of(Cluster).get("m1")
                return found if found.status.api_enablements else None

            found: Cluster = await eventually(collected)
            return found


async def test_thousands_of_api_groups_are_collected() -> None:
    found = await status_with([group(number) for number in range(3000)])
    assert sum(e.group_version.startswith("group-") for e in found.status.api_enablements) == 3000


async def test_discovery_that_half_fails_is_partial_and_names_what_is_missing() -> None:
    found = await status_with([group(1), group(2, freshness="Stale", resources=[])])
    condition = next(c for c in found.status.conditions if c.type == "CompleteAPIEnablements")
    assert (condition.status, condition.reason) == ("False", "Partial")
    assert "group-2.example.com/v1" in condition.message


def test_nothing_is_deleted_in_a_member_because_it_was_unreachable() -> None:
    async def scenario() -> None:
        async with ApiServer() as member:
            inside = Client(member.direct(ADMIN))
            link = FaultyTransport(member.direct(ADMIN), lambda: Faults(), Random(1))

            async def open_member(_: Cluster) -> Transport:
                return link

            async with ControlPlane(ControlPlaneOptions(clock=CLOCK), open_member) as plane:
                await plane.client.resource(objects.CLUSTERS).create(cluster("m1"))
                await CLOCK.sleep(20)
                await plane.client.resource(WORKS).create(work("m1"))
                await CLOCK.sleep(20)
                before = await inside.resource(CONFIG_MAPS).get("a", "default")
                link.partitioned = True
                await CLOCK.sleep(600)
                link.partitioned = False
                await CLOCK.sleep(120)
                after = await inside.resource(CONFIG_MAPS).get("a", "default")
                assert after["metadata"]["uid"] == before["metadata"]["uid"]

    run_virtual(scenario, 1)


@pytest.mark.parametrize("seed", range(8))
def test_an_agent_that_is_restarted_in_the_middle_of_anything_gets_there(seed: int) -> None:
    """Requests get lost, arrive twice and break off; the agent dies and starts anew until it has done its work."""
    stormy = Faults(delay=0.05, drop=0.05, duplicate=0.03, watch_cut=0.05, watch_gone=0.05, burst=0.03)

    async def scenario() -> None:
        random = Random(seed)
        async with ApiServer() as member, ControlPlane(ControlPlaneOptions(clock=CLOCK)) as plane:
            for wanted in agent_objects("m1", "first"):
                await ensure(plane.client, wanted.type, wanted.tree)
            groups = ("system:karmada:agents", "system:karmada:registration:first", "system:authenticated")
            user = UserInfo("system:karmada:agent:m1", groups)
            await plane.client.resource(WORKS).create(work("m1"))
            inside = Client(member.direct(ADMIN))
            for life in range(6):
                faults = stormy if life < 5 else Faults()
                hub = FaultyTransport(plane.server.direct(user), lambda faults=faults: faults, Random(random.random()))
                there = FaultyTransport(member.direct(ADMIN), lambda faults=faults: faults, Random(random.random()))
                agent = Agent(hub, there, AgentOptions("m1", "https://m1"), clock=CLOCK)
                async with Supervisor(CLOCK) as supervisor:
                    try:
                        await agent.start(supervisor)
                        await CLOCK.sleep(random.uniform(0.1, 5.0) if life < 5 else 90.0)
                    except ApiError:
                        pass
                    hub.dead = there.dead = True
                await agent.close()
            clusters = (await plane.client.resource(objects.CLUSTERS).list()).items
            assert [c["metadata"]["name"] for c in clusters] == ["m1"]
            assert (await inside.resource(CONFIG_MAPS).get("a", "default"))["metadata"]["uid"]
            found = await plane.client.resource(WORKS).get("a", "karmada-es-m1")
            assert any(c["type"] == "Applied" and c["status"] == "True" for c in found["status"]["conditions"])

    run_virtual(scenario, seed)
