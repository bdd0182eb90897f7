"""What a MultiClusterService says of a Service, binding or network that is not as it should be, in virtual time."""

from tests.controllers.observing import EVENTS, events, once
from tests.controllers.plane import CLUSTERS, WORKS, on_a_plane
from tests.controllers.test_endpointslice_dispatch import MCS, ready
from tests.controllers.test_multicluster_service import (
    APPLIED,
    BINDINGS,
    ID,
    MARKER,
    SERVICES,
    SUCCEEDED,
    change,
    create_service,
    said,
    started,
    works,
)

from karmada.machinery.transport import Verb

MISSING = ("ServiceApplied", "False", "ServiceAppliedFailed", 'services "web" not found')


def test_a_service_that_is_missing_is_named_until_it_comes():
    async def test(plane):
        await started(plane, "a", service=False)
        assert await said(plane) == [MISSING]
        assert await events(plane) == {("Warning", "SyncServiceFailed", MISSING[3])}
        await create_service(plane, finalizers=["example.com/held"])
        await plane.clock.sleep(5)
        assert await said(plane) == [APPLIED]
        assert SUCCEEDED in await events(plane)
        await plane.client.resource(SERVICES).delete("web", "default")
        await plane.clock.sleep(5)
        assert await said(plane) == [MISSING], "it is going"

    on_a_plane(test)


def test_a_service_that_goes_just_before_it_is_claimed_is_missing():
    async def test(plane):
        once(plane, Verb.PATCH, SERVICES, lambda: plane.client.resource(SERVICES).delete("web", "default"))
        await started(plane, "a")
        assert await said(plane) == [MISSING]

    on_a_plane(test)


def test_nothing_is_said_of_one_that_goes_before_it_is_held():
    async def test(plane):
        once(plane, Verb.PATCH, MCS, lambda: plane.client.resource(MCS).delete("web", "default"))
        await started(plane, "a")
        assert (await works(plane), await events(plane)) == ([], set())

    on_a_plane(test)


def test_a_binding_of_an_earlier_service_is_waited_for():
    async def test(plane):
        earlier = (await create_service(plane, name="earlier"))["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "Service", "name": "earlier", "uid": earlier, "controller": True}
        resource = {"apiVersion": "v1", "kind": "Service", "name": "web", "namespace": "default"}
        metadata = {"name": "web-service", "namespace": "default", "ownerReferences": [owner]}
        await plane.client.resource(BINDINGS).create({"metadata": metadata, "spec": {"resource": resource}})
        controller = await started(plane, "a")
        [(_, status, reason, message)] = await said(plane)
        assert (status, reason) == ("False", "ServiceAppliedFailed")
        assert "belongs to a deleted resource of the same name" in message
        assert ("Warning", "SyncServiceFailed", message) in await events(plane)
        assert controller.errors > 0
        await plane.client.resource(BINDINGS).delete("web-service", "default")
        await plane.clock.sleep(600)
        assert await said(plane) == [APPLIED]

    on_a_plane(test)


def test_success_is_an_event_again_when_something_had_to_be_written_again():
    async def test(plane):
        controller = await started(plane, "a", "b", providers=["a"], consumers=["b"])
        bindings, services = plane.client.resource(BINDINGS), plane.client.resource(SERVICES)

        async def successes():
            await plane.clock.sleep(30)
            found = (await plane.client.resource(EVENTS).list()).items
            return sum(event["count"] for event in found if event["reason"] == "SyncServiceSucceed")

        assert await successes() == 1
        await ready(plane, "b", "Unknown")
        assert await successes() == 1, "nothing was written"
        await services.patch("web", {"metadata": {"labels": dict.fromkeys(ID)}}, "default")
        assert await successes() == 2, "the claim"
        await plane.client.resource(WORKS).delete(MARKER, "karmada-es-a")
        assert await successes() == 3, "the marker"
        await bindings.patch("web-service", {"spec": {"placement": None}}, "default")
        await ready(plane, "b", "True")
        assert await successes() == 4, "the binding"
        assert controller.errors == 0

    on_a_plane(test)


def test_whether_consumers_reach_providers_is_said_where_a_network_is_declared():
    async def test(plane):
        await started(plane, "a", "b", providers=["a"], consumers=["b"])
        for name in "ab":
            await change(plane, {"metadata": {"annotations": {"network.karmada.io/networks": "n"}}}, CLUSTERS, name)
        await plane.clock.sleep(5)
        text = "pods of every consumer have a route to pods of every provider"
        assert await said(plane) == [APPLIED, ("Reachable", "True", "Routed", text)]
        for name in "ab":
            await change(plane, {"metadata": {"annotations": {"network.karmada.io/networks": None}}}, CLUSTERS, name)
        await plane.clock.sleep(5)
        assert await said(plane) == [APPLIED]

    on_a_plane(test)
