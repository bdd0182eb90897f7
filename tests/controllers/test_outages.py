"""What is made up for once a member is back, or is reached by another way."""

import asyncio
import contextlib

from tests.controllers.plane import CLUSTERS, CONFIG_MAPS, WORKS, OneMember, on_a_plane, server

from karmada.api.work.v1alpha1 import Work
from karmada.apiserver.server import ADMIN
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.controllers.cluster_status import ClusterStatusController, StatusOptions
from karmada.controllers.execution import ExecutionController
from karmada.controllers.status_reporter import StatusReporter
from karmada.controllers.work_status import WorkStatusController
from karmada.machinery.errors import Gone, Unavailable
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import EventType, GroupVersionResource, Verb
from karmada.membership.connections import connection_of

SPACE = "karmada-es-m1"
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")


def start(plane, members):
    works, reporter = plane.context.informers.of(Work), StatusReporter(plane.context)
    plane.start(ExecutionController(plane.context, members, works, reporter).controller)
    plane.start(WorkStatusController(plane.context, members, works, reporter).controller)


class Restorable:
    """A member's API server that may be another one from one moment to the next; also its transport."""

    def __init__(self, first):
        self.current = first.direct(ADMIN)

    def direct(self, user):
        return self

    def __getattr__(self, name):
        return getattr(self.current, name)


class Hanging:
    """A transport on which Deployments can be read one by one only: loading them never ends."""

    def __init__(self, inner):
        self._inner = inner

    @contextlib.asynccontextmanager
    async def watch(self, request):
        if request.resource == DEPLOYMENTS:
            await asyncio.Event().wait()
        async with self._inner.watch(request) as stream:
            yield stream

    async def send(self, request):
        if request.resource == DEPLOYMENTS and request.verb is Verb.LIST:
            await asyncio.Event().wait()
        return await self._inner.send(request)

    def __getattr__(self, name):
        return getattr(self._inner, name)


class Deaf:
    """A transport that never answers."""

    @contextlib.asynccontextmanager
    async def watch(self, request):
        await asyncio.Event().wait()
        yield

    async def send(self, request):
        await asyncio.Event().wait()

    async def raw(self, method, path, body=None, accept=""):
        await asyncio.Event().wait()

    async def close(self):
        pass


class Refusing(Deaf):
    """A transport behind which nobody is."""

    async def raw(self, method, path, body=None, accept=""):
        raise Unavailable("nobody is there")


class Forgetful:
    """A transport whose watches send nothing for a while, and then have to start anew. Also a server."""

    def __init__(self, server):
        self._inner = server.direct(ADMIN)
        self.forgotten = asyncio.Event()

    def direct(self, user):
        return self

    @contextlib.asynccontextmanager
    async def watch(self, request):
        async with self._inner.watch(request) as stream:
            yield (
                stream if self.forgotten.is_set() or "sendInitialEvents" not in request.params else self._until(stream)
            )

    async def _until(self, stream):
        async for batch in stream:
            yield batch
            if any(event.type is EventType.BOOKMARK for event in batch):
                break
        await self.forgotten.wait()
        raise Gone("too old resource version")

    def __getattr__(self, name):
        return getattr(self._inner, name)


class Several:
    """`Members` by name."""

    def __init__(self, connections):
        self._connections = connections

    def concerns(self, cluster):
        return True

    async def connect(self, cluster):
        return self._connections[cluster.metadata.name]


async def make_work(plane, name="web", space=SPACE):
    labels = {"karmada.io/managed": "true", "work.karmada.io/permanent-id": "mine"}
    notes = {"work.karmada.io/namespace": space, "work.karmada.io/name": name}
    notes["resourcetemplate.karmada.io/generation"] = "1"
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": labels, "annotations": notes},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": pod},
    }
    tree = {"metadata": {"name": name, "namespace": space}, "spec": {"workload": {"manifests": [manifest]}}}
    await plane.client.resource(WORKS).create(tree)
    await plane.clock.sleep(5 if name == "web" else 0)


async def followed(plane, member, work="web"):
    """A member that has its first Work."""
    members = OneMember(member, plane.clock)
    await plane.cluster("m1")
    start(plane, members)
    await make_work(plane, work)
    return members


async def many_works_for_two(plane, ways):
    """The connections to members, of which two have more to do than there are workers."""
    connections = {name: connection_of(name, way, plane.clock) for name, way in ways.items()}
    for name in connections:
        await plane.cluster(name)
    start(plane, Several(connections))
    for name in ("m2", "m3"):
        for number in range(60):
            await make_work(plane, f"web-{number}", f"karmada-es-{name}")
    return connections


async def report(members, ready):
    """The member's own controllers say how many replicas are ready."""
    await members.client.resource(DEPLOYMENTS).patch(
        "web", {"status": {"replicas": 3, "readyReplicas": ready}}, "default", subresource="status"
    )


async def go_on(plane, members):
    """What happens after the backup: more replicas are wanted and ready, and something else, many times."""
    work = await plane.client.resource(WORKS).get("web", SPACE)
    work["spec"]["workload"]["manifests"][0]["spec"]["replicas"] = 5
    await plane.client.resource(WORKS).update(work)
    for number in range(50):
        await members.client.resource(CONFIG_MAPS).create({"metadata": {"name": f"c{number}", "namespace": "default"}})
    await report(members, 3)
    await plane.clock.sleep(5)
    assert await reported(plane) == [3]


async def reported(plane):
    """How many replicas the Work says are ready."""
    work = await plane.client.resource(WORKS).get("web", SPACE)
    return [item["status"].get("readyReplicas") for item in work["status"]["manifestStatuses"]]


def test_a_suspended_work_reports_after_an_outage_what_happened_meanwhile():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = await followed(plane, one)
            await plane.client.resource(WORKS).patch("web", {"spec": {"suspendDispatching": True}}, SPACE)
            await plane.condition("m1", "Ready", "False")
            await plane.clock.sleep(5)
            await report(members, 2)
            await plane.clock.sleep(30)
            await plane.condition("m1", "Ready", "True")
            await plane.clock.sleep(5)
            assert await reported(plane) == [2]
            await members.connection.close()

    on_a_plane(scenario)


def test_a_member_that_was_away_at_the_start_is_followed_once_it_is_back():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = await followed(plane, one)
            await plane.condition("m1", "Ready", "False")
            await plane.supervisor.stop()
            await members.connection.close()
            members = OneMember(one, plane.clock)
            async with Supervisor(plane.clock) as next_life:
                plane.begin(next_life)
                start(plane, members)
                await plane.clock.sleep(5)
                await plane.condition("m1", "Ready", "True")
                await plane.clock.sleep(5)
                await report(members, 2)
                await plane.clock.sleep(5)
                assert await reported(plane) == [2]
            await members.connection.close()

    on_a_plane(scenario)


def test_a_member_that_is_reached_by_another_way_is_followed_there():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = await followed(plane, one)
            await members.connection.close()
            members.connection = OneMember(one, plane.clock).connection
            await plane.client.resource(CLUSTERS).patch("m1", {"spec": {"apiEndpoint": "https://elsewhere.example"}})
            await plane.clock.sleep(5)
            await report(members, 2)
            await members.client.resource(DEPLOYMENTS).patch("web", {"spec": {"replicas": 1}}, "default")
            await plane.clock.sleep(5)
            assert await reported(plane) == [2]
            assert (await members.client.resource(DEPLOYMENTS).get("web", "default"))["spec"]["replicas"] == 3
            await members.connection.close()

    on_a_plane(scenario)


def restored_from(backup, clock):
    storage = MemoryStorage()
    storage.start_from(backup)
    return server(clock, storage)


def test_a_member_that_was_restored_elsewhere_is_believed():
    async def scenario(plane):
        storage = MemoryStorage()
        async with server(plane.clock, storage) as one:
            members = await followed(plane, one)
            backup = storage.snapshot()
            await go_on(plane, members)
            await members.connection.close()
        async with restored_from(backup, plane.clock) as two:
            elsewhere = OneMember(two, plane.clock)
            members.connection = elsewhere.connection
            await plane.client.resource(CLUSTERS).patch("m1", {"spec": {"apiEndpoint": "https://elsewhere.example"}})
            await plane.clock.sleep(5)
            await report(elsewhere, 2)
            await plane.clock.sleep(5)
            assert await reported(plane) == [2]
            await members.connection.close()

    on_a_plane(scenario)


def test_a_member_that_was_restored_in_its_place_is_believed_and_corrected():
    async def scenario(plane):
        storage = MemoryStorage()
        async with server(plane.clock, storage) as one:
            place = Restorable(one)
            members = await followed(plane, place)
            backup = storage.snapshot()
            await go_on(plane, members)
        async with restored_from(backup, plane.clock) as two:
            place.current = two.direct(ADMIN)
            await plane.clock.sleep(800)
            await report(members, 2)
            await plane.clock.sleep(5)
            assert await reported(plane) == [2]
            assert (await members.client.resource(DEPLOYMENTS).get("web", "default"))["spec"]["replicas"] == 5
            await members.connection.close()

    on_a_plane(scenario)


def test_members_that_hang_delay_no_report_of_another():
    async def scenario(plane):
        async with server(plane.clock) as one, server(plane.clock) as two, server(plane.clock) as three:
            ways = {"m1": one.direct(ADMIN), "m2": Hanging(two.direct(ADMIN)), "m3": Hanging(three.direct(ADMIN))}
            connections = await many_works_for_two(plane, ways)
            await plane.clock.sleep(1)
            await make_work(plane)
            await report(connections["m1"], 2)
            await plane.clock.sleep(5)
            assert await reported(plane) == [2]
            for connection in connections.values():
                await connection.close()

    on_a_plane(scenario)


def test_an_object_that_came_and_went_unseen_comes_back():
    async def scenario(plane):
        async with server(plane.clock) as one:
            member = Forgetful(one)
            members = await followed(plane, member, "first")
            await plane.clock.sleep(5)
            await make_work(plane)
            await members.client.resource(DEPLOYMENTS).delete("web", "default")
            await plane.clock.sleep(5)
            member.forgotten.set()
            await plane.clock.sleep(30)
            assert await members.client.resource(DEPLOYMENTS).get("web", "default")
            await members.connection.close()

    on_a_plane(scenario)


def test_members_that_never_answer_delay_no_work_of_another():
    async def scenario(plane):
        async with server(plane.clock) as one:
            ways = {"m1": one.direct(ADMIN), "m2": Deaf(), "m3": Deaf()}
            connections = await many_works_for_two(plane, ways)
            await plane.clock.sleep(0.1)
            await make_work(plane, "other")
            await plane.clock.sleep(2)
            assert await connections["m1"].client.resource(DEPLOYMENTS).get("other", "default")
            for connection in connections.values():
                await connection.close()

    on_a_plane(scenario)


def test_members_that_never_answer_delay_no_look_at_another():
    async def scenario(plane):
        async with server(plane.clock) as one:
            place = Restorable(one)
            ways = {"m1": place} | {f"silent-{number}": Deaf() for number in range(80)}
            connections = {name: connection_of(name, way, plane.clock) for name, way in ways.items()}
            for name in connections:
                await plane.cluster(name)
            options = StatusOptions(success_threshold=0.0, failure_threshold=0.0, probe_timeout=60.0)
            plane.start(ClusterStatusController(plane.context, Several(connections), options).controller)
            await plane.clock.sleep(70)
            assert (await plane.conditions("m1"))["Ready"] == "True"
            place.current = Refusing()
            await plane.clock.sleep(15)
            assert (await plane.conditions("m1"))["Ready"] == "False"
            for connection in connections.values():
                await connection.close()

    on_a_plane(scenario)
