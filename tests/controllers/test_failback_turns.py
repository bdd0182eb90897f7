"""Failback: whose turn it is, what holds a workload where it is, and when somebody looks."""

import orjson
import pytest
from tests.controllers.failing_back import (
    BEHAVIOUR,
    BINDINGS,
    KINDS,
    LABELS,
    TERMS,
    WEIGHTS,
    begin,
    bind,
    get,
    moved,
    readiness,
    scheduled,
    state,
    triggered,
)
from tests.controllers.plane import CLUSTERS, on_a_plane
from tests.growth import work

from karmada.controllers.bindings import BindingKey
from karmada.controllers.failback import FailbackController
from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.machinery.errors import ServerError
from karmada.machinery.transport import Verb

ONE = {**BEHAVIOUR, "maxMoves": 1}


async def leave(plane, name):
    await plane.client.resource(CLUSTERS).patch(name, {"metadata": {"finalizers": None}})
    await plane.client.resource(CLUSTERS).delete(name)


@pytest.mark.parametrize("how", ["deleted", "no failback any more"])
def test_a_workload_that_goes_back_no_more_gives_its_turn_to_another(how):
    async def scenario(plane):
        await begin(plane)
        await bind(plane, "a", behaviour=ONE)
        await plane.clock.sleep(310)
        await bind(plane, "b", behaviour=ONE)
        await plane.clock.sleep(120)
        assert await triggered(plane, "a", "b") == ["a"]
        if how == "deleted":
            await plane.client.resource(BINDINGS).patch("a", {"metadata": {"finalizers": ["test/held"]}}, "default")
            await plane.client.resource(BINDINGS).delete("a", "default")
            patch = {"status": {"conditions": []}}
            await plane.client.resource(BINDINGS).patch("a", patch, "default", subresource="status")
        else:
            await plane.client.resource(BINDINGS).patch("a", {"spec": {"failover": None}}, "default")
        await plane.clock.sleep(30)
        assert await triggered(plane, "b") == ["b"]

    on_a_plane(scenario)


def test_a_workload_that_is_gone_frees_its_turn():
    async def scenario(plane):
        await begin(plane)
        await bind(plane, "a", behaviour=ONE)
        await plane.clock.sleep(310)
        await bind(plane, "b", behaviour=ONE)
        await plane.client.resource(BINDINGS).delete("a", "default")
        await plane.clock.sleep(120)
        assert await triggered(plane, "b") == ["b"]

    on_a_plane(scenario)


def test_a_workload_whose_claim_could_not_be_written_does_not_wait_for_itself():
    async def scenario(plane):
        async def refuse(request):
            if request.verb is Verb.PATCH and request.subresource == "status" and not refused:
                refused.append(request)
                raise ServerError("no quorum")

        refused = []
        await begin(plane)
        plane.transport.before = refuse
        await bind(plane, behaviour=ONE)
        await plane.clock.sleep(330)
        assert refused
        assert await triggered(plane) == ["web"]

    on_a_plane(scenario)


def test_every_policy_has_turns_of_its_own():
    async def scenario(plane):
        await begin(plane)
        cluster_wide = "clusterpropagationpolicy.karmada.io/permanent-id"
        await bind(plane, "a", behaviour=ONE)
        await bind(plane, "b", behaviour=ONE, labels={**LABELS, "propagationpolicy.karmada.io/permanent-id": "q"})
        await bind(plane, "c", behaviour=ONE, labels={cluster_wide: "p2"})
        await bind(plane, "d", behaviour=ONE, labels={cluster_wide: "p3"})
        await bind(plane, "e", behaviour=ONE, labels={cluster_wide: "p3"})
        await plane.clock.sleep(330)
        found = await triggered(plane, "a", "b", "c", "d", "e")
        assert (found[:3], len(found)) == (["a", "b", "c"], 4)

    on_a_plane(scenario)


async def suspended(plane):
    await bind(plane, suspension={"scheduling": True})


async def edited(plane):
    await bind(plane)
    annotation = {"policy.karmada.io/applied-placement": orjson.dumps(WEIGHTS).decode()}
    await plane.client.resource(BINDINGS).patch("web", {"metadata": {"annotations": annotation}}, "default")


async def unscheduled(plane):
    await bind(plane)
    status = {"status": {"schedulerObservedGeneration": 0}}
    await plane.client.resource(BINDINGS).patch("web", status, "default", subresource="status")


@pytest.mark.parametrize("held", [suspended, edited, unscheduled])
def test_a_workload_that_the_scheduler_is_not_done_with_stays_until_it_is(held):
    async def scenario(plane):
        await begin(plane)
        await held(plane)
        await plane.clock.sleep(600)
        assert await triggered(plane) == []
        applied = {"policy.karmada.io/applied-placement": orjson.dumps(TERMS).decode()}
        patch = {
            "metadata": {"annotations": applied},
            "spec": {"suspension": {"dispatching": True, "scheduling": None}},
        }
        await scheduled(plane, await plane.client.resource(BINDINGS).patch("web", patch, "default"), "spare")
        await plane.clock.sleep(70)
        assert await triggered(plane) == ["web"]

    on_a_plane(scenario)


def test_a_workload_with_a_better_term_is_looked_at_every_minute():
    async def scenario(plane):
        controller = await begin(plane)
        lacking = {"status": {"apiEnablements": []}}
        await plane.client.resource(CLUSTERS).patch("m1", lacking, subresource="status")
        await bind(plane)
        await bind(plane, "other", placement=WEIGHTS, where="m2")
        await plane.clock.sleep(600)
        assert await triggered(plane, "web", "other") == []
        before = controller.results["requeue_after"]
        await plane.clock.sleep(600)
        assert controller.results["requeue_after"] - before == 10
        await plane.client.resource(CLUSTERS).patch("m1", {"status": {"apiEnablements": KINDS}}, subresource="status")
        await plane.clock.sleep(65)
        assert await triggered(plane, "web", "other") == ["web"]

    on_a_plane(scenario)


@pytest.mark.parametrize(
    ("patch", "subresource", "looks"),
    [
        ({"status": {"kubernetesVersion": "v1.30.0"}}, "status", False),
        ({"metadata": {"annotations": {"note": "x"}}}, "", False),
        ({"metadata": {"labels": {"zone": "a"}}}, "", True),
        ({"spec": {"taints": [{"key": "busy", "effect": "NoSchedule"}]}}, "", True),
        ({"status": {"conditions": []}}, "status", True),
    ],
    ids=["status", "annotations", "labels", "taints", "readiness"],
)
def test_workloads_are_looked_at_when_a_cluster_changes_in_what_matters(patch, subresource, looks):
    async def scenario(plane):
        controller = await begin(plane)
        await bind(plane)
        await plane.clock.sleep(5)
        before = controller.queue.adds
        await plane.client.resource(CLUSTERS).patch("m2", patch, subresource=subresource)
        await plane.clock.sleep(5)
        assert controller.queue.adds - before == int(looks)

    on_a_plane(scenario)


def test_workloads_are_looked_at_when_a_cluster_comes_and_do_not_go_to_one_that_left():
    async def scenario(plane):
        controller = await begin(plane)
        await bind(plane)
        await plane.clock.sleep(5)
        before = controller.queue.adds
        await plane.client.resource(CLUSTERS).create({"metadata": {"name": "m3"}, "spec": {"syncMode": "Push"}})
        await plane.clock.sleep(5)
        assert controller.queue.adds == before + 1
        await leave(plane, "m1")
        await plane.clock.sleep(5)
        assert controller.queue.adds == before + 2
        await plane.clock.sleep(600)
        assert await triggered(plane) == []

    on_a_plane(scenario)


def test_a_workload_that_fits_nowhere_stays():
    async def scenario(plane):
        controller = await begin(plane)
        await bind(plane)
        for name in ("m1", "m2"):
            await leave(plane, name)
        await plane.clock.sleep(600)
        assert await triggered(plane) == []
        assert controller.errors == 0

    on_a_plane(scenario)


def test_a_failback_that_another_process_claimed_and_did_not_ask_for_is_asked_for():
    async def scenario(plane):
        await begin(plane)
        await bind(plane, behaviour=ONE)
        await bind(plane, "other", behaviour=ONE)
        now = rfc3339(plane.clock.now())
        condition = {"type": "FailingBack", "status": "True", "reason": "PreferredClustersHealthy", "message": ""}
        status = {"status": {"conditions": [condition | {"lastTransitionTime": now}]}}
        await plane.client.resource(BINDINGS).patch("web", status, "default", subresource="status")
        await plane.clock.sleep(5)
        assert await triggered(plane) == ["web"]
        await plane.clock.sleep(400)
        assert await triggered(plane, "web", "other") == ["web"], "whoever claimed it, the turn is taken"

    on_a_plane(scenario)


def test_a_look_shortly_before_the_window_ends_begins_nothing():
    async def scenario(plane):
        await begin(plane)
        await bind(plane)
        await plane.clock.sleep(100)
        ready = (await plane.client.resource(CLUSTERS).get("m1"))["status"]["conditions"][0]["lastTransitionTime"]
        await plane.clock.sleep(parse_rfc3339(ready) + 300 - plane.clock.now() - 0.5)
        await plane.client.resource(BINDINGS).patch("web", {"metadata": {"annotations": {"note": "x"}}}, "default")
        await plane.clock.sleep(0.2)
        assert await triggered(plane) == []
        await plane.clock.sleep(1)
        assert await triggered(plane) == ["web"]

    on_a_plane(scenario)


def test_a_failback_is_asked_for_once_and_followed_until_it_ends():
    async def scenario(plane):
        controller = await begin(plane)
        await bind(plane)
        await plane.clock.sleep(310)
        asked = (await get(plane))["spec"]["failbackTriggeredAt"]
        before = controller.results["requeue_after"]
        await plane.clock.sleep(100)
        assert (await get(plane))["spec"]["failbackTriggeredAt"] == asked
        assert controller.results["requeue_after"] - before == 10
        await moved(plane, health="Unhealthy")
        before = controller.results["requeue_after"]
        await plane.clock.sleep(100)
        assert controller.results["requeue_after"] - before == 10
        assert (await state(plane))[0] == "True"
        # Times are whole seconds: what was scheduled in the second of the request is its result.
        status = {"lastScheduledTime": asked}
        status["aggregatedStatus"] = [{"clusterName": "m1", "applied": True, "health": "Healthy"}]
        status["aggregatedStatus"][0]["status"] = {"replicas": 2, "readyReplicas": 2}
        await plane.client.resource(BINDINGS).patch("web", {"status": status}, "default", subresource="status")
        await plane.clock.sleep(15)
        assert await state(plane) == ("False", "FailedBack")

    on_a_plane(scenario)


def test_a_failback_that_failed_begins_anew_when_the_cluster_is_healthy_again():
    async def scenario(plane):
        await begin(plane)
        await bind(plane)
        await plane.clock.sleep(310)
        first = (await get(plane))["spec"]["failbackTriggeredAt"]
        await moved(plane, health="Unhealthy")
        await readiness(plane, "m1", "False")
        await plane.clock.sleep(15)
        assert await state(plane) == ("False", "FailbackGivenUp")
        spec = {"spec": {"clusters": [{"name": "m2", "replicas": 2}]}}
        await scheduled(plane, await plane.client.resource(BINDINGS).patch("web", spec, "default"), "spare")
        await readiness(plane, "m1", "True")
        await plane.clock.sleep(290)
        assert (await get(plane))["spec"]["failbackTriggeredAt"] == first
        await plane.clock.sleep(30)
        assert (await get(plane))["spec"]["failbackTriggeredAt"] > first
        assert (await state(plane))[0] == "True"

    on_a_plane(scenario)


def test_a_workload_without_a_placement_stays():
    async def scenario(plane):
        controller = await begin(plane)
        await bind(plane, placement=None)
        await plane.clock.sleep(600)
        assert await triggered(plane) == []
        assert controller.errors == 0

    on_a_plane(scenario)


def test_a_workload_does_not_go_where_nobody_says_since_when_all_is_well():
    async def scenario(plane):
        await begin(plane)
        ready = {"type": "Ready", "status": "Unknown", "reason": "Test", "message": ""}
        ready["lastTransitionTime"] = "2023-11-14T22:13:20Z"
        await plane.client.resource(CLUSTERS).patch("m1", {"status": {"conditions": [ready]}}, subresource="status")
        await bind(plane)
        await plane.clock.sleep(1200)
        assert await triggered(plane) == []

    on_a_plane(scenario)


def test_a_workload_that_waits_for_its_turn_is_not_compared_with_all_of_its_policy():
    async def scenario(plane):
        failback = FailbackController(plane.context)
        plane.start(failback.controller)
        found = []
        for count in (3, 30):
            for number in range(count):
                await bind(plane, f"{count}-{number}", behaviour=ONE)
            await plane.clock.sleep(5)
            waiting = failback._bindings.get(BindingKey("default", "3-0"))
            found.append(work(lambda waiting=waiting: failback._moving(waiting)).calls)
        assert found[0] == found[1]

    on_a_plane(scenario)
