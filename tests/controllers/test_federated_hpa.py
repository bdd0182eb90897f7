"""What a FederatedHPA does to its workload and says about it, on members whose pods and metrics are given."""

import pytest
from tests.controllers.autoscaling import (
    AUTOSCALERS,
    BINDINGS,
    CLAIM,
    CPU,
    DEPLOYMENTS,
    PERIOD,
    deployment,
    scaling,
)

from karmada.controllers.federated_hpa import AutoscalerOptions
from karmada.machinery.errors import Invalid, ServerError, Unavailable

AT_ONCE = AutoscalerOptions(stabilization=0.0)
SCALE = "apps/v1/deployments/web/scale"
STATUS = "autoscaling.karmada.io/v1alpha1/federatedhpas/web/status"
GOT = ("True", "SucceededGetScale", "the HPA controller was able to get the target's current scale")


async def running(world, replicas, usage="50m"):
    """A workload in one member, at its target of usage."""
    await world.members["m1"].run(replicas, usage=usage)
    await world.template(replicas)
    await world.bind("m1")


def test_replicas_follow_the_usage_of_pods_in_all_members():
    async def scenario(world):
        await world.members["m1"].run(2)
        await world.members["m2"].run(1)
        await world.template(3)
        await world.bind("m1", "m2")
        await world.autoscale(CPU)
        await world.sleep(1)
        assert await world.replicas() == 6
        status = await world.status()
        assert (status["currentReplicas"], status["desiredReplicas"]) == (3, 6)
        assert status["lastScaleTime"].startswith("2023-11-14T22:13:2")
        assert status["currentMetrics"][0]["resource"]["current"] == {"averageUtilization": 100, "averageValue": "100m"}
        text = "the HPA controller was able to update the target scale to 6"
        assert await world.condition("AbleToScale") == ("True", "SucceededRescale", text)
        assert (await world.condition("ScalingActive"))[:2] == ("True", "ValidMetricFound")
        assert (await world.condition("ScalingLimited"))[:2] == ("False", "DesiredWithinRange")
        assert await world.condition("ClustersRead") is None
        why = "cpu resource utilization (percentage of request) above target"
        assert await world.events() == {("SuccessfulRescale", f"New size: 6; reason: {why}")}
        assert set(world.plane.context.metrics.pull_metrics.by) == {("success", "ResourceMetric")}
        assert world.controller.queue.adds == 1
        await world.sleep(PERIOD)
        assert await world.replicas() == 12

    scaling(scenario)


@pytest.mark.parametrize(
    ("replicas", "bounds", "usage", "wanted", "why"),
    [
        (3, {"maximum": 2}, "50m", 2, "Current number of replicas above Spec.MaxReplicas"),
        (3, {"minimum": 4}, "50m", 4, "Current number of replicas below Spec.MinReplicas"),
        (2, {"minimum": None}, "0", 1, "All metrics below target"),
        (3, {"minimum": 2}, "0", 2, "All metrics below target"),
    ],
    ids=["more than the most", "fewer than the fewest", "no fewest", "not below the fewest"],
)
def test_replicas_are_brought_within_their_bounds(replicas, bounds, usage, wanted, why):
    async def scenario(world):
        await running(world, replicas, usage)
        await world.autoscale(CPU, **bounds)
        await world.sleep(PERIOD + 1)
        assert await world.replicas() == wanted
        assert await world.events() == {("SuccessfulRescale", f"New size: {wanted}; reason: {why}")}

    scaling(scenario, AT_ONCE)


@pytest.mark.parametrize(("replicas", "minimum"), [(1, None), (3, 3)], ids=["no fewest", "as few as many"])
def test_replicas_at_their_bounds_are_held_by_their_metrics(replicas, minimum):
    async def scenario(world):
        await running(world, replicas)
        await world.autoscale(CPU, minimum=minimum, maximum=replicas)
        await world.sleep(PERIOD * 2)
        assert await world.replicas() == replicas
        assert (await world.status())["currentMetrics"]
        assert (await world.condition("AbleToScale"))[:2] == ("True", "ReadyForNewScale")
        assert await world.events() == set()
        assert (await world.status()).get("lastScaleTime") is None

    scaling(scenario)


def test_a_workload_without_replicas_is_left_alone_and_says_so():
    async def scenario(world):
        await running(world, 1)
        await world.autoscale(CPU)
        await world.sleep(1)
        await world.client.resource(DEPLOYMENTS).set_scale("web", 0, "default")
        await world.sleep(PERIOD)
        assert await world.replicas() == 0
        assert await world.condition("AbleToScale") == GOT
        assert (await world.condition("ScalingActive"))[:2] == ("False", "ScalingDisabled")
        status = await world.status()
        assert (status.get("currentReplicas", 0), status["desiredReplicas"]) == (0, 0)
        assert "currentMetrics" not in status

    scaling(scenario)


def test_an_autoscaler_without_metrics_holds_the_cpu_at_80_percent():
    async def scenario(world):
        await running(world, 3, "89m")
        await world.autoscale()
        await world.sleep(1)
        assert await world.replicas() == 4

    scaling(scenario)


def test_two_autoscalers_of_the_same_pods_wait_until_one_of_them_goes():
    async def scenario(world):
        await running(world, 2)
        await world.autoscale(CPU, name="other", maximum=2)
        await world.sleep(1)
        await world.client.resource(AUTOSCALERS).patch("other", {"metadata": {"finalizers": ["test/held"]}}, "default")
        world.members["m1"].use({"web-0": "100m", "web-1": "100m"})
        await world.autoscale(CPU)
        await world.sleep(PERIOD)
        text = "pods by selector app=web are controlled by multiple HPAs: [default/other default/web]"
        assert await world.condition("ScalingActive") == ("False", "AmbiguousSelector", text)
        assert await world.condition("AbleToScale") == GOT
        assert await world.events() == {("AmbiguousSelector", text)}
        assert await world.replicas() == 2
        await world.client.resource(AUTOSCALERS).delete("other", "default")
        await world.sleep(PERIOD)
        assert await world.replicas() == 4

    scaling(scenario)


def test_what_was_recommended_lately_is_held_until_the_autoscaler_goes():
    async def scenario(world):
        await running(world, 3, "100m")
        await world.autoscale(CPU, maximum=6)
        await world.sleep(PERIOD)
        assert await world.replicas() == 6
        world.members["m1"].use({f"web-{number}": "50m" for number in range(3)})
        await world.client.resource(DEPLOYMENTS).set_scale("web", 3, "default")
        await world.sleep(PERIOD)
        assert await world.replicas() == 6
        assert ("SuccessfulRescale", "New size: 6; reason: All metrics below target") in await world.events()
        await world.client.resource(AUTOSCALERS).delete("web", "default")
        await world.client.resource(DEPLOYMENTS).set_scale("web", 3, "default")
        await world.sleep(1)
        await world.autoscale(CPU)
        await world.sleep(PERIOD)
        assert await world.replicas() == 3

    scaling(scenario)


async def api(world, replicas):
    """Another workload in the same member, whose pods use what they should."""
    tree = deployment(replicas, CLAIM)
    tree["metadata"]["name"] = "api"
    tree["spec"]["selector"] = {"matchLabels": {"app": "api"}}
    tree["spec"]["template"]["metadata"]["labels"] = {"app": "api"}
    member = world.members["m1"]
    managed = {**tree["metadata"], "labels": {"karmada.io/managed": "true"}}
    await member.client.resource(DEPLOYMENTS).create({**tree, "metadata": managed})
    for number in range(replicas):
        await member.pod(f"api-{number}", {"app": "api"})
    member.use({f"{name}-{number}": "50m" for name in ("web", "api") for number in range(replicas)})
    await world.client.resource(DEPLOYMENTS).create(tree)
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "api"}
    spec = {"resource": reference, "clusters": [{"name": "m1", "replicas": replicas}]}
    await world.client.resource(BINDINGS).create(
        {"metadata": {"name": "api-deployment", "namespace": "default"}, "spec": spec}
    )


async def retarget(world, name):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    await world.client.resource(AUTOSCALERS).patch("web", {"spec": {"scaleTargetRef": target}}, "default")


def test_what_was_recommended_for_one_target_is_not_asked_of_the_next():
    async def scenario(world):
        await running(world, 3, "100m")
        await world.autoscale(CPU)
        await world.sleep(1)
        assert await world.replicas() == 6
        await api(world, 2)
        await retarget(world, "api")
        await world.sleep(PERIOD)
        assert (await world.client.resource(DEPLOYMENTS).get("api", "default"))["spec"]["replicas"] == 2

    scaling(scenario)


def test_an_autoscaler_that_is_replaced_at_once_remembers_nothing():
    async def scenario(world):
        await running(world, 3, "100m")
        await world.autoscale(CPU, maximum=6)
        await world.sleep(1)
        assert await world.replicas() == 6
        world.members["m1"].use({f"web-{number}": "50m" for number in range(3)})
        await world.sleep(PERIOD)
        world.hub.inner.held = frozenset({AUTOSCALERS})
        await world.client.resource(DEPLOYMENTS).set_scale("web", 3, "default")
        await world.client.resource(AUTOSCALERS).delete("web", "default")
        await world.autoscale(CPU)
        world.hub.inner.held = frozenset()
        await world.sleep(PERIOD)
        assert await world.replicas() == 3

    scaling(scenario)


def test_an_autoscaler_of_what_is_missing_gives_up_the_pods_that_it_had():
    async def scenario(world):
        await running(world, 2)
        await world.autoscale(CPU)
        await world.sleep(1)
        await retarget(world, "missing")
        await world.sleep(PERIOD)
        assert (await world.condition("AbleToScale"))[:2] == ("False", "FailedGetScaleTargetRef")
        world.members["m1"].use({"web-0": "100m", "web-1": "100m"})
        await world.autoscale(CPU, name="other", maximum=4)
        await world.sleep(PERIOD)
        assert await world.replicas() == 4

    scaling(scenario)


def test_a_member_that_cannot_be_read_is_named_until_it_can():
    async def scenario(world):
        await running(world, 2)
        await world.members["m2"].run(1, usage="50m")
        await world.client.resource(DEPLOYMENTS).set_scale("web", 3, "default")
        world.members["m2"].transport.answers["v1/pods"] = Unavailable("not now")
        binding = {"spec": {"clusters": [{"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 1}]}}
        await world.rebind(binding)
        await world.autoscale(CPU)
        await world.sleep(PERIOD * 3)
        assert await world.condition("ClustersRead") == ("False", "ClusterNotReadable", "m2: not now")
        assert await world.events() == {("ClusterNotReadable", "m2: not now")}
        assert await world.replicas() == 3
        del world.members["m2"].transport.answers["v1/pods"]
        await world.sleep(PERIOD)
        assert (await world.condition("ClustersRead"))[:2] == ("True", "AllClustersRead")

    scaling(scenario)


def test_a_template_that_changed_meanwhile_is_looked_at_again_at_once():
    async def scenario(world):
        async def interfere():
            if not done:
                done.append(True)
                await world.client.resource(DEPLOYMENTS).set_scale("web", 4, "default")

        done = []
        await running(world, 3, "100m")
        world.hub.answers[SCALE] = interfere
        await world.autoscale(CPU)
        await world.sleep(1)
        assert await world.replicas() == 8
        assert {message.partition(";")[0] for _, message in await world.events()} == {"New size: 8"}

    scaling(scenario)


def test_a_template_that_cannot_be_scaled_is_named():
    async def scenario(world):
        await running(world, 3, "100m")
        world.hub.answers[SCALE] = Invalid("too many")
        await world.autoscale(CPU)
        await world.sleep(1)
        text = "the HPA controller was unable to update the target scale: too many"
        assert await world.condition("AbleToScale") == ("False", "FailedUpdateScale", text)
        (event,) = await world.events()
        assert (event[0], event[1].startswith("New size: 6; "), event[1].endswith("error: too many")) == (
            ("FailedRescale", True, True)
        )
        assert (await world.status())["desiredReplicas"] == 3

    scaling(scenario)


def test_a_status_that_cannot_be_written_is_named_and_written_later():
    async def scenario(world):
        await running(world, 3)
        world.hub.answers[STATUS] = ServerError("no quorum")
        await world.autoscale(CPU)
        await world.sleep(1)
        assert await world.events() == {("FailedUpdateStatus", "no quorum")}
        del world.hub.answers[STATUS]
        await world.sleep(PERIOD / 3)
        assert (await world.status())["currentReplicas"] == 3

    scaling(scenario)
