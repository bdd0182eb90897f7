"""CronFederatedHPAs that go, and executions that cannot be written down."""

import pytest
from tests.controllers.plane import on_a_plane
from tests.controllers.test_cron_autoscaler import (
    CRONS,
    DEPLOYMENTS,
    UP,
    cron,
    deployment,
    history,
    replicas,
    until,
    warnings,
)

from karmada.controllers.cron_autoscaler import CronAutoscalerController
from karmada.machinery.errors import Forbidden, ServerError
from karmada.machinery.transport import Verb


async def begin(plane, *rules):
    controller = CronAutoscalerController(plane.context).controller
    plane.start(controller)
    await deployment(plane)
    await cron(plane, *rules or [UP])
    return controller


@pytest.mark.parametrize("held", [True, False], ids=["being deleted", "gone"])
def test_what_goes_fires_no_more(held):
    async def scenario(plane):
        controller = await begin(plane)
        crons = plane.client.resource(CRONS)
        if held:
            await crons.patch("c", {"metadata": {"finalizers": ["test/hold"]}}, "default")
        await crons.delete("c", "default")
        await until(plane, "2023-11-14T23:00:30Z")
        assert await replicas(plane) == 1
        assert controller.errors == 0

    on_a_plane(scenario)


@pytest.mark.parametrize("moment", ["claimed", "executed"])
def test_what_goes_while_it_fires_is_let_go(moment):
    async def scenario(plane):
        controller = await begin(plane)
        wanted = CRONS if moment == "claimed" else DEPLOYMENTS

        async def before(request):
            if request.verb is Verb.PATCH and request.resource == wanted:
                plane.transport.before = None
                await plane.client.resource(CRONS).delete("c", "default")

        plane.transport.before = before
        await until(plane, "2023-11-14T23:00:30Z")
        assert await replicas(plane) == (1 if moment == "claimed" else 5)
        assert controller.errors == 0

    on_a_plane(scenario)


def test_a_change_of_the_rules_is_acted_on_and_a_status_is_not():
    async def scenario(plane):
        controller = await begin(plane)
        looked = controller.results["requeue_after"]
        crons = plane.client.resource(CRONS)
        await crons.patch("c", {"metadata": {"labels": {"a": "b"}}}, "default")
        await plane.clock.sleep(1)
        assert controller.results["requeue_after"] == looked
        await crons.patch("c", {"spec": {"rules": [UP | {"schedule": "30 22 * * *"}]}}, "default")
        await plane.clock.sleep(1)
        assert (await history(plane))["nextExecutionTime"] == "2023-11-14T22:30:00Z"
        await until(plane, "2023-11-14T22:30:01Z")
        assert await replicas(plane) == 5

    on_a_plane(scenario)


def test_a_target_is_tried_several_times_and_then_given_up_for_this_fire():
    async def scenario(plane):
        await begin(plane)
        attempts = []

        async def before(request):
            if request.resource == DEPLOYMENTS and request.verb is Verb.PATCH:
                attempts.append(plane.clock.now())
                raise ServerError("x" * 5000)

        plane.transport.before = before
        await until(plane, "2023-11-14T23:05:00Z")
        assert len(attempts) == 5
        assert attempts == sorted(set(attempts)), "with pauses"
        (failure,) = (await history(plane))["failedExecutions"]
        assert failure["message"] == "x" * 1024

    on_a_plane(scenario)


def test_an_outcome_that_cannot_be_written_is_an_event_and_not_executed_again():
    async def scenario(plane):
        controller = await begin(plane)
        written, scaled = [], []

        async def before(request):
            if request.verb is Verb.PATCH and request.resource == CRONS:
                written.append(request)
                if len(written) == 2:
                    raise Forbidden("not now")
            if request.verb is Verb.PATCH and request.resource == DEPLOYMENTS:
                scaled.append(request)

        plane.transport.before = before
        await until(plane, "2023-11-14T23:05:00Z")
        assert (await replicas(plane), len(scaled)) == (5, 1)
        assert (await warnings(plane))["UpdateStatusFailed"] == "not now"
        assert controller.results["error"] == 1

    on_a_plane(scenario)


def test_a_fire_that_another_process_claimed_is_its_own_and_the_next_is_ours():
    async def scenario(plane):
        controller = await begin(plane)

        async def before(request):
            if request.verb is Verb.PATCH and request.resource == CRONS:
                plane.transport.before = None
                await plane.client.transport.send(request)

        await plane.clock.sleep(5)
        plane.transport.before = before
        await until(plane, "2023-11-14T23:00:30Z")
        assert (plane.transport.before, await replicas(plane)) == (None, 1)
        await until(plane, "2023-11-15T23:00:30Z")
        assert await replicas(plane) == 5
        assert controller.errors == 0

    on_a_plane(scenario)


def test_what_goes_before_its_next_fire_is_announced_is_let_go():
    async def scenario(plane):
        async def before(request):
            if request.verb is Verb.PATCH and request.resource == CRONS:
                plane.transport.before = None
                await plane.client.resource(CRONS).delete("c", "default")

        plane.transport.before = before
        controller = await begin(plane)
        await plane.clock.sleep(5)
        assert (plane.transport.before, controller.errors) == (None, 0)

    on_a_plane(scenario)
