"""Informers follow a collection: order, resumption, handlers, indexes."""

import asyncio
from random import Random
from weakref import ref

import orjson
import pytest
from tests.machinery.informers import CONFIG_MAPS, Recorder, config_map, settle, start

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha1 import Work
from karmada.machinery.client import Client
from karmada.machinery.codec import digests, structs
from karmada.machinery.errors import BadAnswer, ServerError, Unavailable
from karmada.machinery.informers.cache import KEPT, Cache, Key
from karmada.machinery.informers.cache import number as as_number
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.informers.informer import NotSynced
from karmada.machinery.resource import Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import EventType, GroupVersionResource, WatchEvent
from karmada.testing.loop import VirtualClock, run_virtual


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming list", "paged list"])
def test_loads_then_follows(server, streaming):
    async def main():
        server.streaming_lists = streaming
        for number in range(1001):
            server.put(CONFIG_MAPS, config_map(f"m{number:04}"))
        informer, seen, _ = start(server)
        await informer.synced()
        assert len(informer) == 1001
        assert set(seen) == {("add", f"m{number:04}", "initial") for number in range(1001)}
        seen.clear()
        server.put(CONFIG_MAPS, config_map("new"))
        server.put(CONFIG_MAPS, config_map("m0000", x="1"))
        server.remove(CONFIG_MAPS, "m0001", "default")
        await settle()
        assert seen == [("add", "new"), ("update", "m0000"), ("delete", "m0001")]
        assert informer.get("m0000", "default")["data"] == {"x": "1"}
        assert informer.get("m0001", "default") is None

    run_virtual(main)


def test_reading_before_the_first_load_is_an_error(server):
    async def main():
        informer, _, _ = start(server)
        for read in (
            lambda: informer.get("a", "default"),
            informer.values,
            lambda: len(informer),
            lambda: informer.indexed("any", "x"),
        ):
            with pytest.raises(NotSynced):
                read()
        await informer.synced()
        assert informer.values() == []

    run_virtual(main)


@pytest.mark.parametrize("error", [None, Unavailable("connection reset")], ids=["server ends it", "connection breaks"])
def test_a_broken_watch_is_resumed_unnoticed(server, error):
    async def main():
        server.put(CONFIG_MAPS, config_map("a"))
        informer, seen, _ = start(server)
        await informer.synced()
        seen.clear()
        for number in range(5):
            server.cut(error)
            server.put(CONFIG_MAPS, config_map("a", x=str(number)))
            await settle()
        assert seen == [("update", "a")] * 5
        assert informer.reflector.loads == 1

    run_virtual(main)


def test_bookmarks_move_the_revision_from_which_a_watch_resumes(server):
    async def main():
        informer, _, _ = start(server)
        await informer.synced()
        server.revision = 5000
        server.streams[0][1].put_nowait([server.bookmark()])
        await asyncio.sleep(0)
        server.cut()
        await settle()
        assert server.requests[-1].params["resourceVersion"] == "5000"
        assert informer.reflector.loads == 1

    run_virtual(main)


def test_repeated_and_older_events_are_ignored(server):
    async def main():
        created = server.put(CONFIG_MAPS, config_map("a"))
        informer, seen, _ = start(server)
        await informer.synced()
        server.put(CONFIG_MAPS, config_map("a", x="1"))
        server.remove(CONFIG_MAPS, "a", "default")
        await settle()
        seen.clear()
        server.streams[0][1].put_nowait([WatchEvent(EventType.ADDED, orjson.dumps(created))])
        await settle()
        assert seen == []
        assert informer.get("a", "default") is None

    run_virtual(main)


def test_indexes_follow_changes(server):
    async def main():
        informer, _, _ = start(server)
        informer.add_index("cluster", lambda item: [item.value["data"]["cluster"]])
        server.put(CONFIG_MAPS, config_map("a", cluster="m1"))
        server.put(CONFIG_MAPS, config_map("b", cluster="m1"))
        server.put(CONFIG_MAPS, config_map("unreadable"))
        await informer.synced()
        assert {item.key.name for item in informer.indexed_items("cluster", "m1")} == {"a", "b"}
        server.put(CONFIG_MAPS, config_map("a", cluster="m2"))
        server.remove(CONFIG_MAPS, "b", "default")
        await settle()
        assert informer.indexed("cluster", "m1") == []
        assert [tree["metadata"]["name"] for tree in informer.indexed("cluster", "m2")] == ["a"]
        assert list(informer.index_values("cluster")) == ["m2"]
        assert informer.get("unreadable", "default") is not None

    run_virtual(main)


def test_scope_limits_what_is_loaded_and_followed(server):
    async def main():
        server.put(CONFIG_MAPS, config_map("a", "one"))
        server.put(CONFIG_MAPS, config_map("b", "two", {"app": "x"}))
        by_namespace, _, _ = start(server, Scope("one"))
        by_label, _, _ = start(server, Scope(labels="app=x"))
        await asyncio.gather(by_namespace.synced(), by_label.synced())
        server.put(CONFIG_MAPS, config_map("c", "two"))
        await settle()
        assert [item.key for item in by_namespace.all_items()] == [Key("one", "a")]
        assert [item.key for item in by_label.all_items()] == [Key("two", "b")]
        assert by_label.values("one") == []

    run_virtual(main)


def test_a_projection_drops_what_nobody_reads(server):
    async def main():
        def metadata_only(body):
            return orjson.dumps({"metadata": orjson.loads(body)["metadata"]})

        informer, _, _ = start(server, project=metadata_only)
        server.put(CONFIG_MAPS, config_map("a", big="x" * 1000))
        await informer.synced()
        assert "data" not in informer.get("a", "default")

    run_virtual(main)


def test_a_digest_is_made_once_for_each_state_and_kept_in_place_of_the_object(server):
    async def main():
        made = []

        def keys(body):
            made.append(sorted(orjson.loads(body)["data"]))
            return made[-1]

        for number in range(KEPT + 1):
            server.put(CONFIG_MAPS, config_map(f"m{number:04}", x="1"))
        informer, _, _ = start(server, codec=digests(keys))
        await informer.synced()
        assert len(made) == KEPT + 1
        server.put(CONFIG_MAPS, config_map("m0000", x="1", y="2"))
        await settle()
        for _ in range(2):
            assert informer.get("m0000", "default") == ["x", "y"]
            assert informer.values().count(["x"]) == KEPT
        assert len(made) == KEPT + 2
        assert informer.item(Key("default", "m0000")).body == b""

    run_virtual(main)


def test_an_object_of_which_no_digest_can_be_made_is_a_bad_answer():
    def refuse(body):
        raise ValueError("it has no shape")

    with pytest.raises(BadAnswer, match="it has no shape"):
        Cache(digests(refuse)).read(orjson.dumps(config_map("a")))


def test_a_failing_handler_disturbs_neither_its_neighbours_nor_the_rest_of_the_batch(server, failures):
    async def main():
        informer, seen, _ = start(server)
        survived = []

        def fragile(changes):
            for change in changes:
                if change.key.name == "b":
                    raise ValueError("cannot stand b")
                survived.append(change.key.name)

        informer.add_handler(fragile)
        for name in "abc":
            server.put(CONFIG_MAPS, config_map(name))
        await informer.synced()
        assert len(seen) == 3
        assert set(survived) == {"a", "c"}

    run_virtual(main)
    assert any("a handler of configmaps failed" in failure for failure in failures)


def test_a_late_handler_gets_what_is_there(server):
    async def main():
        server.put(CONFIG_MAPS, config_map("a"))
        informer, _, _ = start(server)
        await informer.synced()
        late = Recorder()
        informer.add_handler(late)
        assert late.seen == [("add", "a", "initial")]

    run_virtual(main)


def test_readers_cannot_change_the_cache_through_a_tree(server):
    async def main():
        server.put(CONFIG_MAPS, config_map("a", x="1"))
        informer, _, _ = start(server)
        await informer.synced()
        informer.get("a", "default")["data"]["x"] = "changed"
        assert informer.get("a", "default")["data"]["x"] == "1"

    run_virtual(main)


def test_factory_shares_one_informer_per_collection_and_scope(server):
    async def main():
        async with Supervisor(VirtualClock()) as supervisor:
            factory = InformerFactory(Client(server), supervisor, clock=VirtualClock(), random=Random(1))
            one = factory.resource(CONFIG_MAPS)
            assert factory.resource(CONFIG_MAPS) is one
            assert factory.resource(CONFIG_MAPS, Scope("default")) is not one
            await factory.synced()
            assert len(server.streams) == 2
            await factory.release(one)
            assert len(server.streams) == 1
            assert factory.resource(CONFIG_MAPS) is not one

    run_virtual(main)


def test_one_collection_that_cannot_load_does_not_delay_another(server):
    async def main():
        class Partly:
            def __getattr__(self, name):
                return getattr(server, name)

            def watch(self, request):
                if request.resource.resource == "deployments":
                    raise ServerError("no such luck")
                return server.watch(request)

        async with Supervisor(VirtualClock()) as supervisor:
            factory = InformerFactory(Client(Partly()), supervisor, clock=VirtualClock(), random=Random(1))
            broken = factory.resource(GroupVersionResource("apps", "v1", "deployments"))
            working = factory.resource(CONFIG_MAPS)
            await working.synced()
            await settle()
            assert not broken.has_synced
            assert isinstance(broken.reflector.failure, ServerError)

    run_virtual(main)


def test_a_watch_that_went_silent_is_opened_again(server):
    async def main():
        informer, seen, _ = start(server)
        await informer.synced()
        server.streams.clear()
        server.put(CONFIG_MAPS, config_map("a"))
        await asyncio.sleep(700)
        assert seen == [("add", "a")]

    run_virtual(main)


def test_what_came_before_a_bad_event_is_delivered(server):
    async def main():
        server.put(CONFIG_MAPS, config_map("a"))
        informer, _, task = start(server)
        await informer.synced()
        fine = WatchEvent(
            EventType.ADDED, orjson.dumps({"metadata": {"name": "b", "uid": "b", "resourceVersion": "900"}})
        )
        changes, error = informer._cache.apply([fine, WatchEvent(EventType.ADDED, b'{"metadata":{"name":[]}}')])
        assert [change.key.name for change in changes] == ["b"]
        assert isinstance(error, BadAnswer)
        task.cancel()

    run_virtual(main)


@pytest.mark.parametrize("revision", ["9" * 5000, "٣" * 50], ids=["long", "other digits"])
def test_revisions_that_are_no_numbers_of_kubernetes_are_none(revision):
    assert as_number(revision) == 0


def test_what_was_replaced_or_deleted_is_dropped_with_its_value():
    cache = Cache(structs(Work))
    body = b'{"metadata":{"name":"w","namespace":"es","uid":"u","resourceVersion":"%d"},"spec":{}}'
    gone = []
    for kind, revision in ((EventType.ADDED, 1), (EventType.MODIFIED, 2), (EventType.DELETED, 3)):
        cache.apply([WatchEvent(kind, body % revision)])
        for item in cache.items.values():
            assert item.value.metadata.name == "w"
            gone.append(ref(item))
    del item
    assert [one() for one in gone] == [None, None]


def test_reading_thousands_of_one_kind_leaves_what_was_read_of_another():
    clusters, works = Cache(structs(Cluster)), Cache(structs(Work))
    body = b'{"metadata":{"name":"%d","uid":"%d","resourceVersion":"%d"},"spec":{}}'
    clusters.apply([WatchEvent(EventType.ADDED, body % (1, 1, 1))])
    works.apply([WatchEvent(EventType.ADDED, body % (number, number, number)) for number in range(1, 2 * KEPT + 1)])
    (cluster,) = clusters.items.values()
    read = cluster.value
    firsts = [item.value for item in works.items.values()]
    assert cluster.value is read
    assert works.items[Key("", "1")].value is not firsts[0], "so many values are not kept"
