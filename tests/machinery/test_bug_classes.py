"""The recurring bug classes of the reference that this layer prevents, one test each.

Each test shows the mistake being made, and what the toolkit makes of it. Classes covered elsewhere are named here:
lost updates and list-replacing patches (test_committer, tests/testing), one failing informer stops its neighbours
(test_informer), transient discovery errors (test_client, test_dynamic_informers), non-conflicting deadlines (http).
"""

import asyncio
from random import Random

import pytest

from karmada.api.work.v1alpha1 import Work
from karmada.machinery.client import Client, type_of
from karmada.machinery.codec import TREE
from karmada.machinery.committer import Absent, Committer, Written
from karmada.machinery.controller import DONE, Controller
from karmada.machinery.errors import Conflict, ServerError, Timeout, TooManyRequests, Unavailable, from_status
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.informers.informer import Informer, NotSynced
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, Request, Verb
from karmada.testing.loop import VirtualClock, run_virtual
from karmada.testing.mutation import changed_in_cache

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
WORKS = type_of(Work)


def config_map(name, **data):
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


def work(name):
    metadata = {"name": name, "namespace": "karmada-es-m1", "labels": {"a": "b"}}
    return {"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": metadata, "spec": {"workload": {}}}


def simulate(server, story):
    async def main():
        async with Supervisor(VirtualClock(), Random(1)) as supervisor:
            await story(InformerFactory(Client(server), supervisor, clock=VirtualClock(), random=Random(1)))

    run_virtual(main)


def test_acting_on_an_unsynced_cache(server):
    """A cleanup that asks an unsynced cache what exists gets an error, not the answer "nothing"."""

    async def story(informers):
        sources = informers.resource(CONFIG_MAPS)
        with pytest.raises(NotSynced):
            sources.values()
        await sources.synced()
        assert len(sources.values()) == 1

    server.put(CONFIG_MAPS, config_map("a"))
    simulate(server, story)


def test_mutating_an_object_of_the_shared_cache(server):
    """A struct cannot be changed; what can be changed inside it is found by the detector."""

    async def story(informers):
        works = informers.of(Work)
        await works.synced()
        shared = works.get("w", "karmada-es-m1")
        assert works.get("w", "karmada-es-m1") is shared
        with pytest.raises(AttributeError):
            shared.metadata = None
        assert changed_in_cache(works) == []
        shared.metadata.labels["a"] = "changed"
        assert [key.name for key in changed_in_cache(works)] == ["w"]

    server.put(WORKS, work("w"))
    simulate(server, story)


async def test_lost_update_in_a_conflict_retry(server):
    """The retry decides on what is there now; an annotation added meanwhile survives."""
    seen = server.put(CONFIG_MAPS, config_map("a"))
    server.put(CONFIG_MAPS, config_map("a") | {"metadata": seen["metadata"] | {"annotations": {"theirs": "1"}}})

    def annotate(tree):
        annotations = (tree["metadata"].get("annotations") or {}) | {"ours": "1"}
        return tree | {"metadata": tree["metadata"] | {"annotations": annotations}}

    outcome = await Committer(Client(server).resource(CONFIG_MAPS)).commit(seen, annotate)
    assert outcome.value["metadata"]["annotations"] == {"theirs": "1", "ours": "1"}


def test_state_leaking_between_items_of_a_batch(server):
    """A handler gets each change with its own old and new state, also for objects that change twice in a batch."""

    async def story(informers):
        informer = informers.resource(CONFIG_MAPS)
        seen = []
        informer.add_handler(
            lambda changes: seen.extend(
                (change.old and change.old.value["data"], change.new and change.new.value["data"]) for change in changes
            )
        )
        await informer.synced()
        for number in "12":
            server.put(CONFIG_MAPS, config_map("a", n=number))
        await asyncio.sleep(1)
        assert seen == [(None, {"n": "1"}), ({"n": "1"}, {"n": "2"})]

    simulate(server, story)


@pytest.mark.parametrize(
    ("code", "kind"),
    [(429, TooManyRequests), (500, ServerError), (503, Unavailable), (504, Timeout)],
    ids=str,
)
def test_transient_error_treated_as_final(code, kind):
    """Whether an error may go away is part of its type."""
    error = from_status(code, {})
    assert type(error) is kind
    assert error.transient
    assert not from_status(404, {}).transient
    assert not from_status(409, {}).transient


def test_a_transient_failure_keeps_what_is_cached(server):
    """While a collection cannot be followed, readers see its last state, never an empty one."""

    async def story(informers):
        informer = informers.resource(CONFIG_MAPS)
        await informer.synced()
        server.failures = [ServerError("down")] * 20
        server.cut(Unavailable("down"))
        await asyncio.sleep(3)
        assert [item.key.name for item in informer.all_items()] == ["a"]
        assert informer.has_synced

    server.put(CONFIG_MAPS, config_map("a"))
    simulate(server, story)


def test_missing_timeout(server):
    """Every request carries a deadline, and a reconcile that hangs is ended by its own."""
    assert Request(Verb.GET, CONFIG_MAPS).timeout == 30.0

    async def story(informers):
        attempts = []

        async def hang(key):
            attempts.append(asyncio.get_running_loop().time())
            if len(attempts) == 1:
                await asyncio.Event().wait()
            return DONE

        controller = Controller("hangs", hang, deadline=10, clock=VirtualClock(), random=Random(1))
        controller.enqueue("a")
        task = asyncio.create_task(controller.run())
        await asyncio.sleep(60)
        assert len(attempts) == 2
        assert 10 <= attempts[1] < 11
        task.cancel()

    simulate(server, story)


async def test_create_only_apply(server):
    """`ensure` brings an object that exists with other content to the wanted one."""
    server.put(CONFIG_MAPS, config_map("a", version="1"))
    committer = Committer(Client(server).resource(CONFIG_MAPS))

    def decide(seen):
        return config_map("a", version="2") if seen is None else seen | {"data": {"version": "2"}}

    assert isinstance(await committer.ensure("a", "default", decide), Written)
    assert server.objects[CONFIG_MAPS, "default", "a"]["data"] == {"version": "2"}


@pytest.mark.parametrize(
    "odd",
    [
        {"metadata": {"name": "odd"}},
        {"metadata": {"name": "odd", "namespace": "default", "labels": None}, "spec": None, "status": None},
        {"metadata": {"name": "odd", "namespace": "default", "ownerReferences": None, "finalizers": None}},
    ],
    ids=["nothing but a name", "nulls", "null lists"],
)
def test_absent_optional_fields(server, odd):
    """Objects without what most have are cached, indexed and read like others."""

    async def story(informers):
        trees = informers.resource(CONFIG_MAPS)
        trees.add_index("owner", lambda item: [owner["uid"] for owner in item.value["metadata"]["ownerReferences"]])
        await trees.synced()
        assert [item.key.name for item in trees.all_items()] == ["odd"]
        assert trees.indexed("owner", "x") == []

    server.put(CONFIG_MAPS, odd)
    simulate(server, story)


async def test_deletion_blocked_by_something_that_no_longer_exists(server):
    """To remove what is already gone is done, not an error to retry for ever."""
    committer = Committer(Client(server).resource(CONFIG_MAPS))
    seen = server.put(CONFIG_MAPS, config_map("a"))
    server.remove(CONFIG_MAPS, "a", "default")
    assert await committer.remove(seen, lambda tree: True) == Absent()
    assert await committer.commit(seen, lambda tree: tree | {"data": {"x": "1"}}) == Absent()


def test_identity_by_name(server):
    """An object recreated under its name is another one: it shows as a deletion and a creation."""

    async def story(informers):
        informer = informers.resource(CONFIG_MAPS)
        changes = []
        informer.add_handler(changes.extend)
        await informer.synced()
        changes.clear()
        live, server.streams = server.streams, []
        server.remove(CONFIG_MAPS, "a", "default")
        server.put(CONFIG_MAPS, config_map("a", new="yes"))
        server.compact()
        server.streams = live
        server.cut()
        await asyncio.sleep(60)
        assert [(change.old is None, change.new is None) for change in changes] == [(False, True), (True, False)]

    server.put(CONFIG_MAPS, config_map("a"))
    simulate(server, story)


def test_wrong_error_class(server, failures):
    """A conflict is not a failure of the object, an unknown bug is not a conflict: both stay apart in log and count."""

    async def story(informers):
        outcomes = {"busy": Conflict("changed"), "bug": KeyError("replicas")}

        async def reconcile(key):
            error = outcomes.pop(key, None)
            if error:
                raise error
            return DONE

        controller = Controller("apart", reconcile, clock=VirtualClock(), random=Random(1))
        for key in list(outcomes):
            controller.enqueue(key)
        task = asyncio.create_task(controller.run())
        await asyncio.sleep(5)
        assert controller.results == {"success": 2, "requeue_after": 0, "error": 2, "given_up": 0}
        task.cancel()

    simulate(server, story)


def test_informers_of_one_collection_are_one(server):
    """Two readers share one watch and one copy."""

    async def story(informers):
        first, second = informers.resource(CONFIG_MAPS), informers.resource(CONFIG_MAPS)
        await first.synced()
        assert first is second
        assert len(server.streams) == 1
        assert isinstance(first, Informer)
        assert first.codec is TREE

    simulate(server, story)
