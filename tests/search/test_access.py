"""Who sees which rows: what the asking user may read in each member, asked there; and members that do not answer."""

import asyncio

import orjson
import pytest
from tests.membership.world import eventually
from tests.search.world import CACHE, PODS, PROXY, REGISTRIES, Searched, names, pod, registry

from karmada.machinery.errors import Forbidden, NotFound
from karmada.machinery.listening import stop_accepting
from karmada.machinery.resource import Scope
from karmada.machinery.transport import JSONObject
from karmada.membership import objects

MAY_ASK = {
    "apiGroups": ["search.karmada.io"],
    "resources": ["proxying/proxy", "search/api", "search/apis"],
    "verbs": ["*"],
}
READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}


@pytest.fixture
async def ready(searched: Searched) -> Searched:
    for member in searched.members.values():
        await member.client.resource(objects.NAMESPACES).create(objects.namespace("other"))
        for namespace in ("default", "other"):
            await member.client.resource(PODS).create(pod(f"in-{namespace}", namespace))
    await searched.register(registry(("v1", "Pod")))
    await searched.grant(searched.hub, "dev", MAY_ASK)
    return searched


async def test_a_role_in_a_namespace_is_no_right_to_ask_all_clusters(ready: Searched) -> None:
    binding = objects.role_binding("all", "default", objects.user_subject("eve"))
    binding["roleRef"] |= {"kind": "ClusterRole", "name": "cluster-admin"}
    await ready.hub.resource(objects.ROLE_BINDINGS).create(binding)
    for member in ready.members.values():
        await ready.grant(member.client, "eve", READ_PODS)
    inside = PROXY.replace("/proxying/", "/namespaces/default/proxying/")
    for path, refusal in ((PROXY, Forbidden), (inside, NotFound)):
        eve = ready.client("eve", path=path)
        with pytest.raises(refusal):
            await eve.transport.raw("GET", "/api/v1/pods")
        await eve.close()


async def sees(world: Searched, name: str) -> bool:
    """Whether an object is cached."""
    admin = world.client()
    try:
        return bool(await admin.resource(PODS).get(name, "default"))
    finally:
        await admin.close()


async def read_in(world: Searched, member: str, namespace: str) -> None:
    """Let dev read pods in one namespace of a member."""
    client = world.members[member].client
    await client.resource(objects.ROLES).create(objects.role("pods", namespace, [dict(READ_PODS)]))
    binding = objects.role_binding("pods", namespace, objects.user_subject("dev"))
    await client.resource(objects.ROLE_BINDINGS).create(binding)


async def test_rows_are_those_the_user_may_read_in_the_member(ready: Searched) -> None:
    await ready.grant(ready.members["member1"].client, "dev", READ_PODS)
    await read_in(ready, "member2", "other")
    dev = ready.client("dev")
    found = await dev.resource(PODS).list()
    assert names(found.items) == [("member1", "in-default"), ("member1", "in-other"), ("member2", "in-other")]
    assert names((await dev.resource(PODS).list(Scope("default"))).items) == [("member1", "in-default")]
    cache = ready.client("dev", path=CACHE)
    listed = orjson.loads(await cache.transport.raw("GET", "/api/v1/pods"))
    assert names(listed["items"]) == names(found.items)
    one = await dev.resource(PODS).get("in-default", "default")
    assert one["metadata"]["namespace"] == "default"
    await cache.close()
    await dev.close()


async def test_who_may_read_nowhere_is_refused_whether_or_not_there_is_something(ready: Searched) -> None:
    dev = ready.client("dev")
    for name in ("in-default", "nosuch"):
        with pytest.raises(Forbidden, match='User "dev" cannot get resource "pods"'):
            await dev.resource(PODS).get(name, "default")
        with pytest.raises(Forbidden, match='User "dev" cannot delete resource "pods"'):
            await dev.resource(PODS).delete(name, "default")
    await ready.grant(ready.members["member1"].client, "dev", {**READ_PODS, "verbs": ["delete"]})
    await ready.members["member2"].client.resource(PODS).create(pod("other-tenant"))
    await eventually(lambda: sees(ready, "other-tenant"))
    for name in ("other-tenant", "nothing"):
        with pytest.raises(NotFound):
            await dev.resource(PODS).delete(name, "default")
    with pytest.raises(Forbidden, match='User "dev" cannot list resource "pods" in API group "" in any cluster'):
        await dev.resource(PODS).list()
    await dev.close()
    nobody = ready.client("nobody")
    with pytest.raises(Forbidden, match="proxying/proxy"):
        await nobody.resource(PODS).list()
    await nobody.close()


async def test_writes_are_judged_by_the_member_as_the_user(ready: Searched) -> None:
    await ready.grant(ready.members["member1"].client, "dev", READ_PODS)
    member = ready.members["member1"].client
    await member.resource(PODS).create(pod("alone"))
    dev = ready.client("dev")
    await eventually(lambda: dev.resource(PODS).get("alone", "default"))

    async def impersonated() -> bool:
        role = await member.resource(objects.CLUSTER_ROLES).get("karmada-impersonator")
        return any("dev" in rule["resourceNames"] for rule in role["rules"])

    await eventually(impersonated)
    with pytest.raises(Forbidden, match='User "dev" cannot delete resource "pods"'):
        await dev.resource(PODS).delete("alone", "default")
    await dev.close()


async def test_a_member_that_hangs_costs_its_rows_only(ready: Searched) -> None:
    listening: list[asyncio.StreamWriter] = []
    silent = await asyncio.start_server(lambda reader, writer: listening.append(writer), "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    admin = ready.client()
    assert len((await admin.resource(PODS).list()).items) == 4
    await ready.hub.resource(objects.CLUSTERS).patch("member2", {"spec": {"apiEndpoint": f"https://127.0.0.1:{port}"}})

    async def without_it() -> bool:
        async with asyncio.timeout(8):
            found = await admin.resource(PODS).list()
        return {cluster for cluster, _ in names(found.items)} == {"member1"}

    assert await eventually(without_it)
    await admin.close()
    await stop_accepting(silent)
    for writer in listening:
        writer.close()


async def test_conditions_say_what_is_missing(searched: Searched) -> None:
    registries = searched.hub.resource(REGISTRIES)

    async def condition(wanted: JSONObject) -> JSONObject:
        await registries.create(wanted)
        return await searched.cached(wanted["metadata"]["name"], "False")

    unknown = await condition(registry(("nosuch/v1", "Nothing"), name="unknown"))

    async def reported() -> bool:
        found = await registries.get("unknown")
        return "Nothing (nosuch/v1) of cluster member1: the cluster has no such kind" in str(found["status"])

    await eventually(reported)
    assert unknown["reason"] == "NotCached"
    assert (await condition(registry(name="empty")))["reason"] == "NothingSelected"
    nowhere = await condition(registry(("v1", "Pod"), clusters=["nosuch"], name="nowhere"))
    assert nowhere["reason"] == "NoClusterSelected"
    admin = searched.client()
    with pytest.raises(NotFound):
        await admin.transport.raw("GET", "/apis/nosuch/v1/nothings")
    await admin.close()
