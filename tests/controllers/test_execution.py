"""What the execution controller does in a member, and what it keeps of one that left."""

import gc
import weakref

import orjson
import pytest
from tests.controllers.plane import CLUSTERS, CONFIG_MAPS, WORKS, OneMember, on_a_plane, server

from karmada.api.work.v1alpha1 import Work
from karmada.controllers.execution import ExecutionController
from karmada.controllers.status_reporter import StatusReporter
from karmada.controllers.work_status import WorkStatusController
from karmada.machinery.transport import GroupVersionResource, Verb

SPACE = "karmada-es-m1"
SERVICES = GroupVersionResource("", "v1", "services")
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}}
PORTS = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 31456}], "selector": {"a": "b"}}
OVERWRITING = {"work.karmada.io/conflict-resolution": "overwrite"}
OTHERS = {"labels": {"karmada.io/managed": "true", "work.karmada.io/permanent-id": "another"}}


def start(plane, members):
    works, reporter = plane.context.informers.of(Work), StatusReporter(plane.context)
    plane.start(ExecutionController(plane.context, members, works, reporter).controller)
    status = WorkStatusController(plane.context, members, works, reporter).controller
    plane.start(status)
    return status


async def work(plane, preserve, name="settings", manifest=CONFIG, **annotations):
    labels = {"karmada.io/managed": "true", "work.karmada.io/permanent-id": "mine"}
    marks = {"work.karmada.io/namespace": SPACE, "work.karmada.io/name": name}
    metadata = {"name": name, "namespace": "default", "labels": labels, "annotations": {**marks, **annotations}}
    spec = {"workload": {"manifests": [{**manifest, "metadata": metadata}]}, "preserveResourcesOnDeletion": preserve}
    tree = {"metadata": {"name": name, "namespace": SPACE, "labels": labels}, "spec": spec}
    await plane.client.resource(WORKS).create(tree)
    await plane.clock.sleep(5)


@pytest.mark.parametrize("preserve", [False, True], ids=["delete", "preserve"])
def test_an_object_that_another_work_took_over_is_left_to_it(preserve):
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1")
            start(plane, members)
            await work(plane, preserve)
            await plane.condition("m1", "Ready", "False")
            await members.client.resource(CONFIG_MAPS).patch("settings", {"metadata": OTHERS}, "default")
            await plane.client.resource(WORKS).delete("settings", SPACE)
            await plane.condition("m1", "Ready", "True")
            await plane.clock.sleep(30)
            assert (await plane.client.resource(WORKS).list()).items == []
            kept = await members.client.resource(CONFIG_MAPS).get("settings", "default")
            assert kept["metadata"]["labels"] == OTHERS["labels"]
            await members.connection.close()

    on_a_plane(scenario)


def test_a_service_that_is_there_is_taken_over_with_the_ports_that_it_holds():
    """A server looks at ports before it looks at names: what it refuses then is the Service's own."""

    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1")
            start(plane, members)
            body = {"metadata": {"name": "web", "namespace": "default"}, "spec": PORTS}
            await members.client.resource(SERVICES).create(body)
            await work(plane, False, "web", {"apiVersion": "v1", "kind": "Service", "spec": PORTS}, **OVERWRITING)
            made = await members.client.resource(SERVICES).get("web", "default")
            assert made["metadata"]["labels"]["work.karmada.io/permanent-id"] == "mine"
            assert made["spec"]["ports"][0]["nodePort"] == 31456
            await members.connection.close()

    on_a_plane(scenario)


def test_ports_of_another_service_stay_refused():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1")
            start(plane, members)
            body = {"metadata": {"name": "other", "namespace": "default"}, "spec": PORTS}
            await members.client.resource(SERVICES).create(body)
            await work(plane, False, "web", {"apiVersion": "v1", "kind": "Service", "spec": PORTS}, **OVERWRITING)
            found = await plane.client.resource(WORKS).get("web", SPACE)
            [applied] = [one for one in found["status"]["conditions"] if one["type"] == "Applied"]
            assert "provided port is already allocated" in applied["message"]
            await members.connection.close()

    on_a_plane(scenario)


@pytest.mark.parametrize("delay", [0, 1], ids=["reported at once", "reported a second later"])
def test_a_new_object_is_looked_at_once_when_its_work_says_that_it_is_there(delay):
    async def scenario(plane):
        async def late(request):
            if request.verb is Verb.PATCH and request.subresource == "status":
                await plane.clock.sleep(delay)

        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1")
            status = start(plane, members)
            await work(plane, preserve=False)
            plane.transport.before = late
            before = status.queue.adds
            await work(plane, preserve=False, name="more")
            assert status.queue.adds == before + 1
            await members.connection.close()

    on_a_plane(scenario)


class Unsure:
    """A transport on which discovery does not know about a version of a group."""

    def __init__(self, inner, version="v1"):
        self._inner = inner
        self._version = version

    async def raw(self, method, path, body=None, accept=""):
        answer = orjson.loads(await self._inner.raw(method, path, body, accept))
        if path == "/apis":
            version = {"version": self._version, "freshness": "Stale"}
            answer["items"].append({"metadata": {"name": "nowhere.example"}, "versions": [version]})
        return orjson.dumps(answer)

    def __getattr__(self, name):
        return getattr(self._inner, name)


class Through:
    """A server whose transports are wrapped."""

    def __init__(self, inner, wrap):
        self._inner = inner
        self._wrap = wrap

    def direct(self, user):
        return self._wrap(self._inner.direct(user))


@pytest.mark.parametrize(
    ("wrap", "left"),
    [(lambda t: t, 0), (Unsure, 1), (lambda t: Unsure(t, "v2"), 1)],
    ids=["not served", "no answer", "no answer about another version"],
)
def test_a_work_goes_when_its_member_serves_no_such_kind_any_more(wrap, left):
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(Through(one, wrap), plane.clock)
            await plane.cluster("m1")
            start(plane, members)
            manifest = {"apiVersion": "nowhere.example/v1", "kind": "Thing", "metadata": {"name": "t"}}
            tree = {"metadata": {"name": "t", "namespace": SPACE}, "spec": {"workload": {"manifests": [manifest]}}}
            await plane.client.resource(WORKS).create(tree)
            await plane.clock.sleep(5)
            await plane.client.resource(WORKS).delete("t", SPACE)
            await plane.clock.sleep(60)
            assert len((await plane.client.resource(WORKS).list()).items) == left
            await members.connection.close()

    on_a_plane(scenario)


@pytest.mark.parametrize(("held", "left"), [(False, 0), (True, 1)], ids=["gone", "not in the cache yet"])
def test_a_work_that_outlived_its_cluster_can_be_deleted(held, left):
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m0")
            start(plane, members)
            await plane.clock.sleep(5)
            plane.transport.held = {CLUSTERS} if held else frozenset()
            await plane.cluster("m1")
            await work(plane, preserve=False)
            await plane.client.resource(WORKS).patch(
                "settings", {"metadata": {"finalizers": ["karmada.io/execution-controller"]}}, SPACE
            )
            if not held:
                await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"finalizers": None}})
                await plane.client.resource(CLUSTERS).delete("m1")
            await plane.client.resource(WORKS).delete("settings", SPACE)
            await plane.clock.sleep(60)
            assert len((await plane.client.resource(WORKS).list()).items) == left
            await members.connection.close()

    on_a_plane(scenario)


def test_nothing_of_a_cluster_that_left_is_kept():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1")
            start(plane, members)
            await work(plane, preserve=False)
            informer = weakref.ref(members.connection.managed(CONFIG_MAPS))
            assert informer() is not None
            await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"finalizers": None}})
            await plane.client.resource(CLUSTERS).delete("m1")
            await plane.clock.sleep(5)
            await members.connection.close()
            members.connection = None
            await plane.clock.sleep(5)
            gc.collect()
            assert informer() is None

    on_a_plane(scenario)
