"""The view of templates through real clients: children of templates, their names, changes, and who may see them."""

import asyncio
from typing import Any

import orjson
import pytest
from tests.membership.world import eventually
from tests.search.workloads import DEPLOYMENTS, REPLICA_SETS, propagate, roll_out, workload
from tests.search.world import CLUSTER, PODS, REGISTRIES, VIEW, Searched, names, pod, registry

from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, BadRequest, Forbidden, MethodNotAllowed, NotFound
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.search.resource_versions import ResourceVersions

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
MEMBERS = ("member1", "member2")
READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}


def asking(*names: str) -> JSONObject:
    rule: JSONObject = {"apiGroups": ["search.karmada.io"], "resources": ["proxying/proxy"], "verbs": ["*"]}
    return rule | ({"resourceNames": list(names)} if names else {})


@pytest.fixture
async def ready(searched: Searched) -> Searched:
    """A template in two clusters, with a ReplicaSet and a pod of the same names in both, and a pod of nobody."""
    await propagate(searched, "shop", *MEMBERS)
    for name in MEMBERS:
        await roll_out(searched.members[name].client, "shop", "shop-1-a")
        await searched.members[name].client.resource(PODS).create(pod(f"of.{name}", app="own"))
    await searched.register(registry(("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("v1", "Pod")))
    return searched


async def test_children_are_named_with_their_cluster_and_owned_by_the_template(ready: Searched) -> None:
    view = ready.client(path=VIEW)
    (template,) = (await view.resource(DEPLOYMENTS).list()).items
    replicas = (await view.resource(REPLICA_SETS).list()).items
    pods = (await view.resource(PODS).list(Scope("default"))).items
    assert CLUSTER not in template["metadata"].get("annotations", {})
    assert (
        template["metadata"]["uid"] == (await ready.hub.resource(DEPLOYMENTS).get("shop", "default"))["metadata"]["uid"]
    )
    assert names(replicas) == [("member1", "shop-1.member1"), ("member2", "shop-1.member2")]
    assert {each["metadata"]["ownerReferences"][0]["uid"] for each in replicas} == {template["metadata"]["uid"]}
    assert names(pods) == [
        ("member1", "of.member1.member1"),
        ("member1", "shop-1-a.member1"),
        ("member2", "of.member2.member2"),
        ("member2", "shop-1-a.member2"),
    ]
    for made, over in zip((pods[1], pods[3]), replicas, strict=True):
        (owner,) = made["metadata"]["ownerReferences"]
        assert (owner["name"], owner["uid"]) == (over["metadata"]["name"], over["metadata"]["uid"])
    await view.close()


async def test_a_shown_name_is_one_object(ready: Searched) -> None:
    view = ready.client(path=VIEW)
    found = await view.resource(PODS).get("shop-1-a.member2", "default")
    member = await ready.members["member2"].client.resource(PODS).get("shop-1-a", "default")
    assert names([found]) == [("member2", "shop-1-a.member2")]
    assert found["metadata"]["uid"] == member["metadata"]["uid"]
    assert (await view.resource(PODS).get("of.member1.member1", "default"))["metadata"]["labels"] == {"app": "own"}
    for name in ("shop-1-a", "of.member1", "shop-1-a.member3", "nosuch.member1"):
        with pytest.raises(NotFound, match=f'pods "{name}" not found'):
            await view.resource(PODS).get(name, "default")
        with pytest.raises(NotFound, match=f'pods "{name}" not found'):
            await view.resource(PODS).delete(name, "default")
    await view.close()


async def test_pages_selectors_and_tables_show_the_same_names(ready: Searched) -> None:
    view = ready.client(path=VIEW)
    found, start = [], ""
    while True:
        page = await view.resource(PODS).page(limit=1, start=start)
        found += page.items
        start = page.next
        if not start:
            break
    assert [name for _, name in names(found)] == [
        "of.member1.member1",
        "shop-1-a.member1",
        "of.member2.member2",
        "shop-1-a.member2",
    ]
    chosen = (await view.resource(PODS).list(Scope(fields="metadata.name=shop-1-a.member2"))).items
    assert names(chosen) == [("member2", "shop-1-a.member2")]
    assert (await view.resource(PODS).list(Scope(fields="metadata.name=shop-1-a"))).items == []
    assert len((await view.resource(PODS).list(Scope(labels="app=own"))).items) == 2
    with pytest.raises(BadRequest, match=r"selects by metadata\.name=NAME only"):
        await view.resource(PODS).list(Scope(fields="metadata.name!=shop-1-a.member2"))
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = orjson.loads(await view.transport.raw("GET", "/api/v1/pods", accept=accept))
    assert [row["cells"][:2] for row in table["rows"]][:2] == [
        ["of.member1.member1", "member1"],
        ["shop-1-a.member1", "member1"],
    ]
    assert table["rows"][0]["object"]["metadata"]["name"] == "of.member1.member1"
    await view.close()


async def events(stream: Any, count: int) -> list[tuple[str, str]]:
    seen: list[tuple[str, str]] = []
    async with asyncio.timeout(60):
        while len(seen) < count:
            batch = await anext(stream)
            seen += [(str(event.type), event.object["metadata"]["name"]) for event in batch]
    return seen


async def test_watches_show_the_same_names(ready: Searched) -> None:
    view = ready.client(path=VIEW)
    listed = await view.resource(PODS).list()
    one, two = (ready.members[name].client.resource(PODS) for name in MEMBERS)
    version = listed.resource_version
    async with (
        view.resource(PODS).watch(resource_version=version) as every,
        view.resource(PODS).watch(Scope(fields="metadata.name=b.member2"), version) as only,
    ):
        await one.create(pod("b"))
        assert await events(every, 1) == [("ADDED", "b.member1")]
        await two.create(pod("b"))
        assert await events(every, 1) == [("ADDED", "b.member2")]
        assert await events(only, 1) == [("ADDED", "b.member2")]
    async with view.resource(PODS).watch() as anew:
        assert {kind for kind, _ in await events(anew, 6)} == {"ADDED"}
    await view.close()


async def test_changes_reach_the_cluster_of_the_name(ready: Searched) -> None:
    view = ready.client(path=VIEW)
    pods = view.resource(PODS)
    one, two = (ready.members[name].client.resource(PODS) for name in MEMBERS)
    await pods.patch("shop-1-a.member2", {"metadata": {"labels": {"seen": "yes"}}}, "default")
    assert (await two.get("shop-1-a", "default"))["metadata"]["labels"]["seen"] == "yes"
    assert "seen" not in (await one.get("shop-1-a", "default"))["metadata"].get("labels", {})
    read = await pods.get("shop-1-a.member2", "default")
    with pytest.raises(BadRequest, match=r"not sent back whole.*clusters/member2/proxy for shop-1-a"):
        await pods.update(read)
    with pytest.raises(BadRequest, match="not applied"):
        await pods.apply(read, field_manager="test")
    with pytest.raises(BadRequest, match="names and owners are not patched"):
        await pods.patch("shop-1-a.member2", {"metadata": {"ownerReferences": None}}, "default")
    with pytest.raises(MethodNotAllowed):
        await pods.create(pod("new"))
    with pytest.raises(MethodNotAllowed):
        await view.transport.raw("DELETE", "/api/v1/namespaces/default/pods")
    await pods.delete("shop-1-a.member2", "default")
    with pytest.raises(NotFound):
        await two.get("shop-1-a", "default")
    assert "deletionTimestamp" not in (await one.get("shop-1-a", "default"))["metadata"]
    await view.close()


async def test_copies_of_templates_are_left_out(ready: Searched) -> None:
    await propagate(ready, "alone", "member1", made=pod("alone"))
    view, usual = ready.client(path=VIEW), ready.client()
    await eventually(lambda: usual.resource(PODS).get("alone", "default"))
    assert "alone.member1" not in [name for _, name in names((await view.resource(PODS).list()).items)]
    with pytest.raises(NotFound):
        await view.resource(PODS).get("alone.member1", "default")
    with pytest.raises(NotFound):
        await view.resource(PODS).delete("alone.member1", "default")
    await usual.close()
    await view.close()


async def test_kinds_that_may_be_templates_are_those_of_members_where_a_registry_says_so(ready: Searched) -> None:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made-there", "namespace": "default"}}
    await ready.members["member1"].client.resource(CONFIG_MAPS).create(made)
    wanted = registry(("v1", "ConfigMap"), name="more")
    await ready.register(wanted)
    view = ready.client(path=VIEW)
    with pytest.raises(NotFound):
        await view.resource(CONFIG_MAPS).get("made-there.member1", "default")
    marked = {"metadata": {"annotations": {"search.karmada.io/children-of-templates": "true"}}}
    await ready.hub.resource(REGISTRIES).patch("more", marked)
    found = await eventually(lambda: view.resource(CONFIG_MAPS).get("made-there.member1", "default"))
    assert names([found]) == [("member1", "made-there.member1")]
    await view.close()


async def test_templates_are_created_and_changed_in_the_control_plane(ready: Searched) -> None:
    view = ready.client(path=VIEW)
    made = await view.resource(DEPLOYMENTS).create(workload("Deployment", "made"))
    assert (await ready.hub.resource(DEPLOYMENTS).get("made", "default"))["metadata"]["uid"] == made["metadata"]["uid"]
    with pytest.raises(ApiError, match="not asked through itself"):
        await view.transport.raw("GET", f"{VIEW}/api/v1/pods")
    await view.close()


async def test_a_right_to_one_view_is_none_to_the_other(ready: Searched) -> None:
    for user, name in (("ann", "karmada"), ("ben", "templates")):
        await ready.grant(ready.hub, user, asking(name))
        for member in MEMBERS:
            await ready.grant(ready.members[member].client, user, READ_PODS)

    async def sees(user: str, **where: str) -> bool:
        client: Client = ready.client(user, **where)
        try:
            return bool((await client.resource(PODS).list()).items)
        except Forbidden:
            return False
        finally:
            await client.close()

    assert [await sees("ann"), await sees("ann", path=VIEW)] == [True, False]
    assert [await sees("ben"), await sees("ben", path=VIEW)] == [False, True]


async def test_nobody_sees_or_changes_more_than_in_the_members(ready: Searched) -> None:
    for user in ("dev", "ann"):
        await ready.grant(ready.hub, user, asking())
    await ready.grant(ready.members["member2"].client, "dev", READ_PODS)
    dev, ann = ready.client("dev", path=VIEW), ready.client("ann", path=VIEW)
    listed = await dev.resource(PODS).list()
    assert {cluster for cluster, _ in names(listed.items)} == {"member2"}
    assert list(ResourceVersions.parse(listed.resource_version).versions or {}) == ["member2"]
    assert names([await dev.resource(PODS).get("shop-1-a.member2", "default")]) == [("member2", "shop-1-a.member2")]
    for name in ("shop-1-a.member1", "nosuch.member1"):
        with pytest.raises(Forbidden):
            await dev.resource(PODS).get(name, "default")
    with pytest.raises(Forbidden, match='User "dev" cannot delete resource "pods"'):
        await dev.resource(PODS).delete("shop-1-a.member2", "default")
    for user, name in ((dev, "nosuch.member2"), (ann, "shop-1-a.member1"), (ann, "nosuch.member1"), (ann, "nosuch")):
        with pytest.raises(Forbidden):
            await user.resource(PODS).delete(name, "default")
        with pytest.raises(Forbidden):
            await user.resource(PODS).update(pod(name))
    with pytest.raises(Forbidden):
        await dev.resource(DEPLOYMENTS).list()
    for name in ("shop-1-a.member1", "shop-1-a.member3", "shop-1-a"):
        with pytest.raises(Forbidden):
            await ann.resource(PODS).get(name, "default")
    await ann.close()
    await dev.close()
