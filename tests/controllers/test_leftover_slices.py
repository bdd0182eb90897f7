"""Dispatched EndpointSlices that outlived their Works are taken out of members, and nothing else is."""

import pytest
from tests.controllers.plane import CLUSTERS, NAMESPACES, WORKS, Interfering, OneMember, on_a_plane, server
from tests.controllers.test_endpointslice_dispatch import slice_of
from tests.controllers.test_execution import Through
from tests.controllers.test_slice_troubles import Away

from karmada.api.work.v1alpha1 import Work
from karmada.apiserver.server import ADMIN
from karmada.controllers.leftover_slices import GRACE, LeftoverSlices
from karmada.controllers.slice_collection import SLICES
from karmada.machinery.errors import ServerError
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, Verb
from karmada.membership.connections import connection_of

EVENTS = GroupVersionResource("", "v1", "events")
LABELS = {
    "kubernetes.io/service-name": "web",
    "endpointslice.kubernetes.io/managed-by": "endpointslice-dispatch-controller.karmada.io",
    "karmada.io/managed": "true",
    "work.karmada.io/permanent-id": "1",
}
ANNOTATIONS = {
    "endpointslice.karmada.io/provision-cluster": "m2",
    "work.karmada.io/namespace": "karmada-es-m1",
    "work.karmada.io/name": "m2-web-1",
}


def brought(name="m2-web-1", labels=None, annotations=None):
    """A slice as the execution controller wrote it for a Work of member m1; None takes a mark away."""
    marks, noted = LABELS | (labels or {}), ANNOTATIONS | (annotations or {})
    return slice_of(
        name,
        labels={key: value for key, value in marks.items() if value is not None},
        annotations={key: value for key, value in noted.items() if value is not None},
    )


def bringing(name="m2-web-1"):
    metadata = {"name": name, "namespace": "karmada-es-m1", "finalizers": ["karmada.io/execution-controller"]}
    metadata["annotations"] = {"endpointslice.karmada.io/provision-cluster": "m2"}
    return {"metadata": metadata, "spec": {"workload": {"manifests": [brought(name)]}}}


class Run:
    """A member m1, and the controller on a control plane."""

    def __init__(self, plane, members, reached=None):
        self.plane = plane
        self.slices = members.client.resource(SLICES)
        self.works = plane.client.resource(WORKS)
        self._leftovers = LeftoverSlices(plane.context, reached or members, plane.context.informers.of(Work))

    def start(self):
        self.plane.start(self._leftovers.controller)

    async def left(self):
        return [one["metadata"]["name"] for one in (await self.slices.list(Scope("default"))).items]

    def errors(self):
        return self._leftovers.controller.errors

    def no_error(self):
        assert self.errors() == 0


def with_a_member(test, ready="True"):
    async def scenario(plane):
        await plane.cluster("m1", ready=ready)
        async with server(plane.clock) as member:
            members = OneMember(member, plane.clock)
            try:
                await test(Run(plane, members))
            finally:
                await members.connection.close()

    on_a_plane(scenario)


def test_a_dispatched_slice_without_a_work_is_removed_when_its_cluster_is_ready_again():
    async def test(run):
        await run.slices.create(brought())
        run.start()
        await run.plane.clock.sleep(GRACE * 3)
        assert await run.left() == ["m2-web-1"], "nothing is done in a cluster that is not ready"
        await run.plane.condition("m1", "Ready", "True")
        await run.plane.clock.sleep(GRACE - 2)
        assert await run.left() == ["m2-web-1"], "the dispatch controller may be about to write its Work"
        await run.plane.clock.sleep(4)
        assert await run.left() == []
        said = (await run.plane.client.resource(EVENTS).list()).items
        assert [(one["reason"], one["involvedObject"]["name"]) for one in said] == [("LeftoverEndpointsRemoved", "m1")]
        run.no_error()

    with_a_member(test, ready="False")


def test_a_cluster_that_is_taken_out_and_joined_again_loses_what_was_dispatched_before():
    async def test(run):
        await run.works.create(bringing())
        await run.slices.create(brought())
        run.start()
        await run.plane.clock.sleep(GRACE * 2)
        assert await run.left() == ["m2-web-1"]
        clusters = run.plane.client.resource(CLUSTERS)
        for resource, name, space in ((run.works, "m2-web-1", "karmada-es-m1"), (clusters, "m1", "")):
            await resource.patch(name, {"metadata": {"finalizers": []}}, space)
        await clusters.delete("m1")
        await run.works.delete("m2-web-1", "karmada-es-m1")
        await run.plane.client.resource(NAMESPACES).delete("karmada-es-m1")
        await run.plane.clock.sleep(GRACE * 2)
        assert await run.left() == ["m2-web-1"], "a cluster that does not belong to the federation is left alone"
        await run.plane.cluster("m1")
        await run.plane.clock.sleep(GRACE + 2)
        assert await run.left() == []
        run.no_error()

    with_a_member(test)


def test_a_slice_whose_work_went_without_it_is_removed():
    async def test(run):
        await run.works.create(bringing())
        await run.slices.create(brought())
        run.start()
        await run.plane.clock.sleep(1)
        await run.works.patch("m2-web-1", {"metadata": {"finalizers": []}}, "karmada-es-m1")
        await run.works.delete("m2-web-1", "karmada-es-m1")
        await run.plane.clock.sleep(GRACE + 2)
        assert await run.left() == []
        run.no_error()

    with_a_member(test)


def test_a_slice_that_was_written_after_its_work_had_gone_is_removed():
    async def test(run):
        run.start()
        await run.plane.clock.sleep(GRACE)
        await run.slices.create(brought())
        await run.plane.clock.sleep(GRACE + 2)
        assert await run.left() == []

    with_a_member(test)


def test_a_slice_that_gets_its_work_in_time_stays():
    async def test(run):
        await run.slices.create(brought())
        run.start()
        await run.plane.clock.sleep(GRACE / 2)
        await run.works.create(bringing())
        await run.plane.clock.sleep(GRACE * 3)
        assert await run.left() == ["m2-web-1"]

    with_a_member(test)


def test_a_work_that_the_cache_does_not_show_counts():
    async def test(run):
        await run.slices.create(brought())
        run.start()
        await run.plane.clock.sleep(1)
        run.plane.transport.held = frozenset({WORKS})
        await run.works.create(bringing())
        await run.plane.clock.sleep(GRACE * 3)
        assert await run.left() == ["m2-web-1"]
        run.no_error()

    with_a_member(test)


def test_nothing_is_removed_while_the_server_does_not_say_whether_there_is_a_work():
    async def test(run):
        async def before(request):
            if request.resource == WORKS and request.verb is Verb.GET:
                raise ServerError("etcd is not available")

        await run.slices.create(brought())
        run.plane.transport.before = before
        run.start()
        await run.plane.clock.sleep(GRACE * 3)
        assert await run.left() == ["m2-web-1"]
        run.plane.transport.before = None
        await run.plane.clock.sleep(GRACE * 20)
        assert await run.left() == []

    with_a_member(test)


@pytest.mark.parametrize(
    "other",
    [
        brought(labels={"karmada.io/managed": None}),
        brought(labels={"karmada.io/managed": "false"}),
        brought(labels={"work.karmada.io/permanent-id": None}),
        brought(labels={"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}),
        brought(labels={"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.karmada.io"}),
        brought(annotations={"work.karmada.io/name": None}),
        brought(annotations={"work.karmada.io/namespace": "karmada-es-m3"}),
        brought(annotations={"endpointslice.karmada.io/provision-cluster": None}),
        brought(annotations={"endpointslice.karmada.io/provision-cluster": "m3"}),
    ],
)
def test_a_slice_that_lacks_a_mark_of_a_dispatch_to_this_cluster_stays(other):
    async def test(run):
        await run.slices.create(other)
        run.start()
        await run.plane.clock.sleep(GRACE * 3)
        assert await run.left() == ["m2-web-1"]
        run.no_error()

    with_a_member(test)


def test_a_slice_that_its_member_does_not_delete_is_tried_again():
    async def scenario(plane):
        async def refuse(request):
            if request.verb is Verb.DELETE and not refused:
                refused.append(request.name)
                raise ServerError("no quorum")

        refused = []
        await plane.cluster("m1")
        async with server(plane.clock) as hosting:
            members = OneMember(hosting, plane.clock)
            transport = Interfering(hosting.direct(ADMIN), plane.clock)
            transport.before = refuse
            members.connection = connection_of("m1", transport, plane.clock)
            run = Run(plane, members)
            await run.slices.create(brought())
            run.start()
            await plane.clock.sleep(GRACE + 20)
            assert (await run.left(), refused) == ([], ["m2-web-1"])
            await members.connection.close()

    on_a_plane(scenario)


def test_nobody_asks_about_slices_whose_works_are_known():
    async def test(run):
        asked = []

        async def before(request):
            if request.verb is Verb.GET and request.resource == WORKS:
                asked.append(request.name)

        run.plane.transport.before = before
        await run.works.create(bringing())
        await run.slices.create(brought())
        run.start()
        await run.plane.clock.sleep(3 * GRACE)
        await run.slices.patch("m2-web-1", {"endpoints": []}, "default")
        await run.plane.clock.sleep(3 * GRACE)
        assert (await run.left(), asked) == (["m2-web-1"], [])
        run.no_error()

    with_a_member(test)


def test_a_member_that_is_not_reached_is_tried_again():
    async def scenario(plane):
        await plane.cluster("m1")
        async with server(plane.clock) as one:
            inner = OneMember(one, plane.clock)
            away = Away(inner)
            run = Run(plane, inner, away)
            await run.slices.create(brought())
            run.start()
            await plane.clock.sleep(5)
            assert run.errors() > 0
            away.away = False
            await plane.clock.sleep(GRACE * 4)
            assert await run.left() == []
            await inner.connection.close()

    on_a_plane(scenario)


def test_a_slice_that_goes_unseen_is_not_said_to_be_removed():
    async def scenario(plane):
        await plane.cluster("m1")
        slow = []

        def wrap(transport):
            slow.append(Interfering(transport, plane.clock))
            return slow[-1]

        async with server(plane.clock) as one:
            run = Run(plane, OneMember(one, plane.clock), reached := OneMember(Through(one, wrap), plane.clock))
            await run.slices.create(brought())
            run.start()
            await plane.clock.sleep(GRACE / 2)
            for transport in slow:
                transport.held = {SLICES}
            await run.slices.delete("m2-web-1", "default")
            await plane.clock.sleep(GRACE * 2)
            for transport in slow:
                transport.held = frozenset()
            assert (await plane.client.resource(EVENTS).list()).items == []
            run.no_error()
            await reached.connection.close()

    on_a_plane(scenario)
