"""Whose turn an eviction is, what takes it out of the queue, and what is tried again, in virtual time."""

import asyncio
import contextlib
from itertools import pairwise

import orjson
import pytest
from tests.controllers.observing import does, events, refused
from tests.controllers.plane import CLUSTERS, on_a_plane
from tests.controllers.test_failover import BINDINGS, TAINT, bind, clusters_of, evicting, taint, tasks_of
from tests.controllers.test_outages import Forgetful

from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.bindings import BindingKey
from karmada.controllers.taint_manager import PAUSED, EvictionKey, EvictionPace, TaintManager, TaintManagerOptions
from karmada.machinery.controller import MANY
from karmada.machinery.errors import ServerError
from karmada.machinery.informers.cache import STEP
from karmada.machinery.transport import GroupVersionResource
from karmada.testing.loop import VirtualClock, run_virtual

WIDE = GroupVersionResource("work.karmada.io", "v1alpha2", "clusterresourcebindings")
PLACEMENT = "policy.karmada.io/applied-placement"
FOREVER = orjson.dumps({"clusterTolerations": [{"operator": "Exists"}]}).decode()
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "role", "uid": "u"}
ONE, TWO, THREE = (EvictionKey("m1", BindingKey("default", name)) for name in ("one", "two", "three"))


def paced(rate, test):
    async def scenario():
        clock = VirtualClock()
        await test(EvictionPace(rate, clock), clock)

    run_virtual(scenario)


def test_evictions_take_turns_and_keep_them():
    async def test(pace, clock):
        await clock.sleep(100)
        assert [pace.wait(key) for key in (ONE, TWO, THREE, TWO)] == [0.0, 2.0, 4.0, 2.0]
        assert pace.waiting == (TWO, THREE)
        await clock.sleep(2)
        assert pace.wait(TWO) == 0.0
        assert pace.waiting == (THREE,)
        pace.forget(THREE)
        pace.forget(THREE)
        assert pace.waiting == ()
        await clock.sleep(60)
        assert [pace.wait(key) for key in (TWO, ONE)] == [0.0, 2.0]

    paced(0.5, test)


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_without_a_rate_nobody_has_a_turn(rate):
    async def test(pace, clock):
        assert (pace.wait(ONE), pace.waiting) == (PAUSED, ())

    paced(rate, test)


def test_nothing_is_evicted_for_taints_unless_it_is_asked_for():
    options = TaintManagerOptions()
    assert (options.enabled, options.purge_mode, options.rate) == (False, "Gracefully", 0.5)


def waiting(plane):
    return [eviction.cluster for eviction in plane.context.metrics.waiting_evictions()]


async def tolerate(plane, placement):
    await plane.client.resource(BINDINGS).patch("web", {"metadata": {"annotations": {PLACEMENT: placement}}}, "default")


async def leave(plane, how):
    """Take away the reason to evict the second binding."""
    bindings, clusters = plane.client.resource(BINDINGS), plane.client.resource(CLUSTERS)
    match how:
        case "deleted":
            await bindings.patch("web", {"metadata": {"finalizers": ["example.com/held"]}}, "default")
            await bindings.delete("web", "default")
        case "untainted":
            await taint(plane, "m1")
        case "moved":
            await bindings.patch("web", {"spec": {"clusters": [{"name": "m2", "replicas": 4}]}}, "default")
        case "tolerated":
            await tolerate(plane, FOREVER)
        case "cluster gone":
            await clusters.patch("m1", {"metadata": {"finalizers": []}})
            await clusters.delete("m1")


@pytest.mark.parametrize("how", ["deleted", "untainted", "moved", "tolerated", "cluster gone"])
def test_an_eviction_without_a_reason_any_more_gives_up_its_turn(how):
    async def test(plane):
        controller = await evicting(plane, rate=0.1)
        await taint(plane, "m1", TAINT)
        await bind(plane, "first")
        await plane.clock.sleep(1)
        await bind(plane)
        await plane.clock.sleep(1)
        assert (await clusters_of(plane, "first"), waiting(plane)) == (["m2"], ["m1"])
        await leave(plane, how)
        await plane.clock.sleep(30)
        assert (waiting(plane), await tasks_of(plane)) == ([], [])
        assert plane.context.metrics.evicted == {("binding-eviction", "success"): 1}, "the first"
        assert controller.errors == 0

    on_a_plane(test)


def test_bindings_of_both_scopes_have_turns_of_their_own():
    async def test(plane):
        await evicting(plane, rate=0.01)
        await taint(plane, "m1", TAINT)
        metadata = {"name": "role", "annotations": {PLACEMENT: "{}"}}
        spec = {"resource": ROLE, "clusters": [{"name": "m1"}]}
        await bind(plane)
        await plane.client.resource(WIDE).create({"metadata": metadata, "spec": spec})
        await plane.clock.sleep(5)
        found = await plane.client.resource(WIDE).get("role")
        assert [task["fromCluster"] for task in found["spec"]["gracefulEvictionTasks"]] == ["m1"]
        assert await clusters_of(plane) == ["m2"]

    on_a_plane(test)


@pytest.mark.parametrize("placement", [None, "", "{", '{"clusterTolerations": 7}'])
def test_an_applied_placement_that_is_not_known_is_waited_for(placement):
    async def test(plane):
        controller = await evicting(plane)
        await bind(plane)
        await tolerate(plane, placement)
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(5)
        assert (await clusters_of(plane), controller.errors > 0) == (["m1", "m2"], True)
        await tolerate(plane, "{}")
        await plane.clock.sleep(60)
        assert await clusters_of(plane) == ["m2"]

    on_a_plane(test)


def test_a_toleration_that_the_cache_does_not_show_yet_counts():
    async def test(plane):
        await evicting(plane)
        await bind(plane)
        await plane.clock.sleep(1)
        plane.transport.held = frozenset({BINDINGS})
        await tolerate(plane, '{"clusterTolerations": [{"operator": "Exists"}]}')
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(5)
        assert await clusters_of(plane) == ["m1", "m2"]
        plane.transport.held = frozenset()
        await plane.clock.sleep(60)
        assert await clusters_of(plane) == ["m1", "m2"]

    on_a_plane(test)


@pytest.mark.parametrize("becomes", ["untainted", "gone"])
def test_a_taint_that_only_the_cache_shows_evicts_nothing(becomes):
    async def test(plane):
        await evicting(plane)
        await bind(plane, tolerations=[{"operator": "Exists", "tolerationSeconds": 30}])
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(10)
        plane.transport.held = frozenset({CLUSTERS})
        if becomes == "gone":
            await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"finalizers": []}})
            await plane.client.resource(CLUSTERS).delete("m1")
        else:
            await taint(plane, "m1")
        await plane.clock.sleep(60)
        assert await clusters_of(plane) == ["m1", "m2"]

    on_a_plane(test)


def test_a_toleration_lasts_to_its_end():
    async def test(plane):
        await evicting(plane)
        await bind(plane, tolerations=[{"operator": "Exists", "tolerationSeconds": 1}])
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(0.5)
        assert await clusters_of(plane) == ["m1", "m2"]
        await plane.clock.sleep(2)
        assert await clusters_of(plane) == ["m2"]

    on_a_plane(test)


def test_an_eviction_that_cannot_be_written_is_named_counted_and_tried_again():
    async def test(plane):
        controller = await evicting(plane)
        await bind(plane)
        refused(plane, ServerError("no room"), BINDINGS)
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(5)
        assert ("Warning", "EvictWorkloadFromClusterFailed", "Evict from cluster m1 failed.") in await events(plane)
        counted = plane.context.metrics.evicted
        assert (controller.errors > 0, counted["binding-eviction", "error"] > 0) == (True, True)
        assert counted["binding-eviction", "success"] == 0
        plane.transport.before = None
        await plane.clock.sleep(60)
        assert (await clusters_of(plane), counted["binding-eviction", "success"]) == (["m2"], 1)

    on_a_plane(test)


def test_what_has_evictions_looked_at():
    async def test(plane):
        controller = await evicting(plane)
        await bind(plane, tolerations=[{"operator": "Exists"}])
        clusters, bindings = plane.client.resource(CLUSTERS), plane.client.resource(BINDINGS)
        blue = {"metadata": {"labels": {"color": "blue"}}}
        status = {"status": {"schedulerObservedGeneration": 1}}
        other = [{"name": name, "replicas": 1} for name in ("m1", "m2", "m3")]
        steps = {
            taint(plane, "m1", {**TAINT, "effect": "NoSchedule"}): 0,
            taint(plane, "m1", TAINT): 1,
            clusters.patch("m1", blue): 0,
            taint(plane, "m1", TAINT, {**TAINT, "key": "more"}): 1,
            bindings.patch("web", status, "default", subresource="status"): 0,
            bindings.patch("web", {"spec": {"clusters": other}}, "default"): 1,
            tolerate(plane, '{"clusterTolerations": [{"operator": "Exists", "key": ""}]}'): 1,
            bind(plane, "elsewhere", clusters=["m2"]): 0,
            taint(plane, "m1"): 0,
            bindings.delete("web", "default"): 0,
            clusters.patch("m2", {"metadata": {"finalizers": []}}): 0,
            clusters.delete("m2"): 0,
        }
        assert await does(plane, controller, *steps) == list(steps.values())

    on_a_plane(test)


async def loading_at_once(plane):
    """A controller that loads clusters between the first and the last of very many bindings."""
    for name in ("m1", "m2"):
        await plane.cluster(name)
    await taint(plane, "m1", TAINT)
    for number in range(STEP + 1):
        await bind(plane, f"b{number}")
    first = asyncio.Event()
    watch = plane.transport.watch

    @contextlib.asynccontextmanager
    async def late(request):
        if request.resource == CLUSTERS:
            await first.wait()
        async with watch(request) as stream:
            yield stream

    plane.transport.watch = late
    manager = TaintManager(plane.context, TaintManagerOptions(enabled=True, rate=1e9))
    plane.context.informers.of(ResourceBinding).add_handler(lambda changes: first.set())
    plane.start(manager.controller)
    return manager.controller


def test_bindings_are_evicted_whichever_of_them_were_loaded_when_the_clusters_were():
    async def test(plane):
        await loading_at_once(plane)
        await plane.clock.sleep(60)
        left = (await plane.client.resource(BINDINGS).list()).items
        assert [one["metadata"]["name"] for one in left if len(one["spec"]["clusters"]) > 1] == []

    on_a_plane(test)


def test_bindings_of_tainted_clusters_are_enqueued_with_turns_for_others_in_between():
    async def test(plane):
        controller = await loading_at_once(plane)
        added = [0]
        while added[-1] < STEP:
            await asyncio.sleep(0)
            added.append(controller.queue.adds)
        assert max(after - before for before, after in pairwise(added)) < 2 * MANY

    on_a_plane(test)


def test_bindings_of_a_cluster_that_gets_a_taint_are_enqueued_with_turns_for_others_in_between():
    async def test(plane):
        controller = await evicting(plane)
        many = 2 * MANY + 1
        for number in range(many):
            await bind(plane, f"b{number}")
        await plane.clock.sleep(1)
        before = controller.queue.adds
        await taint(plane, "m1", TAINT)
        added = [before]
        while added[-1] < before + many:
            await asyncio.sleep(0)
            added.append(controller.queue.adds)
        assert max(after - before for before, after in pairwise(added)) < 2 * MANY

    on_a_plane(test)


def test_bindings_that_are_loaded_again_are_not_looked_at_again():
    async def test(plane):
        for name in ("m1", "m2"):
            await plane.cluster(name)
        await taint(plane, "m1", TAINT)
        await bind(plane, tolerations=[{"operator": "Exists"}])
        server = Forgetful(plane.hub)
        plane.transport.watch = server.watch
        controller = TaintManager(plane.context, TaintManagerOptions(enabled=True)).controller
        plane.start(controller)
        await plane.clock.sleep(5)
        before = controller.queue.adds
        assert before
        server.forgotten.set()
        await plane.clock.sleep(60)
        assert plane.context.informers.of(ResourceBinding).reflector.loads == 2
        assert controller.queue.adds == before

    on_a_plane(test)
