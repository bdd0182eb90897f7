"""A WorkloadRebalancer has workloads placed anew once and reports on each, in virtual time."""

from tests.controllers.observing import does, once, refused
from tests.controllers.plane import on_a_plane

from karmada.controllers.workload_rebalancer import WorkloadRebalancerController
from karmada.machinery.errors import ServerError
from karmada.machinery.transport import GroupVersionResource, Verb

REBALANCERS = GroupVersionResource("apps.karmada.io", "v1alpha1", "workloadrebalancers")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
WIDE = GroupVersionResource("work.karmada.io", "v1alpha2", "clusterresourcebindings")
WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "role"}
DONE, GONE = "Successful", "Failed"


async def bound(plane, **spec):
    metadata = {"name": "web-deployment", "namespace": "default"}
    await plane.client.resource(BINDINGS).create({"metadata": metadata, "spec": {"resource": WEB} | spec})


async def started(plane, *workloads, **spec):
    tree = {"metadata": {"name": "r"}, "spec": {"workloads": list(workloads)} | spec}
    created = await plane.client.resource(REBALANCERS).create(tree)
    controller = WorkloadRebalancerController(plane.context).controller
    plane.start(controller)
    await plane.clock.sleep(5)
    return controller, created["metadata"]["creationTimestamp"]


async def triggered(plane):
    binding = await plane.client.resource(BINDINGS).get("web-deployment", "default")
    return binding["spec"].get("rescheduleTriggeredAt")


async def results(plane):
    status = (await plane.client.resource(REBALANCERS).get("r")).get("status") or {}
    return {each["workload"]["name"]: each.get("result") for each in status.get("observedWorkloads") or ()}


async def exists(plane):
    return bool((await plane.client.resource(REBALANCERS).list()).items)


def test_bindings_are_triggered_and_each_workload_has_a_result():
    async def test(plane):
        await bound(plane)
        await plane.client.resource(WIDE).create({"metadata": {"name": "role-clusterrole"}, "spec": {"resource": ROLE}})
        gone = [{**WEB, "name": "gone"}, {**ROLE, "name": "lost"}]
        controller, created = await started(plane, WEB, ROLE, *gone)
        assert await results(plane) == {"web": DONE, "role": DONE, "gone": GONE, "lost": GONE}
        wide = await plane.client.resource(WIDE).get("role-clusterrole")
        assert (await triggered(plane), wide["spec"]["rescheduleTriggeredAt"]) == (created, created)
        status = (await plane.client.resource(REBALANCERS).get("r"))["status"]
        assert status["finishTime"]
        assert controller.results == {"success": 1, "requeue_after": 0, "error": 0, "given_up": 0}
        assert await exists(plane), "it has no time to live"

    on_a_plane(test)


def test_a_binding_that_was_triggered_later_keeps_its_time():
    async def test(plane):
        await bound(plane, rescheduleTriggeredAt="2099-01-01T00:00:00Z")
        await started(plane, WEB)
        assert (await triggered(plane), await results(plane)) == ("2099-01-01T00:00:00Z", {"web": DONE})

    on_a_plane(test)


def test_a_workload_is_triggered_once_and_added_ones_follow():
    async def test(plane):
        await bound(plane)
        controller, _ = await started(plane, WEB)
        await plane.client.resource(BINDINGS).patch(
            "web-deployment", {"spec": {"rescheduleTriggeredAt": None}}, "default"
        )
        more = {"spec": {"workloads": [WEB, {**WEB, "name": "gone"}]}}
        rebalancers = plane.client.resource(REBALANCERS)
        blue = {"metadata": {"labels": {"color": "blue"}}}
        steps = {rebalancers.patch("r", more): 1, rebalancers.patch("r", blue): 0, rebalancers.delete("r"): 0}
        found = await does(plane, controller, *list(steps)[:2])
        assert (await triggered(plane), await results(plane)) == (None, {"web": DONE, "gone": GONE})
        assert found + await does(plane, controller, *list(steps)[2:]) == list(steps.values())

    on_a_plane(test)


def test_a_binding_that_goes_before_it_is_written_failed():
    async def test(plane):
        await bound(plane)
        once(plane, Verb.PATCH, BINDINGS, lambda: plane.client.resource(BINDINGS).delete("web-deployment", "default"))
        await started(plane, WEB)
        assert await results(plane) == {"web": GONE}

    on_a_plane(test)


def test_what_cannot_be_triggered_now_is_pending_and_tried_again():
    async def test(plane):
        await bound(plane)
        refused(plane, ServerError("no room"), BINDINGS)
        controller, created = await started(plane, WEB, {**WEB, "name": "gone"}, ttlSecondsAfterFinished=3600)
        assert await results(plane) == {"web": None, "gone": GONE}
        assert controller.errors > 0
        plane.transport.before = None
        await plane.clock.sleep(60)
        assert (await results(plane), await triggered(plane)) == ({"web": DONE, "gone": GONE}, created)

    on_a_plane(test)


def test_a_finished_rebalancer_is_deleted_after_its_time_to_live():
    async def test(plane):
        controller, _ = await started(plane, WEB, ttlSecondsAfterFinished=60)
        await plane.clock.sleep(40)
        assert await exists(plane)
        await plane.clock.sleep(20)
        assert not await exists(plane)
        assert controller.errors == 0

    on_a_plane(test)


def test_the_last_second_of_the_time_to_live_counts():
    async def test(plane):
        controller, _ = await started(plane, WEB, ttlSecondsAfterFinished=1)
        assert controller.results["requeue_after"] == 1
        assert not await exists(plane)

    on_a_plane(test)


def test_a_rebalancer_that_is_being_deleted_triggers_nothing():
    async def test(plane):
        await bound(plane)
        metadata = {"name": "going", "finalizers": ["example.com/held"]}
        await plane.client.resource(REBALANCERS).create({"metadata": metadata, "spec": {"workloads": [WEB]}})
        await plane.client.resource(REBALANCERS).delete("going")
        await started(plane, {**WEB, "name": "gone"})
        assert await triggered(plane) is None

    on_a_plane(test)


def test_a_rebalancer_that_is_given_more_to_do_at_its_end_lives_on():
    async def test(plane):
        more = {"spec": {"workloads": [{**WEB, "name": "more"}], "ttlSecondsAfterFinished": 600}}
        await started(plane, WEB, ttlSecondsAfterFinished=60)
        once(plane, Verb.DELETE, REBALANCERS, lambda: plane.client.resource(REBALANCERS).patch("r", more))
        await plane.clock.sleep(120)
        assert await results(plane) == {"more": GONE}

    on_a_plane(test)
