"""What MultiClusterServices held is let go of where their gate is off by now."""

import pytest
from tests.controllers.plane import CLUSTERS, WORKS, OneMember, on_a_plane, server
from tests.controllers.test_endpointslice_dispatch import MCS, brought, collected, gate, service_of, slice_of
from tests.controllers.test_multicluster_service import MARKER, SERVICES, started, works

from karmada.api import finalizers, names
from karmada.controllers.manager import ControllerManager
from karmada.controllers.selection import Selection
from karmada.controllers.ungated import once_needed
from karmada.machinery.controller import Controller
from karmada.machinery.errors import NotFound, Unavailable
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import Verb

SLICE = names.work_name("EndpointSlice", "web-1", "default")
RUNNING = Selection(("multiclusterservice", "endpointsliceDispatch", "endpointsliceCollect"))


async def exposed_before(plane, supervisor, members):
    """The endpoints of a in b, where the gate was on and is off."""
    await started(plane, "a", "b", providers=("a",), consumers=("b",))
    gate(plane)
    manager = ControllerManager(plane.context, members, Selection(("endpointsliceDispatch",)))
    manager.start(plane.supervisor)
    await plane.client.resource(WORKS).create(collected("a", slice_of("web-1")))
    await plane.clock.sleep(5)
    assert await brought(plane, "b") == {"a-web-1": ["10.0.0.1"]}
    await plane.supervisor.stop()
    plane.begin(supervisor)
    gate(plane, on=False)
    ControllerManager(plane.context, members, RUNNING).start(supervisor)
    await plane.clock.sleep(5)


def without_its_gate(test):
    """Run a test on a control plane that has exposed a Service, and has restarted with the gate off."""

    async def scenario(plane):
        async with Supervisor(plane.clock) as supervisor, server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await exposed_before(plane, supervisor, members)
            await test(plane)
            await members.connection.close()

    on_a_plane(scenario)


def test_what_was_exposed_stays_and_nothing_more_is_exposed():
    async def test(plane):
        await plane.client.resource(MCS).patch("web", {"spec": {"consumerClusters": []}}, "default")
        await plane.cluster("c")
        await plane.client.resource(WORKS).create(collected("a", slice_of("web-2")))
        await plane.clock.sleep(5)
        assert await brought(plane, "b") == {"a-web-1": ["10.0.0.1"]}
        assert await brought(plane, "c") == {}

    without_its_gate(test)


def test_a_service_that_goes_takes_back_what_was_exposed():
    async def test(plane):
        await plane.client.resource(MCS).delete("web", "default")
        await plane.clock.sleep(5)
        with pytest.raises(NotFound):
            await plane.client.resource(MCS).get("web", "default")
        assert "labels" not in (await plane.client.resource(SERVICES).get("web", "default"))["metadata"]
        # What is left in the consumer waits for its member, by the execution controller's finalizer.
        [left] = (await plane.client.resource(WORKS).list()).items
        assert left["metadata"]["namespace"] == "karmada-es-b"
        assert left["metadata"]["deletionTimestamp"]

    without_its_gate(test)


def test_a_cluster_that_leaves_is_not_held_by_its_endpoints():
    async def test(plane):
        await plane.client.resource(CLUSTERS).delete("a")
        for name in (MARKER, SLICE):
            await plane.client.resource(WORKS).delete(name, "karmada-es-a")
        await plane.clock.sleep(5)
        assert [cluster for cluster, _ in await works(plane) if cluster == "a"] == []

    without_its_gate(test)


def begun(plane):
    """The names of controllers that a part without its gate has begun, so far none."""
    names_of = []

    class Begun(Controller):
        async def run(self):
            names_of.append(self.name)
            await plane.clock.sleep(10**6)

    plane.supervisor.start("part", once_needed(plane.context, lambda: Begun("part", None)))
    return names_of


def test_where_no_service_was_exposed_the_controllers_do_not_begin():
    async def test(plane):
        await plane.client.resource(MCS).create(service_of(consumers=("c",)))
        await plane.cluster("a")
        exporting = collected("a", slice_of("web-1"), use="ServiceExport")
        await plane.client.resource(WORKS).create(exporting)
        found = begun(plane)
        await plane.clock.sleep(60)
        assert found == []
        held = {"metadata": {"finalizers": [finalizers.MULTI_CLUSTER_SERVICE]}}
        await plane.client.resource(MCS).patch("web", held, "default")
        await plane.clock.sleep(1)
        assert found == ["part"]

    on_a_plane(test)


def test_a_work_that_is_left_of_a_service_suffices():
    async def test(plane):
        await plane.cluster("a")
        await plane.client.resource(WORKS).create(collected("a", slice_of("web-1")))
        found = begun(plane)
        await plane.clock.sleep(1)
        assert found == ["part"]

    on_a_plane(test)


def test_a_work_that_is_left_of_a_service_is_found_by_a_server_that_was_busy_first():
    async def test(plane):
        await plane.cluster("a")
        await plane.client.resource(WORKS).create(collected("a", slice_of("web-1")))

        async def busy(request):
            if request.resource == WORKS and request.verb is Verb.LIST:
                raise Unavailable("busy")

        plane.transport.before = busy
        found = begun(plane)
        await plane.clock.sleep(60)
        assert found == []
        plane.transport.before = None
        await plane.clock.sleep(300)
        assert found == ["part"]

    on_a_plane(test)
