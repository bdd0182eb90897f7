"""`clusters/<name>/proxy` as clients use it: over HTTPS, with real identities on both sides."""

import asyncio
from typing import Any

import orjson
import pytest
from tests.membership.world import eventually, user_transport

from karmada.aggregated.proxy.headers import passed_on
from karmada.apiserver.aggregation.proxy import identity_headers
from karmada.apiserver.auth.model import UserInfo
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, Forbidden, NotFound, Unavailable
from karmada.machinery.http.head import UnsafeHead
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects
from karmada.membership.join import join

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
TOKEN = "base64url.bearer.authorization.k8s.io."
BASE = "/apis/cluster.karmada.io/v1alpha1/clusters"


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


@pytest.fixture
async def hub(world: Any) -> Any:
    """A listening control plane with two members whose proxies may be used."""
    world.endpoint = await world.plane.listen()
    world.members = {}
    for name in ("member1", "member2"):
        member = world.members[name] = await world.member(name)
        await join(member.client, world.hub, member.describe())
        await world.ready(name)
        role = member.client.resource(objects.CLUSTER_ROLES)
        await eventually(lambda role=role: role.get("karmada-impersonator"))
    return world


def through(world: Any, cluster: str, user: str = "system:admin", *groups: str) -> Client:
    groups = groups or ("system:masters",)
    path = f"{BASE}/{cluster}/proxy"
    return Client(user_transport(world.plane.server, world.endpoint, user, *groups, path=path))


async def test_every_verb_reaches_the_member(hub: Any) -> None:
    client = through(hub, "member1")
    maps = client.resource(CONFIG_MAPS)
    await maps.create(config_map("made"))
    assert (await hub.members["member1"].client.resource(CONFIG_MAPS).get("made", "default"))["metadata"]["uid"]
    found = await maps.get("made", "default")
    found["data"] = {"a": "1"}
    await maps.update(found)
    await maps.patch("made", {"data": {"b": "2"}}, "default")
    assert (await maps.get("made", "default"))["data"] == {"a": "1", "b": "2"}
    await maps.delete("made", "default")
    with pytest.raises(NotFound, match='configmaps "made" not found'):
        await maps.get("made", "default")
    assert await client.transport.raw("GET", "/healthz") == b"ok"
    await client.close()


async def test_a_watch_streams(hub: Any) -> None:
    client = through(hub, "member1")
    async with client.resource(CONFIG_MAPS).watch(resource_version="0") as stream:
        await hub.members["member1"].client.resource(CONFIG_MAPS).create(config_map("seen"))

        async def follow() -> None:
            async for batch in stream:
                if any(event.object["metadata"]["name"] == "seen" for event in batch):
                    return

        await asyncio.wait_for(follow(), 10)
    await client.close()


async def test_the_member_sees_the_caller_and_judges_by_its_own_roles(hub: Any) -> None:
    rule = {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "verbs": ["*"]}
    rule["resourceNames"] = ["member1"]
    await hub.hub.resource(objects.CLUSTER_ROLES).create(objects.cluster_role("proxy-dev", [rule], {}))
    subject = objects.user_subject("dev")
    await hub.hub.resource(objects.CLUSTER_ROLE_BINDINGS).create(objects.cluster_role_binding("proxy-dev", subject, {}))
    member = hub.members["member1"].client

    async def known() -> bool:
        role = await member.resource(objects.CLUSTER_ROLES).get("karmada-impersonator")
        return any("dev" in rule["resourceNames"] for rule in role["rules"])

    await eventually(known)
    dev = through(hub, "member1", "dev", "devs-not-granted-are-not-sent")
    with pytest.raises(Forbidden, match="devs-not-granted"):
        await dev.resource(objects.NAMESPACES).list()
    await dev.close()
    dev = Client(user_transport(hub.plane.server, hub.endpoint, "dev", path=f"{BASE}/member1/proxy"))
    with pytest.raises(Forbidden, match='User "dev" cannot list resource "secrets"'):
        await dev.resource(objects.SECRETS).list()
    await dev.close()
    other = Client(user_transport(hub.plane.server, hub.endpoint, "dev", path=f"{BASE}/member2/proxy"))
    with pytest.raises(Forbidden, match='cannot get resource "clusters/proxy"'):
        await other.resource(objects.SECRETS).list()
    await other.close()


async def test_a_client_cannot_choose_its_identity_in_the_member(hub: Any) -> None:
    sent = {
        "authorization": "Bearer hub-token",
        "cookie": "session=1",
        "impersonate-user": "system:admin",
        "impersonate-group": "system:masters",
        "impersonate-extra-x": "1",
        "x-remote-user": "system:admin",
        "x-remote-group": "system:masters",
        "accept": "application/json",
    }
    user = UserInfo("dev", ("devs", "system:authenticated"))
    sent |= {"x_remote_user": "system:admin", "sec-websocket-protocol": f"{TOKEN}aHVi, v5.channel.k8s.io"}
    for protocol in ("", "websocket"):
        fields = passed_on(sent, user, b"impersonator", "member", protocol)
        headers = [
            field for field in fields if field[0].lower().startswith(("impersonate", "x-remote", "x_remote", "coo"))
        ]
        assert headers == [("Impersonate-User", "dev"), ("Impersonate-Group", "devs")]
        assert [value for name, value in fields if name.lower() == "authorization"] == ["Bearer impersonator"]
        offered = [value for name, value in fields if name.lower() == "sec-websocket-protocol"]
        assert offered == (["v5.channel.k8s.io"] if protocol else [])


@pytest.mark.parametrize("name", ["dev\r\nImpersonate-Group: system:masters", "ad\nmin", "admin ", " admin", "a\x00b"])
def test_a_user_whose_name_would_become_another_one_is_refused(name: str) -> None:
    for user in (UserInfo(name), UserInfo("dev", (name,))):
        with pytest.raises(UnsafeHead):
            passed_on({}, user, b"", "member", "")
        with pytest.raises(UnsafeHead):
            identity_headers(user)


async def test_an_unknown_cluster_and_a_bare_path_are_refused(hub: Any) -> None:
    client = user_transport(hub.plane.server, hub.endpoint, "system:admin", "system:masters")
    with pytest.raises(NotFound, match='"nosuch" not found'):
        await client.raw("GET", f"{BASE}/nosuch/proxy/api/v1/nodes")
    with pytest.raises(ApiError, match="the backend attempted to redirect this request"):
        await client.raw("GET", f"{BASE}/member1/proxy")
    await client.close()


async def test_a_dead_member_is_unavailable_and_the_other_is_not(hub: Any) -> None:
    await hub.members["member1"].server.__aexit__(None, None, None)
    client = user_transport(hub.plane.server, hub.endpoint, "system:admin", "system:masters")
    with pytest.raises(Unavailable, match="cluster member1 cannot be reached"):
        await client.raw("GET", f"{BASE}/member1/proxy/api/v1/namespaces")
    assert await client.raw("GET", f"{BASE}/member2/proxy/healthz") == b"ok"
    await client.close()


async def test_all_clusters_answer_as_one_list(hub: Any) -> None:
    for name, member in hub.members.items():
        await member.client.resource(CONFIG_MAPS).create(config_map(f"in-{name}"))
        await member.client.resource(CONFIG_MAPS).create(config_map("in-both"))
    client = user_transport(hub.plane.server, hub.endpoint, "system:admin", "system:masters")
    where = f"{BASE}/*/proxy/api/v1/namespaces/default/configmaps"
    found = orjson.loads(await client.raw("GET", where))
    names = [item["metadata"]["name"] for item in found["items"]]
    assert names.count("in-both") == 2
    assert {"in-member1", "in-member2"} <= set(names)
    assert orjson.loads(await client.raw("GET", f"{where}/in-member2"))["metadata"]["name"] == "in-member2"
    with pytest.raises(ApiError, match="conflict resource, exist in more than one cluster: member1,member2"):
        await client.raw("GET", f"{where}/in-both")
    with pytest.raises(NotFound):
        await client.raw("GET", f"{where}/nosuch")
    await client.close()


async def test_a_service_account_of_the_control_plane_uses_the_proxy_under_its_own_name(hub: Any) -> None:
    await hub.hub.resource(objects.SERVICE_ACCOUNTS).create(objects.service_account("robot", "default"))
    rule = {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "verbs": ["*"]}
    await hub.hub.resource(objects.CLUSTER_ROLES).create(objects.cluster_role("proxy-robot", [rule], {}))
    binding = objects.cluster_role_binding("proxy-robot", objects.account_subject("robot", "default"), {})
    await hub.hub.resource(objects.CLUSTER_ROLE_BINDINGS).create(binding)
    member = hub.members["member1"].client

    async def known() -> bool:
        role = await member.resource(objects.CLUSTER_ROLES).get("karmada-impersonator")
        return any("robot" in rule["resourceNames"] for rule in role["rules"])

    await eventually(known)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await hub.hub.resource(objects.SERVICE_ACCOUNTS).submit("robot", "token", request, "default")
    token = Identity(token=Material(answer["status"]["token"].encode()))
    authority = Material(hub.plane.server.identity.authority.certificate_pem)
    robot = Client(HttpTransport(Target(f"{hub.endpoint}{BASE}/member1/proxy", authority, identity=token)))
    with pytest.raises(Forbidden, match='User "system:serviceaccount:default:robot" cannot list resource "secrets"'):
        await robot.resource(objects.SECRETS).list()
    await robot.close()
