import asyncio

import orjson
import pytest

from karmada.api.meta import ObjectMeta
from karmada.api.work.v1alpha1 import Work, WorkSpec
from karmada.machinery.client import Client, type_of
from karmada.machinery.codec import Identity, structs
from karmada.machinery.discovery import UnknownKind
from karmada.machinery.errors import BadRequest, Conflict, Gone, NotFound, Unavailable
from karmada.machinery.resource import Scope, split_list
from karmada.machinery.rest_mapper import RESTMapper
from karmada.machinery.transport import EventType, GroupVersionResource

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


def config_map(name, **data):
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


async def test_trees_make_the_round_trip(server):
    maps = Client(server, field_manager="tester").resource(CONFIG_MAPS)
    created = await maps.create(config_map("a", x="1"))
    created["data"]["x"] = "2"
    updated = await maps.update(created)
    assert (await maps.get("a", "default"))["data"] == {"x": "2"} == updated["data"]
    assert [request.params.get("fieldManager") for request in server.requests] == ["tester", "tester", None]
    await maps.delete("a", "default")
    with pytest.raises(NotFound):
        await maps.get("a", "default")


async def test_structs_make_the_round_trip(server):
    works = Client(server).of(Work)
    assert works.type == ("work.karmada.io", "v1alpha1", "works") == type_of(Work)
    created = await works.create(Work(metadata=ObjectMeta(name="w", namespace="karmada-es-m1"), spec=WorkSpec()))
    assert isinstance(created, Work)
    assert created.metadata.uid
    assert await works.get("w", "karmada-es-m1") == created


async def test_list_follows_pages(server):
    for number in range(7):
        server.put(CONFIG_MAPS, config_map(f"m{number}"))
    listing = await Client(server).resource(CONFIG_MAPS).list(page_size=3)
    assert [item["metadata"]["name"] for item in listing.items] == [f"m{number}" for number in range(7)]
    assert listing.resource_version == str(server.revision)
    assert len(server.requests) == 3


async def test_list_starts_over_in_one_piece_when_the_revision_is_forgotten_between_pages(server):
    for number in range(7):
        server.put(CONFIG_MAPS, config_map(f"m{number}"))
    maps = Client(server).encoded(CONFIG_MAPS)

    class Forgetful:
        async def send(self, request):
            if "continue" in request.params:
                raise Gone("continue token too old")
            return await server.send(request)

    listing = await Client(Forgetful()).encoded(CONFIG_MAPS).list(page_size=3)
    assert listing.items == (await maps.list()).items


async def test_one_object_without_a_name_is_never_taken_for_the_whole_collection(server):
    maps = Client(server).resource(CONFIG_MAPS)
    await maps.create(config_map("a"))
    before = len(server.requests)
    for question in (maps.get("", "default"), maps.patch("", {}, "default"), maps.delete("", "default")):
        with pytest.raises(BadRequest, match="resource name may not be empty"):
            await question
    assert len(server.requests) == before


async def test_delete_names_the_incarnation_it_means(server):
    maps = Client(server).resource(CONFIG_MAPS)
    await maps.create(config_map("a"))
    with pytest.raises(Conflict):
        await maps.delete("a", "default", only_if=Identity(uid="another"))


async def test_watch_yields_batches_of_decoded_events(server):
    server.put(CONFIG_MAPS, config_map("a"))
    async with Client(server).resource(CONFIG_MAPS).watch(Scope("default"), resource_version="100") as batches:
        server.remove(CONFIG_MAPS, "a", "default")
        seen = [await anext(batches), await anext(batches)]
    assert [event.type for batch in seen for event in batch] == [EventType.ADDED, EventType.DELETED]


@pytest.mark.parametrize("items", [b"null", b"[]"], ids=["null", "empty"])
def test_a_list_without_items_is_empty(items):
    assert split_list(b'{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":%s}' % items).items == []


def test_list_items_get_the_type_the_server_left_out():
    body = b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"a"}}]}'
    assert orjson.loads(split_list(body).items[0]) == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}


def aggregated(freshness="Current"):
    resource = {
        "resource": "deployments",
        "responseKind": {"kind": "Deployment"},
        "scope": "Namespaced",
        "verbs": ["get", "list", "watch"],
        "subresources": [{"subresource": "status"}, {"subresource": "scale"}],
    }
    version = {"version": "v1", "freshness": freshness}
    if freshness == "Current":
        version["resources"] = [resource]
    return {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "apps"}, "versions": [version]}]}


EMPTY = {"kind": "APIGroupDiscoveryList", "items": []}
DOCUMENTS = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"groups": [{"name": "apps", "versions": [{"version": "v1"}]}]},
    "/api/v1": {"resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True, "verbs": ["get"]}]},
    "/apis/apps/v1": {
        "resources": [
            {"name": "deployments", "kind": "Deployment", "namespaced": True, "verbs": ["get", "list", "watch"]},
            {"name": "deployments/scale", "kind": "Scale", "namespaced": True, "verbs": ["get"]},
            {"name": "deployments/status", "kind": "Deployment", "namespaced": True, "verbs": ["get"]},
        ]
    },
}


@pytest.mark.parametrize(
    "discovery", [{"/api": EMPTY, "/apis": aggregated()}, DOCUMENTS], ids=["aggregated", "documents"]
)
async def test_mapper_knows_kinds_from_either_form_of_discovery(server, discovery):
    server.discovery = discovery
    found = await RESTMapper(server).of_kind("apps/v1", "Deployment")
    assert found.type == ("apps", "v1", "deployments")
    assert found.namespaced
    assert found.subresources == {"status", "scale"}
    assert await RESTMapper(server).of_type(found.type) == found


async def test_mapper_asks_again_for_a_kind_it_does_not_know_but_not_without_pause(server):
    server.discovery = {"/api": EMPTY, "/apis": EMPTY}
    now = 0.0

    class StoppedClock:
        def monotonic(self):
            return now

    mapper = RESTMapper(server, StoppedClock())
    with pytest.raises(UnknownKind):
        await mapper.of_kind("apps/v1", "Deployment")
    server.discovery = {"/api": EMPTY, "/apis": aggregated()}
    with pytest.raises(UnknownKind):
        await mapper.of_kind("apps/v1", "Deployment")
    now = 1.5
    assert (await mapper.of_kind("apps/v1", "Deployment")).kind == "Deployment"


@pytest.mark.parametrize("form", ["aggregated", "documents"])
async def test_an_unreachable_group_keeps_its_kinds(server, form):
    server.discovery = {"/api": EMPTY, "/apis": aggregated()} if form == "aggregated" else dict(DOCUMENTS)
    mapper = RESTMapper(server)
    await mapper.refresh()
    if form == "aggregated":
        server.discovery = {"/api": EMPTY, "/apis": aggregated("Stale")}
    else:
        del server.discovery["/apis/apps/v1"]
    await mapper.refresh()
    assert mapper.known_kind("apps/v1", "Deployment") is not None


async def test_servers_that_say_the_same_share_what_it_means(server):
    server.discovery = {"/api": EMPTY, "/apis": aggregated()}
    one, other = RESTMapper(server), RESTMapper(server)
    await one.refresh()
    await other.refresh()
    assert one.known
    assert one.known is other.known


async def test_a_failing_discovery_changes_nothing(server):
    server.discovery = DOCUMENTS
    mapper = RESTMapper(server)
    await mapper.refresh()
    server.failures = [Unavailable("down")]
    with pytest.raises(Unavailable):
        await mapper.refresh()
    assert mapper.known_kind("apps/v1", "Deployment") is not None


async def test_everybody_who_asks_while_discovery_is_under_way_gets_its_answer(server):
    server.discovery = DOCUMENTS
    mapper = RESTMapper(server)
    found = await asyncio.gather(*(mapper.of_kind("apps/v1", "Deployment") for _ in range(5)))
    assert {resource.kind for resource in found} == {"Deployment"}


async def test_a_failed_discovery_is_not_an_answer(server):
    server.discovery = DOCUMENTS
    server.failures = [Unavailable("down")]
    mapper = RESTMapper(server)
    with pytest.raises(Unavailable):
        await mapper.of_kind("apps/v1", "Deployment")
    assert (await mapper.of_kind("apps/v1", "Deployment")).kind == "Deployment"


def test_the_same_bytes_are_read_once_and_others_never_taken_for_them():
    codec = structs(Work)
    bodies = [orjson.dumps({"metadata": {"name": f"w{number}"}, "spec": {}}) for number in range(200)]
    assert codec.decode(bodies[0]) is codec.decode(bodies[0])
    assert [codec.decode(body).metadata.name for body in bodies] == [f"w{number}" for number in range(200)]
    assert [codec.decode(bytes(bytearray(body))).metadata.name for body in bodies[:3]] == ["w0", "w1", "w2"]
