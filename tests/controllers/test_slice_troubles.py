"""Collecting slices when members, the control plane or earlier Works are in the way, in virtual time."""

import contextlib

from tests.controllers.observing import does, refused
from tests.controllers.plane import CLUSTERS, NAMESPACES, WORKS, Interfering, OneMember, on_a_plane, server
from tests.controllers.test_endpointslice_dispatch import slice_of
from tests.controllers.test_execution import Through
from tests.controllers.test_slice_collection import CRDS, collected, marker, named, released, with_a_member

from karmada.api.work.v1alpha1 import Work
from karmada.controllers.endpointslice_collect import EndpointSliceCollector, marker_name
from karmada.controllers.service_export import EXPORTS, ServiceExportController
from karmada.controllers.slice_collection import SLICES
from karmada.machinery.errors import Invalid, ServerError
from karmada.machinery.resource import Scope
from karmada.machinery.transport import Verb
from karmada.membership.members import MemberUnavailable

SPACE = "karmada-es-m1"


def collecting(plane, members):
    controller = EndpointSliceCollector(plane.context, members, plane.context.informers.of(Work)).controller
    plane.start(controller)
    return controller


def exporting(plane, members):
    controller = ServiceExportController(plane.context, members, plane.context.informers.of(Work)).controller
    plane.start(controller)
    return controller


def marker_of(service):
    tree = marker()
    tree["metadata"]["name"] = marker_name("default", service)
    tree["metadata"]["labels"]["multiclusterservice.karmada.io/name"] = service
    return tree


class Away:
    """Members of which the one is not reached at first."""

    def __init__(self, inner):
        self._inner = inner
        self.away = True

    async def connect(self, cluster):
        if self.away:
            raise MemberUnavailable("nobody answers")
        return await self._inner.connect(cluster)

    def __getattr__(self, name):
        return getattr(self._inner, name)


def test_a_member_that_is_not_reached_is_tried_again():
    async def test(plane, members):
        await members.client.resource(SLICES).create(named("web-1"))
        await plane.client.resource(WORKS).create(marker())
        away = Away(members)
        controller = collecting(plane, away)
        await plane.clock.sleep(5)
        assert (await collected(plane), controller.errors > 0) == ({}, True)
        away.away = False
        await plane.clock.sleep(60)
        assert set(await collected(plane)) == {"web-1"}

    with_a_member(test)


def test_collected_slices_are_never_dispatched_and_held_for_those_who_use_them():
    async def test(plane, members):
        await members.client.resource(SLICES).create(named("web-1"))
        await members.client.resource(SLICES).create(slice_of("other", labels={"kubernetes.io/service-name": "Not"}))
        await plane.client.resource(WORKS).create(marker())
        collecting(plane, members)
        await plane.clock.sleep(5)
        [work] = [one for one in (await plane.client.of(Work).list(Scope(SPACE))).items if one.metadata.finalizers]
        assert work.spec.suspend_dispatching is True
        assert work.metadata.finalizers == ("karmada.io/mcs-endpointslice-dispatch-controller",)

    with_a_member(test)


def test_a_slice_that_cannot_be_written_or_given_up_is_tried_again():
    async def test(plane, members):
        await members.client.resource(SLICES).create(named("web-1"))
        await plane.client.resource(WORKS).create(marker())
        refused(plane, ServerError("no room"), WORKS)
        controller = collecting(plane, members)
        await plane.clock.sleep(5)
        assert (await collected(plane), controller.errors > 0) == ({}, True)
        plane.transport.before = None
        await plane.clock.sleep(60)
        assert set(await collected(plane)) == {"web-1"}
        before = controller.errors
        refused(plane, ServerError("no room"), WORKS)
        await members.client.resource(SLICES).delete("web-1", "default")
        await plane.clock.sleep(5)
        assert (set(await collected(plane)), controller.errors > before) == ({"web-1"}, True)
        plane.transport.before = None
        await plane.clock.sleep(60)
        assert await collected(plane) == {}

    with_a_member(test)


def test_a_slice_that_moves_to_another_service_waits_for_the_end_of_its_earlier_work():
    async def test(plane, members):
        controller = collecting(plane, members)
        await members.client.resource(SLICES).create(named("web-1"))
        for service in ("web", "other"):
            await plane.client.resource(WORKS).create(marker_of(service))
        await plane.clock.sleep(5)
        await members.client.resource(SLICES).delete("web-1", "default")
        await plane.clock.sleep(5)
        await members.client.resource(SLICES).create(slice_of("web-1", labels={"kubernetes.io/service-name": "other"}))
        await plane.clock.sleep(5)
        assert await collected(plane) == {}
        await released(plane, "karmada.io/mcs-endpointslice-dispatch-controller")
        await plane.clock.sleep(5)
        assert await collected(plane) == {"web-1": "MultiClusterService"}
        assert controller.errors == 0

    with_a_member(test)


def test_a_slice_that_never_stops_changing_is_collected_now_and_then():
    async def test(plane, members):
        collecting(plane, members)
        slices = members.client.resource(SLICES)
        await slices.create(named("web-1"))
        await plane.client.resource(WORKS).create(marker())
        await plane.clock.sleep(5)
        writes = []

        async def before(request):
            if request.resource == WORKS and request.verb is Verb.PATCH:
                writes.append(request)

        plane.transport.before = before
        for number in range(200):
            await slices.patch("web-1", {"endpoints": [{"addresses": [f"10.0.1.{number}"]}]}, "default")
            await plane.clock.sleep(0.1)
        assert 20 <= len(writes) <= 60
        await plane.clock.sleep(30)
        works = (await plane.client.resource(WORKS).list(Scope(SPACE))).items
        [manifest] = [one["spec"]["workload"]["manifests"][0] for one in works if one["metadata"].get("finalizers")]
        assert manifest["endpoints"][0]["addresses"] == ["10.0.1.199"]

    with_a_member(test)


def test_exports_that_are_known_before_slices_wait_for_them():
    async def scenario(plane):
        await plane.cluster("m1")
        crd = await plane.client.resource(CRDS).get("serviceexports.multicluster.x-k8s.io")
        slow = []

        def wrap(transport):
            slow.append(Interfering(transport, plane.clock))
            return slow[-1]

        async with server(plane.clock) as one:
            members = OneMember(Through(one, wrap), plane.clock)
            await members.client.resource(CRDS).create(
                {**crd, "metadata": {"name": crd["metadata"]["name"]}, "status": {}}
            )
            for name in ("web", "direct"):
                await members.client.resource(EXPORTS).create({"metadata": {"name": name, "namespace": "default"}})
            await members.client.resource(SLICES).create(
                slice_of("d-1", labels={"kubernetes.io/service-name": "direct"})
            )
            for transport in slow:
                transport.held = {SLICES}
            await applied(plane)
            controller = exporting(plane, members)
            await plane.clock.sleep(30)
            assert await collected(plane) == {}
            for transport in slow:
                transport.held = frozenset()
            await plane.clock.sleep(30)
            assert await collected(plane) == {"d-1": "ServiceExport"}, "also of an export that no Work brought"
            assert controller.errors == 0
            await members.connection.close()

    on_a_plane(scenario)


async def applied(plane, name="w", **metadata):
    export = {
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ServiceExport",
        "metadata": {"name": "web", "namespace": "default"},
    }
    tree = {"metadata": {"name": name} | metadata, "spec": {"workload": {"manifests": [export]}}}
    await plane.client.resource(WORKS).create(tree, SPACE)
    condition = {"type": "Applied", "status": "True", "reason": "T", "message": ""}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    await plane.client.resource(WORKS).patch(name, {"status": {"conditions": [condition]}}, SPACE, subresource="status")


def test_what_has_services_looked_at_again():
    async def test(plane, members):
        await members.client.resource(SLICES).create(named("web-1"))
        await plane.client.resource(WORKS).create(marker())
        controller = collecting(plane, members)
        await plane.clock.sleep(5)
        slices, works = members.client.resource(SLICES), plane.client.resource(WORKS)
        blue = {"metadata": {"labels": {"color": "blue"}}}
        system = slice_of("s-1", labels={"kubernetes.io/service-name": "web"})
        system["metadata"]["namespace"] = "karmada-system"
        await members.client.resource(NAMESPACES).create({"metadata": {"name": "karmada-system"}})
        steps = {
            slices.patch("web-1", {"ports": []}, "default"): 1,
            slices.patch("web-1", {"metadata": {"labels": {"kubernetes.io/service-name": "other"}}}, "default"): 2,
            slices.create(system): 0,
            works.patch(marker_name("default", "web"), blue, SPACE): 0,
            works.create({"metadata": {"name": "user"}, "spec": {}}, SPACE): 0,
            plane.client.resource(CLUSTERS).patch("m1", blue): 0,
            plane.condition("m1", "Ready", "False"): 0,
            works.delete(marker_name("default", "web"), SPACE): 1,
            works.create(marker()): 1,
            plane.condition("m1", "Ready", "True"): 1,
        }
        found = await does(plane, controller, *steps)
        assert found == list(steps.values())

    with_a_member(test)


def test_a_slice_that_cannot_be_read_keeps_no_other_from_being_collected():
    async def scenario(plane):
        await plane.cluster("m1")

        class Broken(Interfering):
            async def send(self, request):
                answer = await super().send(request)
                if request.verb is Verb.LIST and request.resource == SLICES:
                    return answer.replace(b'"kubernetes.io/service-name":"broken"', b'"kubernetes.io/service-name":7')
                return answer

            @contextlib.asynccontextmanager
            async def watch(self, request):
                if "sendInitialEvents" in request.params:
                    raise Invalid("sendInitialEvents is forbidden for watch")
                async with super().watch(request) as stream:
                    yield stream

        async with server(plane.clock) as one:
            members = OneMember(Through(one, lambda transport: Broken(transport, plane.clock)), plane.clock)
            for name in ("broken", "web"):
                await (
                    OneMember(one, plane.clock)
                    .client.resource(SLICES)
                    .create(slice_of(f"{name}-1", labels={"kubernetes.io/service-name": name}))
                )
            await plane.client.resource(WORKS).create(marker())
            controller = collecting(plane, members)
            await plane.clock.sleep(30)
            assert set(await collected(plane)) == {"web-1"}
            assert controller.errors == 0
            await members.connection.close()

    on_a_plane(scenario)
