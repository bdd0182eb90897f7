"""The global API server: reads from the caches, writes to the cluster that has the object, the rest to the hub."""

import orjson
import pytest
from tests.membership.world import eventually
from tests.search.world import CACHE, CLUSTER, NODES, PODS, PROXY, REGISTRIES, Searched, names, pod, registry

from karmada.machinery.errors import ApiError, BadRequest, Conflict, MethodNotAllowed, NotFound
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects
from karmada.search.resource_versions import ResourceVersions

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


@pytest.fixture
async def ready(searched: Searched) -> Searched:
    for name, member in searched.members.items():
        await member.client.resource(PODS).create(pod("web", app="web"))
        await member.client.resource(PODS).create(pod(f"only-{name}", app="only"))
    await searched.register(registry(("v1", "Pod"), ("v1", "Node")))
    return searched


async def test_lists_hold_the_objects_of_all_clusters_under_one_version(ready: Searched) -> None:
    client = ready.client()
    found = await client.resource(PODS).list(Scope("default"))
    assert names(found.items) == [
        ("member1", "only-member1"),
        ("member1", "web"),
        ("member2", "only-member2"),
        ("member2", "web"),
    ]
    versions = ResourceVersions.parse(found.resource_version)
    assert sorted(versions.versions or {}) == ["member1", "member2"]
    assert all(item["metadata"]["resourceVersion"].isdecimal() for item in found.items)
    await client.close()


@pytest.mark.parametrize("path", [PROXY, CACHE])
async def test_of_a_parameter_that_is_repeated_the_first_counts(ready: Searched, path: str) -> None:
    client = ready.client(path=path)
    query = "labelSelector=app%3Donly&labelSelector=app%3Dweb"
    found = orjson.loads(await client.transport.raw("GET", f"/api/v1/pods?{query}"))
    assert {name for _, name in names(found["items"])} == {"only-member1", "only-member2"}
    found = orjson.loads(await client.transport.raw("GET", "/api/v1/pods?labelSelector=&labelSelector=app%3Dweb"))
    assert len(found["items"]) == 4
    await client.close()


async def test_pages_go_on_in_the_next_cluster(ready: Searched) -> None:
    client = ready.client()
    found, start = [], ""
    for _ in range(4):
        page = await client.resource(PODS).page(limit=1, start=start)
        found += page.items
        start = page.next
        if not start:
            break
    assert [name for _, name in names(found)] == ["only-member1", "web", "only-member2", "web"]
    assert not start
    await client.close()


async def test_a_name_finds_the_one_cluster_and_is_ambiguous_in_several(ready: Searched) -> None:
    client = ready.client()
    one = await client.resource(PODS).get("only-member2", "default")
    assert one["metadata"]["annotations"][CLUSTER] == "member2"
    assert list(ResourceVersions.parse(one["metadata"]["resourceVersion"]).versions or {}) == ["member2"]
    with pytest.raises(Conflict, match=r"ambiguous objects in clusters \[member1, member2\]"):
        await client.resource(PODS).get("web", "default")
    with pytest.raises(NotFound, match='pods "nosuch" not found'):
        await client.resource(PODS).get("nosuch", "default")
    await client.close()


async def test_an_object_read_through_the_proxy_can_be_sent_back(ready: Searched) -> None:
    client, member = ready.client(), ready.members["member2"].client
    read = await client.resource(PODS).get("only-member2", "default")
    read["metadata"]["labels"]["changed"] = "yes"
    await client.resource(PODS).update(read)
    stored = await member.resource(PODS).get("only-member2", "default")
    assert stored["metadata"]["labels"]["changed"] == "yes"
    assert CLUSTER not in (stored["metadata"].get("annotations") or {})
    with pytest.raises(Conflict):
        await client.resource(PODS).update(read)
    await client.resource(PODS).patch("only-member2", {"metadata": {"labels": {"patched": "yes"}}}, "default")
    await client.resource(PODS).delete("only-member2", "default")

    async def gone() -> bool:
        return not any(name == "only-member2" for _, name in names((await client.resource(PODS).list()).items))

    await eventually(gone)
    await client.close()


async def test_a_creation_does_not_say_in_which_cluster(ready: Searched) -> None:
    client = ready.client()
    with pytest.raises(MethodNotAllowed):
        await client.resource(PODS).create(pod("new"))
    await client.close()


async def test_kinds_without_a_registry_and_pages_are_the_hubs(ready: Searched) -> None:
    client = ready.client()
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-the-hub", "namespace": "default"}}
    await client.resource(CONFIG_MAPS).create(made)
    assert await ready.hub.resource(CONFIG_MAPS).get("of-the-hub", "default")
    assert (await client.resource(CONFIG_MAPS).get("of-the-hub", "default"))["metadata"]["uid"]
    assert (await client.mapper.of_kind("cluster.karmada.io/v1alpha1", "Cluster")).kind == "Cluster"
    binary = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"  # which only the hub has
    assert not (await client.transport.raw("GET", "/openapi/v2", accept=binary)).startswith(b"{")
    with pytest.raises(ApiError):
        await client.transport.raw("GET", "/apis/nosuch/v1")
    with pytest.raises(ApiError, match="not asked through itself"):
        await client.transport.raw("GET", f"{PROXY}/api/v1/pods")
    await client.close()


async def test_the_hub_judges_the_user_not_the_proxy(ready: Searched) -> None:
    rule = {"apiGroups": ["search.karmada.io"], "resources": ["proxying/proxy"], "verbs": ["*"]}
    await ready.hub.resource(objects.CLUSTER_ROLES).create(objects.cluster_role("global", [rule], {}))
    subject = objects.user_subject("dev")
    await ready.hub.resource(objects.CLUSTER_ROLE_BINDINGS).create(objects.cluster_role_binding("global", subject, {}))
    dev = ready.client("dev")
    with pytest.raises(ApiError, match='User "dev" cannot list resource "secrets"'):
        await dev.resource(objects.SECRETS).list()
    await dev.close()


async def test_tables_have_a_column_for_the_cluster(ready: Searched) -> None:
    client = ready.client()
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = orjson.loads(await client.transport.raw("GET", "/api/v1/pods", accept=accept))
    assert [column["name"] for column in table["columnDefinitions"]][:3] == ["Name", "Cluster", "Ready"]
    assert [row["cells"][:2] for row in table["rows"]][:2] == [["only-member1", "member1"], ["web", "member1"]]
    await client.close()


async def test_selectors_select_in_every_cluster(ready: Searched) -> None:
    client = ready.client()
    found = await client.resource(PODS).list(Scope(labels="app=only"))
    assert [name for _, name in names(found.items)] == ["only-member1", "only-member2"]
    found = await client.resource(PODS).list(Scope(fields="metadata.name=web"))
    assert names(found.items) == [("member1", "web"), ("member2", "web")]
    assert (await client.resource(NODES).list()).items == []
    await client.close()


async def test_fields_that_a_registry_leaves_out_are_not_cached_and_not_lost_by_updates(searched: Searched) -> None:
    made = pod("web")
    made["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}]
    await searched.members["member1"].client.resource(PODS).create(made)
    wanted = registry(("v1", "Pod"))
    wanted["metadata"]["annotations"] = {"search.karmada.io/trimmed-fields": "spec.containers.env"}
    await searched.register(wanted)
    client = searched.client()
    pods = client.resource(PODS)
    seen = await pods.get("web", "default")
    assert "env" not in seen["spec"]["containers"][0]
    with pytest.raises(BadRequest, match=r"cached without spec\.containers\.env: patch the object"):
        await pods.update(seen)
    await pods.patch("web", {"metadata": {"labels": {"a": "b"}}}, "default")
    kept = await searched.members["member1"].client.resource(PODS).get("web", "default")
    assert kept["spec"]["containers"][0]["env"] == [{"name": "A", "value": "1"}]
    assert kept["metadata"]["labels"]["a"] == "b"
    found = await searched.hub.resource(REGISTRIES).get("all")
    del found["metadata"]["annotations"]
    await searched.hub.resource(REGISTRIES).update(found)

    async def untrimmed() -> bool:
        return "env" in (await pods.get("web", "default"))["spec"]["containers"][0]

    await eventually(untrimmed)
    await client.close()
