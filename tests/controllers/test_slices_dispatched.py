"""Slices of a MultiClusterService at its consumers: what is said about them, and what is looked at when."""

import pytest
from tests.controllers.plane import CLUSTERS, WORKS, on_a_plane
from tests.controllers.test_endpointslice_dispatch import (
    MCS,
    TOLERANCE,
    brought,
    collected,
    prepared,
    ready,
    slice_of,
)

from karmada.api.work.v1alpha1 import Work
from karmada.machinery.errors import Invalid, Unavailable
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, Verb

EVENTS = GroupVersionResource("", "v1", "events")
SUCCESS = "EndpointSlice are dispatched successfully"
FINALIZER = "karmada.io/mcs-endpointslice-dispatch-controller"


def dispatching(test, *clusters, **chosen):
    """Run a test with a slice that was collected from cluster a."""

    async def scenario(plane):
        dispatcher = await prepared(plane, "a", *(clusters or ("b",)), **chosen)
        work = collected("a", slice_of("web-1"))
        await plane.client.resource(WORKS).create(work)
        await plane.clock.sleep(2)
        await test(plane, dispatcher.controller, work["metadata"]["name"])

    on_a_plane(scenario)


async def said(plane):
    """Events about the MultiClusterService: type, reason, message, and how often."""
    found = (await plane.client.resource(EVENTS).list(Scope("default"))).items
    return {(event["type"], event["reason"], event["message"]): event.get("count", 1) for event in found}


async def condition(plane):
    [found] = (await plane.client.resource(MCS).get("web", "default"))["status"]["conditions"]
    return found["type"], found["status"], found["reason"], found["message"]


async def edit(plane, name, patch):
    await plane.client.resource(WORKS).patch(name, patch, "karmada-es-a")
    await plane.clock.sleep(2)


async def leaving(plane, cluster):
    """How many Works of a cluster are being deleted."""
    found = (await plane.client.of(Work).list(Scope(f"karmada-es-{cluster}"))).items
    return sum(work.metadata.deletion_timestamp is not None for work in found)


def test_success_is_said_when_something_was_brought():
    async def scenario(plane, controller, name):
        good = ("Normal", "DispatchEndpointSliceSucceed", SUCCESS)
        assert await said(plane) == {good: 1}
        assert await condition(plane) == ("EndpointSliceDispatched", "True", "EndpointSliceDispatchedSucceed", SUCCESS)
        manifest = slice_of("web-1", "10.0.0.2")
        await edit(plane, name, {"spec": {"workload": {"manifests": [manifest]}}})
        assert await said(plane) == {good: 2}
        await edit(plane, name, {"metadata": {"annotations": {"note": "x"}}})
        assert await said(plane) == {good: 2}, "nothing was to be brought"
        [work] = (await plane.client.resource(WORKS).list(Scope("karmada-es-b"))).items
        assert work["metadata"]["labels"]["multiclusterservice.karmada.io/name"] == "web"
        assert work["metadata"]["annotations"]["endpointslice.karmada.io/provision-cluster"] == "a"

    dispatching(scenario)


def test_endpoints_are_said_to_be_withdrawn_when_they_are():
    async def scenario(plane, controller, name):
        patch = {"status": {"remedyActions": ["TrafficControl"]}}
        await plane.client.resource(CLUSTERS).patch("a", patch, subresource="status")
        await plane.clock.sleep(2)
        assert await leaving(plane, "b") == 1
        text = "Endpoints of cluster a are withdrawn: a Remedy asks for TrafficControl"
        withdrawn = ("Warning", "EndpointsWithdrawn", text)
        assert withdrawn in await said(plane)
        [work] = (await plane.client.of(Work).list(Scope("karmada-es-b"))).items
        gone = {"metadata": {"finalizers": []}}
        await plane.client.resource(WORKS).patch(work.metadata.name, gone, work.metadata.namespace)
        await plane.clock.sleep(2)
        before = (await said(plane))[withdrawn]
        await edit(plane, name, {"metadata": {"annotations": {"note": "x"}}})
        assert (await said(plane))[withdrawn] == before
        assert (await said(plane))["Normal", "DispatchEndpointSliceSucceed", SUCCESS] == 1

    dispatching(scenario)


def test_a_consumer_that_refuses_is_named_until_it_takes_the_slice():
    async def scenario(plane, controller, name):
        async def refuse(request):
            if request.verb is Verb.PATCH and request.resource == WORKS and request.namespace == "karmada-es-b":
                raise Invalid("not like this")

        plane.transport.before = refuse
        await edit(plane, name, {"spec": {"workload": {"manifests": [slice_of("web-1", "10.0.0.2")]}}})
        failed = ("EndpointSliceDispatched", "False", "EndpointSliceDispatchedFailed", "not like this")
        assert await condition(plane) == failed
        assert ("Warning", "DispatchEndpointSliceFailed", "not like this") in await said(plane)
        assert await brought(plane, "c") == {"a-web-1": ["10.0.0.2"]}, "others are not held up"
        other = collected("a", slice_of("web-2", "10.0.0.3"))
        await plane.client.resource(WORKS).create(other)
        await plane.clock.sleep(1)
        assert await condition(plane) == failed, "a slice that succeeds hides none that fails"
        plane.transport.before = None
        await plane.clock.sleep(120)
        assert (await condition(plane))[1] == "True"
        assert await brought(plane, "b") == {"a-web-1": ["10.0.0.2"], "a-web-2": ["10.0.0.3"]}

    dispatching(scenario, "b", "c")


def test_a_failure_of_a_slice_that_is_gone_is_forgotten():
    async def scenario(plane, controller, name):
        async def refuse(request):
            if request.verb is Verb.PATCH and request.resource == WORKS and request.namespace == "karmada-es-b":
                raise Invalid("not like this")

        plane.transport.before = refuse
        await edit(plane, name, {"spec": {"workload": {"manifests": [slice_of("web-1", "10.0.0.2")]}}})
        assert (await condition(plane))[1] == "False"
        await plane.client.resource(WORKS).delete(name, "karmada-es-a")
        await plane.clock.sleep(2)
        assert (await condition(plane))[1] == "True"

    dispatching(scenario)


def test_a_failure_of_a_slice_that_is_gone_is_forgotten_though_that_can_be_written_only_later():
    async def scenario(plane, controller, name):
        refused = []

        async def refuse(request):
            if request.verb is Verb.PATCH and request.resource == WORKS and request.namespace == "karmada-es-b":
                raise Invalid("not like this")
            if request.subresource == "status" and request.resource == MCS and reporting_fails and not refused:
                refused.append(request)
                raise Unavailable("not now")

        reporting_fails = False
        plane.transport.before = refuse
        await edit(plane, name, {"spec": {"workload": {"manifests": [slice_of("web-1", "10.0.0.2")]}}})
        assert (await condition(plane))[1] == "False"
        reporting_fails = True
        await plane.client.resource(WORKS).delete(name, "karmada-es-a")
        await plane.clock.sleep(60)
        assert refused
        assert (await condition(plane))[1] == "True"

    dispatching(scenario)


def test_a_failure_of_a_cluster_that_is_no_provider_any_more_is_forgotten():
    async def scenario(plane, controller, name):
        works = plane.client.resource(WORKS)
        await works.create(collected("a-b", slice_of("x", "10.2.0.1", generateName="")))
        await plane.clock.sleep(1)
        await works.create(collected("a", slice_of("b-x", "6.6.6.6", generateName="")))
        await plane.clock.sleep(5)
        assert (await condition(plane))[1] == "False"
        patch = {"spec": {"providerClusters": [{"name": "a-b"}]}}
        await plane.client.resource(MCS).patch("web", patch, "default")
        await plane.clock.sleep(5)
        assert (await condition(plane))[1] == "True"
        assert await leaving(plane, "c") == 1

    dispatching(scenario, "a-b", "c", consumers=["c"])


def test_consumers_that_cannot_take_slices_are_named():
    async def scenario(plane, controller, name):
        text = "Consumer cluster nowhere is not found"
        assert {message for _, _, message in await said(plane)} == {text, SUCCESS}
        assert await brought(plane, "b") == {"a-web-1": ["10.0.0.1"]}

    dispatching(scenario, consumers=["b", "nowhere"])


@pytest.mark.parametrize("how", ["deleted", "unmarked", "no service any more", "no consumer any more"])
def test_a_slice_is_taken_from_consumers_that_should_not_have_it(how):
    async def scenario(plane, controller, name):
        works, services = plane.client.resource(WORKS), plane.client.resource(MCS)
        if how == "deleted":
            await works.delete(name, "karmada-es-a")
        elif how == "unmarked":
            await edit(plane, name, {"metadata": {"labels": {"multiclusterservice.karmada.io/name": None}}})
        elif how == "no service any more":
            await services.delete("web", "default")
        else:
            await services.patch("web", {"spec": {"consumerClusters": [{"name": "c"}]}}, "default")
        await plane.clock.sleep(2)
        assert await leaving(plane, "b") == 1
        assert await leaving(plane, "c") == (how != "no consumer any more")
        left = (await works.list(Scope("karmada-es-a"))).items
        held = [FINALIZER in work["metadata"].get("finalizers", ()) for work in left]
        assert held == {"deleted": [], "unmarked": [False]}.get(how, [True])
        assert controller.errors == 0

    dispatching(scenario, "b", "c")


@pytest.mark.parametrize("comes_back", [False, True], ids=["gone", "there again"])
def test_a_slice_whose_work_went_unnoticed_goes_if_the_server_has_none_either(comes_back):
    async def scenario(plane, controller, name):
        works = plane.client.resource(WORKS)

        async def before(request):
            asked = (request.verb, request.resource, request.name)
            if comes_back and asked == (Verb.GET, WORKS, name) and not done:
                done.append(True)
                await works.create(collected("a", slice_of("web-1")))

        done = []
        plane.transport.before = before
        await works.patch(name, {"metadata": {"finalizers": None}}, "karmada-es-a")
        await works.delete(name, "karmada-es-a")
        await plane.clock.sleep(5)
        assert await leaving(plane, "b") == (not comes_back)

    dispatching(scenario)


@pytest.mark.parametrize(
    ("resource", "name", "namespace", "patch", "looks"),
    [
        (CLUSTERS, "a", "", {"status": {"kubernetesVersion": "v1.30.0"}}, 0),
        (CLUSTERS, "a", "", {"status": {"conditions": []}}, 1),
        (CLUSTERS, "b", "", {"status": {"conditions": []}}, 0),
        (MCS, "web", "default", {"status": {"conditions": []}}, 0),
        (WORKS, "", "karmada-es-a", {"status": {"manifestStatuses": []}}, 0),
    ],
    ids=["status of a cluster", "readiness", "a consumer that goes", "status of the service", "status of a work"],
)
def test_slices_are_looked_at_for_what_may_concern_them(resource, name, namespace, patch, looks):
    async def scenario(plane, controller, work):
        before = controller.queue.adds
        await plane.client.resource(resource).patch(name or work, patch, namespace, subresource="status")
        await plane.clock.sleep(2)
        assert controller.queue.adds - before == looks

    dispatching(scenario)


def test_a_cluster_that_comes_gets_the_slices_of_services_for_all_and_of_those_that_name_it():
    async def scenario(plane, controller, name):
        await plane.cluster("d")
        await plane.clock.sleep(2)
        assert await brought(plane, "d") == {"a-web-1": ["10.0.0.1"]}
        patch = {"spec": {"consumerClusters": [{"name": "b"}, {"name": "e"}]}}
        await plane.client.resource(MCS).patch("web", patch, "default")
        await plane.clock.sleep(2)
        for cluster in ("e", "f"):
            await plane.cluster(cluster)
        await plane.clock.sleep(2)
        assert (await brought(plane, "e"), await brought(plane, "f")) == ({"a-web-1": ["10.0.0.1"]}, {})

    dispatching(scenario)


def test_a_provider_that_is_away_is_looked_at_again_when_its_tolerance_ends():
    async def scenario(plane, controller, name):
        await ready(plane, "a", "False")
        await plane.clock.sleep(2)
        before = controller.results["requeue_after"]
        assert before > 0
        await plane.clock.sleep(TOLERANCE)
        assert await leaving(plane, "b") == 1

    dispatching(scenario)


def test_a_work_that_the_cache_does_not_show_yet_is_found_as_it_should_be():
    async def scenario(plane, controller, name):
        plane.transport.held = {WORKS}
        await plane.cluster("d")
        await plane.clock.sleep(2)
        assert await brought(plane, "d") == {"a-web-1": ["10.0.0.1"]}
        seen = await said(plane)
        await ready(plane, "a", "Unknown")
        await plane.clock.sleep(2)
        assert (await brought(plane, "d"), controller.errors) == ({"a-web-1": ["10.0.0.1"]}, 0)
        assert await said(plane) == seen, "nothing was brought"
        plane.transport.held = frozenset()

    dispatching(scenario)
