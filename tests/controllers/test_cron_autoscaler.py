"""Rules of a CronFederatedHPA fire on time, once, and say what they did. Time begins at 2023-11-14T22:13:20Z."""

import pytest
from tests.controllers.plane import on_a_plane

from karmada.controllers.cron_autoscaler import FIRES_RATE, CronAutoscalerController
from karmada.machinery.clock import parse_rfc3339
from karmada.machinery.errors import Forbidden, ServerError
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, Verb
from karmada.policies.autoscaling.executions import INTERRUPTED

CRONS = GroupVersionResource("autoscaling.karmada.io", "v1alpha1", "cronfederatedhpas")
AUTOSCALERS = GroupVersionResource("autoscaling.karmada.io", "v1alpha1", "federatedhpas")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
EVENTS = GroupVersionResource("", "v1", "events")
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
AUTOSCALER = {"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": "web"}
UP = {"name": "up", "schedule": "0 23 * * *", "targetReplicas": 5}


async def deployment(plane, replicas=1):
    labels = {"app": "web"}
    spec = {"containers": [{"name": "app", "image": "web:1"}]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    tree = {"metadata": {"name": "web", "namespace": "default"}}
    tree["spec"] = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    await plane.client.resource(DEPLOYMENTS).create(tree)


async def replicas(plane):
    return (await plane.client.resource(DEPLOYMENTS).get("web", "default"))["spec"]["replicas"]


async def cron(plane, *rules, target=DEPLOYMENT):
    tree = {"metadata": {"name": "c", "namespace": "default"}}
    tree["spec"] = {"scaleTargetRef": target, "rules": list(rules)}
    await plane.client.resource(CRONS).create(tree)
    await plane.clock.sleep(1)


def start(plane):
    plane.start(CronAutoscalerController(plane.context).controller)


async def until(plane, text):
    await plane.clock.sleep(parse_rfc3339(text) - plane.clock.now())


async def history(plane, rule="up"):
    status = (await plane.client.resource(CRONS).get("c", "default")).get("status") or {}
    return next((one for one in status.get("executionHistories", []) if one["ruleName"] == rule), None)


async def warnings(plane):
    await plane.clock.sleep(2)
    return {event["reason"]: event["message"] for event in (await plane.client.resource(EVENTS).list()).items}


def test_a_rule_scales_a_workload_at_its_time():
    async def scenario(plane):
        start(plane)
        await deployment(plane)
        await cron(plane, UP)
        assert await history(plane) == {"ruleName": "up", "nextExecutionTime": "2023-11-14T23:00:00Z"}
        await until(plane, "2023-11-14T22:59:59Z")
        assert await replicas(plane) == 1
        await until(plane, "2023-11-14T23:00:01Z")
        assert await replicas(plane) == 5
        found = await history(plane)
        (execution,) = found["successfulExecutions"]
        assert (execution["scheduleTime"], execution["appliedReplicas"]) == ("2023-11-14T23:00:00Z", 5)
        assert found["nextExecutionTime"] == "2023-11-15T23:00:00Z"
        assert "failedExecutions" not in found
        assert sum(plane.context.metrics.cron_rule.by[("success",)].counts) == 1
        assert sum(plane.context.metrics.cron_autoscale.by[("success",)].counts) >= 2

    on_a_plane(scenario)


def test_rules_that_fire_every_second_are_executed_at_the_pace_of_their_namespace():
    async def scenario(plane):
        fires = []

        async def before(request):
            if request.resource == DEPLOYMENTS and request.verb in (Verb.UPDATE, Verb.PATCH):
                fires.append(plane.clock.monotonic())

        await deployment(plane)
        plane.transport.before = before
        rules = [{"name": f"r{n}", "schedule": "@every 1ns", "targetReplicas": n + 1} for n in range(50)]
        await cron(plane, *rules)
        start(plane)
        await plane.clock.sleep(120)
        until_now = len(fires)
        await plane.clock.sleep(60)
        assert 0 < len(fires) - until_now <= 60 * FIRES_RATE + 10

    on_a_plane(scenario)


def test_the_time_zone_of_a_rule_counts():
    async def scenario(plane):
        start(plane)
        await deployment(plane)
        await cron(plane, UP | {"timeZone": "Asia/Kolkata", "schedule": "0 4 * * *"})
        assert (await history(plane))["nextExecutionTime"] == "2023-11-14T22:30:00Z"
        await until(plane, "2023-11-14T22:30:01Z")
        assert await replicas(plane) == 5

    on_a_plane(scenario)


def test_a_rule_sets_the_bounds_of_an_autoscaler_that_it_names():
    async def scenario(plane):
        start(plane)
        spec = {"scaleTargetRef": DEPLOYMENT, "minReplicas": 1, "maxReplicas": 4, "metrics": []}
        await plane.client.resource(AUTOSCALERS).create(
            {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
        )
        rule = {"name": "up", "schedule": "0 23 * * *", "targetMaxReplicas": 9}
        await cron(plane, rule, target=AUTOSCALER)
        await until(plane, "2023-11-14T23:00:01Z")
        spec = (await plane.client.resource(AUTOSCALERS).get("web", "default"))["spec"]
        assert (spec["minReplicas"], spec["maxReplicas"]) == (1, 9)
        (execution,) = (await history(plane))["successfulExecutions"]
        assert execution["appliedMaxReplicas"] == 9
        assert "appliedMinReplicas" not in execution

    on_a_plane(scenario)


def test_a_suspended_rule_waits_and_keeps_its_history():
    async def scenario(plane):
        start(plane)
        await deployment(plane)
        rule = UP | {"schedule": "*/10 * * * *"}
        await cron(plane, rule)
        await until(plane, "2023-11-14T22:20:01Z")
        await plane.client.resource(CRONS).patch("c", {"spec": {"rules": [rule | {"suspend": True}]}}, "default")
        await plane.client.resource(DEPLOYMENTS).set_scale("web", 2, "default")
        await until(plane, "2023-11-14T23:00:00Z")
        assert await replicas(plane) == 2
        found = await history(plane)
        assert "nextExecutionTime" not in found
        assert len(found["successfulExecutions"]) == 1
        await plane.client.resource(CRONS).patch("c", {"spec": {"rules": [rule]}}, "default")
        await plane.clock.sleep(1)
        assert await replicas(plane) == 2
        assert (await history(plane))["nextExecutionTime"] == "2023-11-14T23:10:00Z"

    on_a_plane(scenario)


def test_histories_follow_the_rules_and_their_limits():
    async def scenario(plane):
        start(plane)
        await deployment(plane)
        often = {"name": "often", "schedule": "* * * * *", "targetReplicas": 3, "successfulHistoryLimit": 2}
        await cron(plane, UP, often)
        await plane.clock.sleep(600)
        times = [one["scheduleTime"] for one in (await history(plane, "often"))["successfulExecutions"]]
        assert times == ["2023-11-14T22:23:00Z", "2023-11-14T22:22:00Z"]
        await plane.client.resource(CRONS).patch("c", {"spec": {"rules": [UP]}}, "default")
        await plane.clock.sleep(1)
        assert await history(plane, "often") is None
        assert await history(plane) is not None

    on_a_plane(scenario)


def test_a_changed_schedule_is_announced_anew():
    async def scenario(plane):
        start(plane)
        await deployment(plane)
        await cron(plane, UP)
        changed = UP | {"schedule": "30 22 * * *"}
        await plane.client.resource(CRONS).patch("c", {"spec": {"rules": [changed]}}, "default")
        await plane.clock.sleep(1)
        assert (await history(plane))["nextExecutionTime"] == "2023-11-14T22:30:00Z"
        await until(plane, "2023-11-14T22:30:01Z")
        assert await replicas(plane) == 5

    on_a_plane(scenario)


def test_what_was_missed_is_made_up_for_once_and_in_order():
    """Down from 22:14 to 23:30: the rules of 23:00 and 23:20 are executed in that order, minutely ones once."""

    async def scenario(plane):
        await deployment(plane)
        async with Supervisor(plane.clock) as first:
            plane.begin(first)
            start(plane)
            down = {"name": "down", "schedule": "20 23 * * *", "targetReplicas": 2}
            often = {"name": "often", "schedule": "* 22 * * *", "targetReplicas": 7}
            await cron(plane, down, UP, often)
        await until(plane, "2023-11-14T23:30:30Z")
        async with Supervisor(plane.clock) as second:
            plane.begin(second)
            start(plane)
            await plane.clock.sleep(1)
            assert await replicas(plane) == 2
            for rule, scheduled in (("often", "22:59"), ("up", "23:00"), ("down", "23:20")):
                (execution,) = (await history(plane, rule))["successfulExecutions"]
                assert execution["scheduleTime"] == f"2023-11-14T{scheduled}:00Z"
            await plane.client.resource(DEPLOYMENTS).set_scale("web", 4, "default")
        async with Supervisor(plane.clock) as third:
            plane.begin(third)
            start(plane)
            await plane.clock.sleep(60)
            assert await replicas(plane) == 4

    on_a_plane(scenario)


def test_a_fire_that_is_an_hour_old_is_a_failure():
    async def scenario(plane):
        await deployment(plane)
        async with Supervisor(plane.clock) as first:
            plane.begin(first)
            start(plane)
            await cron(plane, UP)
        await until(plane, "2023-11-15T00:00:10Z")
        async with Supervisor(plane.clock) as second:
            plane.begin(second)
            start(plane)
            await plane.clock.sleep(1)
            assert await replicas(plane) == 1
            found = await history(plane)
            assert "missed by" in found["failedExecutions"][0]["message"]
            assert found["nextExecutionTime"] == "2023-11-15T23:00:00Z"
            assert "missed by" in (await warnings(plane))["ScaleFailed"]

    on_a_plane(scenario)


def test_an_execution_that_was_interrupted_is_not_repeated():
    async def scenario(plane):
        await deployment(plane)
        async with Supervisor(plane.clock) as first:
            plane.begin(first)
            start(plane)
            await cron(plane, UP)

            async def before(request):
                if request.resource == DEPLOYMENTS and request.verb is Verb.PATCH:
                    await plane.clock.sleep(3600)

            plane.transport.before = before
            await until(plane, "2023-11-14T23:00:05Z")
        plane.transport.before = None
        async with Supervisor(plane.clock) as second:
            plane.begin(second)
            start(plane)
            await plane.clock.sleep(600)
            assert await replicas(plane) == 1
            (failure,) = (await history(plane))["failedExecutions"]
            assert failure["message"] == INTERRUPTED

    on_a_plane(scenario)


def test_a_cache_that_lags_does_not_execute_again():
    async def scenario(plane):
        start(plane)
        await deployment(plane)
        await cron(plane, UP)
        plane.transport.held = frozenset({CRONS})
        await until(plane, "2023-11-14T23:00:01Z")
        await plane.client.resource(DEPLOYMENTS).set_scale("web", 3, "default")
        await plane.client.resource(CRONS).patch("c", {"metadata": {"labels": {"a": "b"}}}, "default")
        await plane.clock.sleep(7200)
        assert await replicas(plane) == 3
        assert len((await history(plane))["successfulExecutions"]) == 1

    on_a_plane(scenario)


def test_a_fire_that_another_process_claims_first_is_left_to_it():
    async def scenario(plane):
        start(plane)
        await deployment(plane)
        await cron(plane, UP)

        async def before(request):
            if request.resource == CRONS and request.verb is Verb.PATCH:
                plane.transport.before = None
                announced = [{"ruleName": "up", "nextExecutionTime": "2023-11-15T23:00:00Z"}]
                status = {"status": {"executionHistories": announced}}
                await plane.client.resource(CRONS).patch("c", status, "default", subresource="status")

        plane.transport.before = before
        await until(plane, "2023-11-14T23:10:00Z")
        assert plane.transport.before is None
        assert await replicas(plane) == 1
        assert "successfulExecutions" not in await history(plane)

    on_a_plane(scenario)


def test_a_rule_that_is_suspended_in_the_last_moment_does_not_fire():
    async def scenario(plane):
        start(plane)
        await deployment(plane)
        await cron(plane, UP)

        async def before(request):
            if request.resource == CRONS and request.verb is Verb.PATCH:
                plane.transport.before = None
                await plane.client.resource(CRONS).patch("c", {"spec": {"rules": [UP | {"suspend": True}]}}, "default")

        plane.transport.before = before
        await until(plane, "2023-11-14T23:10:00Z")
        assert plane.transport.before is None
        assert await replicas(plane) == 1
        assert await history(plane) == {"ruleName": "up"}

    on_a_plane(scenario)


def test_a_passing_failure_is_retried():
    async def scenario(plane):
        start(plane)
        await deployment(plane)
        await cron(plane, UP)
        refused = []

        async def before(request):
            if request.resource == DEPLOYMENTS and request.verb is Verb.PATCH and len(refused) < 3:
                refused.append(request)
                raise ServerError("etcd has no leader")

        plane.transport.before = before
        await until(plane, "2023-11-14T23:00:20Z")
        assert await replicas(plane) == 5
        assert len(refused) == 3
        assert "failedExecutions" not in await history(plane)

    on_a_plane(scenario)


def test_a_target_that_never_answers_is_a_failure_and_other_rules_go_on():
    async def scenario(plane):
        start(plane)
        await deployment(plane)
        late = {"name": "late", "schedule": "10 23 * * *", "targetReplicas": 6}
        await cron(plane, UP, late)

        async def before(request):
            if request.resource == DEPLOYMENTS and request.verb is Verb.PATCH:
                await plane.clock.sleep(10**6)

        plane.transport.before = before
        await until(plane, "2023-11-14T23:05:00Z")
        assert "not scaled within" in (await history(plane))["failedExecutions"][0]["message"]
        plane.transport.before = None
        await until(plane, "2023-11-14T23:10:01Z")
        assert await replicas(plane) == 6

    on_a_plane(scenario)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (DEPLOYMENT, "not found"),
        (AUTOSCALER, "not found"),
        (AUTOSCALER | {"kind": "CronFederatedHPA"}, "spec.scaleTargetRef.kind"),
        (DEPLOYMENT | {"kind": "Nothing"}, "Nothing"),
        ({"apiVersion": "v1", "kind": "Namespace", "name": "default"}, "cluster-scoped"),
    ],
)
def test_a_target_that_cannot_be_scaled_is_a_failure(target, words):
    async def scenario(plane):
        start(plane)
        await cron(plane, UP, target=target)
        await until(plane, "2023-11-14T23:00:30Z")
        (failure,) = (await history(plane))["failedExecutions"]
        assert words in failure["message"]
        assert words in (await warnings(plane))["ScaleFailed"]

    on_a_plane(scenario)


def test_a_refusal_is_not_retried():
    async def scenario(plane):
        start(plane)
        await deployment(plane)
        await cron(plane, UP)
        requests = []

        async def before(request):
            if request.resource == DEPLOYMENTS and request.verb is Verb.PATCH:
                requests.append(request)
                raise Forbidden("quota exceeded")

        plane.transport.before = before
        await until(plane, "2023-11-14T23:10:00Z")
        assert len(requests) == 1
        assert (await history(plane))["failedExecutions"][0]["message"] == "quota exceeded"

    on_a_plane(scenario)


def test_a_schedule_that_cannot_be_read_stops_its_rule_only():
    """The webhook lets a field of seconds through."""

    async def scenario(plane):
        start(plane)
        await deployment(plane)
        await cron(plane, {"name": "bad", "schedule": "0 0 23 * * *", "targetReplicas": 9}, UP)
        await until(plane, "2023-11-14T23:00:01Z")
        assert await replicas(plane) == 5
        assert "rule bad never fires" in (await warnings(plane))["StartRuleFailed"]

    on_a_plane(scenario)
