"""Failback: replicas go back to preferred clusters that stayed healthy, a few workloads at a time."""

from tests.controllers.failing_back import (
    BEHAVIOUR,
    BINDINGS,
    EVENTS,
    WEIGHTS,
    begin,
    bind,
    get,
    moved,
    readiness,
    state,
    triggered,
)
from tests.controllers.plane import on_a_plane

from karmada.machinery.clock import rfc3339


def test_replicas_go_back_when_the_preferred_cluster_was_ready_for_the_window():
    async def scenario(plane):
        await begin(plane)
        await bind(plane)
        await plane.clock.sleep(290)
        assert await triggered(plane) == []
        await plane.clock.sleep(20)
        assert await triggered(plane) == ["web"]
        assert await state(plane) == ("True", "PreferredClustersHealthy")
        await moved(plane)
        assert await state(plane) == ("False", "FailedBack")
        reasons = [event["reason"] for event in (await plane.client.resource(EVENTS).list()).items]
        assert reasons == ["FailbackStarted", "FailbackEnded"]

    on_a_plane(scenario)


def test_a_cluster_that_flaps_starts_its_window_anew():
    async def scenario(plane):
        await begin(plane)
        await bind(plane)
        for _ in range(5):
            await plane.clock.sleep(200)
            await readiness(plane, "m1", "False")
            await plane.clock.sleep(30)
            await readiness(plane, "m1", "True")
        assert await triggered(plane) == []
        await plane.clock.sleep(310)
        assert await triggered(plane) == ["web"]

    on_a_plane(scenario)


def test_a_workload_stays_for_the_hysteresis_where_it_was_placed_last():
    async def scenario(plane):
        await begin(plane)
        await plane.clock.sleep(600)
        await bind(plane, behaviour={"windowSeconds": 300, "hysteresisSeconds": 120})
        await plane.clock.sleep(100)
        assert await triggered(plane) == []
        await plane.clock.sleep(30)
        assert await triggered(plane) == ["web"]

    on_a_plane(scenario)


def test_so_many_workloads_of_a_policy_go_back_at_a_time_and_the_next_when_one_is_healthy():
    async def scenario(plane):
        await begin(plane)
        names = ["a", "b", "c"]
        for name in names:
            await bind(plane, name, behaviour={**BEHAVIOUR, "maxMoves": 2})
        await plane.clock.sleep(330)
        first = await triggered(plane, *names)
        assert len(first) == 2
        await moved(plane, first[0], health="Unhealthy")
        assert await triggered(plane, *names) == first
        await moved(plane, first[0])
        assert await triggered(plane, *names) == names

    on_a_plane(scenario)


def test_replicas_leave_a_standby_of_weight_zero():
    async def scenario(plane):
        await begin(plane)
        await bind(plane, placement=WEIGHTS)
        await plane.clock.sleep(310)
        assert await triggered(plane) == ["web"]

    on_a_plane(scenario)


def test_what_is_where_it_should_be_stays_untouched():
    async def scenario(plane):
        await begin(plane)
        await bind(plane, placement=WEIGHTS, where="m1")
        before = await get(plane)
        await plane.clock.sleep(3600)
        assert await get(plane) == before

    on_a_plane(scenario)


def test_a_failback_ends_when_its_cluster_fails_and_is_tried_again_later():
    async def scenario(plane):
        await begin(plane)
        await bind(plane)
        await plane.clock.sleep(310)
        await readiness(plane, "m1", "False")
        await moved(plane, health="Unknown")
        assert await state(plane) == ("False", "FailbackGivenUp")

    on_a_plane(scenario)


def test_a_failback_ends_when_the_policy_wants_none_any_more():
    async def scenario(plane):
        await begin(plane)
        await bind(plane)
        await plane.clock.sleep(310)
        await plane.client.resource(BINDINGS).patch("web", {"spec": {"failover": None}}, "default")
        await plane.clock.sleep(15)
        assert await state(plane) == ("False", "FailbackGivenUp")

    on_a_plane(scenario)


def test_a_move_that_waits_is_not_over():
    async def scenario(plane):
        await begin(plane)
        await bind(plane)
        await plane.clock.sleep(310)
        conditions = (await get(plane))["status"]["conditions"]
        waiting = {"reason": "DisruptionBudget", "message": "", "lastTransitionTime": rfc3339(plane.clock.now())}
        conditions = [*conditions, {"type": "MovesWaiting", "status": "True", **waiting}]
        status = {"status": {"conditions": conditions}}
        await plane.client.resource(BINDINGS).patch("web", status, "default", subresource="status")
        await moved(plane)
        assert (await state(plane))[0] == "True"

    on_a_plane(scenario)


def test_a_workload_without_failback_stays_where_it_is():
    async def scenario(plane):
        await begin(plane)
        await bind(plane)
        await plane.client.resource(BINDINGS).patch("web", {"spec": {"failover": None}}, "default")
        await plane.clock.sleep(3600)
        assert await triggered(plane) == []

    on_a_plane(scenario)
