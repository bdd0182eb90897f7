"""What FederatedHPAs read of each kind of metric, and what they say when they cannot."""

import orjson
import pytest
from tests.controllers.autoscaling import CPU, CUSTOM, PERIOD, USAGES, scaling

from karmada.controllers.federated_hpa import AutoscalerOptions
from karmada.controllers.hpa_metrics import AT_ONCE
from karmada.machinery.errors import NotFound, Unavailable

AVERAGE = {"type": "AverageValue", "averageValue": "10"}
CONTAINER = {
    "name": "cpu",
    "container": "side",
    "target": {"type": "Utilization", "averageUtilization": 50},
}
SERVICE = {"apiVersion": "v1", "kind": "Service", "name": "front"}
SOURCES = {
    "resource": CPU["resource"],
    "containerResource": CONTAINER | {"container": "app"},
    "pods": {"metric": {"name": "rate"}, "target": AVERAGE},
    "object": {"describedObject": SERVICE, "metric": {"name": "hits"}, "target": AVERAGE},
    "external": {"metric": {"name": "queue"}, "target": AVERAGE},
}
TYPES = {source: source[0].upper() + source[1:] for source in SOURCES}
FIGURES = {
    "resource": "ResourceMetric",
    "containerResource": "ResourceMetric",
    "pods": "RawMetric",
    "object": "ObjectMetric",
    "external": "ExternalMetric",
}
QUEUE = "external.metrics.k8s.io/v1beta1/queue"
RATE = f"{CUSTOM}/pods/*/rate"
HITS = f"{CUSTOM}/services/front/hits"
NOT_SERVED = "the server could not find the requested resource"


def values(**amounts):
    """An answer of a metrics API, by object."""
    return {"items": [{"describedObject": {"name": name}, "value": amount} for name, amount in amounts.items()]}


def of_pods(first, second):
    return {
        "items": [
            {"describedObject": {"name": "web-0"}, "value": first, "timestamp": "2023-11-14T22:00:00Z"},
            {"describedObject": {"name": "web-1"}, "value": second, "timestamp": "2023-11-14T22:00:00Z"},
        ]
    }


async def running(world, *metrics):
    """Two pods in one member and one in the other; every API of metrics answers, except for what was set before."""
    set_before = {name: dict(member.transport.answers) for name, member in world.members.items()}
    await world.members["m1"].run(2, usage="60m")
    await world.members["m2"].run(1, usage="60m")
    first, second = (world.members[name].transport.answers for name in ("m1", "m2"))
    first[RATE], second[RATE] = of_pods("12", "14"), values(**{"web-0": "16"})
    first[HITS], second[HITS] = values(front="20"), values(front="25")
    for name, member in world.members.items():
        member.transport.answers |= set_before[name]
    world.hub.answers.setdefault(QUEUE, values(a="30", b="3"))
    await world.template(3)
    await world.bind("m1", "m2")
    await world.autoscale(*metrics, maximum=3, minimum=3)
    await world.sleep(1)


@pytest.mark.parametrize(
    ("source", "current"),
    [
        ("resource", {"averageUtilization": 60, "averageValue": "60m"}),
        ("containerResource", {"averageUtilization": 60, "averageValue": "60m"}),
        ("pods", {"averageValue": "14"}),
        ("object", {"averageValue": "15"}),
        ("external", {"averageValue": "11"}),
    ],
)
def test_the_type_of_a_metric_says_what_is_read(source, current):
    async def scenario(world):
        others = {name: one for name, one in SOURCES.items() if (source, name) != ("external", "object")}
        await running(world, {"type": TYPES[source], **others})
        (found,) = (await world.status())["currentMetrics"]
        assert found["type"] == TYPES[source]
        assert found[source]["current"] == current
        assert set(world.plane.context.metrics.pull_metrics.by) == {("success", FIGURES[source])}

    scaling(scenario)


@pytest.mark.parametrize("source", SOURCES)
def test_a_metric_without_the_source_of_its_type_is_named(source):
    async def scenario(world):
        others = {name: one for name, one in SOURCES.items() if name != source}
        if source in ("object", "external"):
            others = {"resource": CPU["resource"]}
        await running(world, {"type": TYPES[source], **others})
        text = f'unknown metric source type "{TYPES[source]}"'
        assert ("InvalidMetricSourceType", text) in await world.events()
        compute = f"invalid metrics (1 invalid out of 1), first error is: {text}"
        assert ("FailedComputeMetricsReplicas", compute) in await world.events()
        assert (await world.condition("ScalingActive"))[:2] == ("False", "InvalidMetricSourceType")
        assert set(world.plane.context.metrics.pull_metrics.by) == {("error", FIGURES[source])}

    scaling(scenario)


USAGE_API = "unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: "
POD_API = "unable to get metric rate: unable to fetch metrics from custom metrics API: "
HITS_API = "unable to get metric hits: unable to fetch metrics from custom metrics API: "
QUEUE_API = "unable to get metric queue: "


@pytest.mark.parametrize(
    ("source", "answer", "text"),
    [
        ("resource", NotFound(NOT_SERVED), f"{USAGE_API}{NOT_SERVED} (get pods.metrics.k8s.io)"),
        ("resource", NotFound("no such thing"), f"{USAGE_API}no such thing"),
        ("resource", Unavailable("not now"), f"{USAGE_API}not now"),
        ("resource", {"items": []}, "no metrics returned from resource metrics API"),
        ("pods", NotFound(NOT_SERVED), f"{POD_API}{NOT_SERVED} (get pods.custom.metrics.k8s.io)"),
        ("pods", {"items": []}, "no metrics returned from custom metrics API"),
        ("object", {"items": []}, f"{HITS_API}no cluster has it for Service default/front"),
        ("object", NotFound("none"), f"{HITS_API}no cluster has it for Service default/front"),
        ("object", Unavailable("not now"), f"{HITS_API}not now"),
        ("external", {"items": []}, f"{QUEUE_API}no metrics returned from external metrics API"),
        ("external", Unavailable("not now"), f"{QUEUE_API}unable to fetch metrics from external metrics API: not now"),
    ],
)
def test_a_metric_without_a_value_is_named_with_the_reason(source, answer, text):
    async def scenario(world):
        for member in world.members.values():
            older = (RATE.replace("v1beta2", "v1beta1"), HITS.replace("v1beta2", "v1beta1"))
            member.transport.answers = dict.fromkeys((USAGES, RATE, HITS, *older), answer)
        world.hub.answers[QUEUE] = answer
        await running(world, {"type": TYPES[source], source: SOURCES[source]})
        status, _, message = await world.condition("ScalingActive")
        assert status == "False"
        assert message.endswith(text)
        assert set(world.plane.context.metrics.pull_metrics.by) == {("error", FIGURES[source])}

    scaling(scenario)


@pytest.mark.parametrize(
    ("source", "path", "current"),
    [
        ("resource", USAGES, {"averageUtilization": 60, "averageValue": "60m"}),
        ("pods", RATE, {"averageValue": "13"}),
        ("object", HITS, {"averageValue": "7"}),
    ],
)
def test_members_that_answer_suffice(source, path, current):
    async def scenario(world):
        world.members["m2"].transport.answers[path] = Unavailable("not now")
        await running(world, {"type": TYPES[source], source: SOURCES[source]})
        (found,) = (await world.status()).get("currentMetrics") or (None,)
        if source == "object":
            text = "the HPA was unable to compute the replica count: metric hits is incomplete, so replicas are not "
            assert (await world.condition("ScalingActive"))[2] == f"{text}removed: m2: not now"
        else:
            assert found[source]["current"] == current

    scaling(scenario)


def test_a_member_that_sends_a_number_without_end_costs_its_own_part_only():
    async def scenario(world):
        item = {"describedObject": {"name": "web-0"}, "value": "1", "windowSeconds": orjson.Fragment(b"9" * 400)}
        world.members["m2"].transport.answers[RATE] = {"items": [item]}
        await running(world, {"type": "Pods", "pods": SOURCES["pods"]})
        (found,) = (await world.status())["currentMetrics"]
        assert found["pods"]["current"] == {"averageValue": "13"}

    scaling(scenario)


def test_the_metric_of_an_object_counts_as_incomplete_while_a_cluster_is_not_ready():
    async def scenario(world):
        await world.plane.condition("m2", "Ready", "False")
        world.members["m1"].transport.answers[HITS] = values(front="5")
        await running(world, {"type": "Object", "object": SOURCES["object"]})
        text = "the HPA was unable to compute the replica count: metric hits is incomplete, so replicas are not "
        assert (await world.condition("ScalingActive"))[2] == f"{text}removed: m2: it is not ready"

    scaling(scenario)


@pytest.mark.parametrize("answer", [values(front="100000"), Unavailable("not now")], ids=["much", "nothing"])
def test_a_cluster_that_does_not_run_the_workload_has_no_say_in_the_metric_of_an_object(answer):
    async def scenario(world):
        first, second = (world.members[name].transport for name in ("m1", "m2"))
        first.answers[HITS], second.answers[HITS] = answer, values(front="10")
        await world.members["m2"].run(2)
        await world.template(2)
        await world.bind("m2")
        await world.autoscale({"type": "Object", "object": SOURCES["object"]})
        await world.sleep(PERIOD * 2)
        assert await world.replicas() == 1
        assert HITS not in {path for path, _ in first.asked}

    scaling(scenario, AutoscalerOptions(stabilization=0))


def test_pods_without_a_metric_and_pods_of_others_are_left_out():
    async def scenario(world):
        world.members["m1"].transport.answers[RATE] = values(**{"web-1": "14", "other": "1000"})
        world.members["m2"].transport.answers[RATE] = values(**{"web-0": "16", "web-1": "1000"})
        await running(world, {"type": "Pods", "pods": SOURCES["pods"]})
        (found,) = (await world.status())["currentMetrics"]
        assert found["pods"]["current"] == {"averageValue": "15"}

    scaling(scenario)


@pytest.mark.parametrize(
    ("described", "path"),
    [
        ({"apiVersion": "v1", "kind": "Namespace", "name": "default"}, "metrics/hits"),
        ({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "x"}, "ingresses.networking.k8s.io/x/hits"),
        ({"apiVersion": "v1", "kind": "Service", "name": "front"}, "services/front/hits"),
    ],
    ids=["namespace", "with a group", "core"],
)
def test_the_metric_of_an_object_is_read_below_its_kind(described, path):
    async def scenario(world):
        for member in world.members.values():
            member.transport.answers[f"{CUSTOM}/{path}"] = values(x="15")
        await running(world, {"type": "Object", "object": SOURCES["object"] | {"describedObject": described}})
        (found,) = (await world.status())["currentMetrics"]
        assert found["object"]["current"] == {"averageValue": "10"}

    scaling(scenario)


def test_the_metric_of_an_object_of_no_kind_is_not_taken_for_none():
    async def scenario(world):
        described = {"apiVersion": "example.io/v1", "kind": "Widget", "name": "x"}
        await running(world, {"type": "Object", "object": SOURCES["object"] | {"describedObject": described}})
        status, reason, message = await world.condition("ScalingActive")
        assert (status, reason) == ("False", "FailedGetObjectMetric")
        assert "no cluster has it" not in message

    scaling(scenario)


def test_members_are_asked_for_the_version_of_the_metrics_that_they_serve():
    async def scenario(world):
        transport = world.members["m1"].transport
        older = RATE.replace("v1beta2", "v1beta1")
        transport.answers |= {RATE: NotFound(NOT_SERVED), older: of_pods("12", "14")}
        await running(world, {"type": "Pods", "pods": SOURCES["pods"]})
        assert [path for path, _ in transport.asked if "custom" in path] == [RATE, older]
        transport.params.clear()
        await world.sleep(PERIOD * 2)
        assert {path for path, _ in transport.asked if "custom" in path} == {older}
        (found,) = (await world.status())["currentMetrics"]
        assert found["pods"]["current"] == {"averageValue": "14"}

    scaling(scenario)


def test_the_selector_of_a_metric_is_passed_on():
    async def scenario(world):
        narrowed = {"metric": {"name": "rate", "selector": {"matchLabels": {"verb": "GET"}}}, "target": AVERAGE}
        queue = {"metric": {"name": "queue", "selector": {"matchLabels": {"name": "jobs"}}}, "target": AVERAGE}
        await running(world, {"type": "Pods", "pods": narrowed}, {"type": "External", "external": queue})
        (asked,) = [params for path, params in world.members["m1"].transport.params if path == RATE]
        assert asked == {"labelSelector": "app=web", "metricLabelSelector": "verb=GET"}
        assert (QUEUE, {"labelSelector": "name=jobs"}) in world.hub.params

    scaling(scenario)


def test_members_are_not_asked_for_an_external_metric():
    async def scenario(world):
        both = {name: SOURCES[name] for name in ("external", "object")}
        await running(world, {"type": "External", **both})
        assert QUEUE in {path for path, _ in world.hub.asked}
        assert HITS not in {path for path, _ in world.members["m1"].transport.asked}

    scaling(scenario)


def test_an_external_metric_with_a_name_that_fits_in_no_address_is_refused():
    async def scenario(world):
        await running(world, {"type": "External", "external": {"metric": {"name": "a/b"}, "target": AVERAGE}})
        text = "external metric a/b: names have letters, digits and . _ : - only"
        assert (await world.condition("ScalingActive"))[2].endswith(text)

    scaling(scenario)


def test_the_metrics_of_a_namespace_are_read_a_few_at_a_time():
    async def scenario(world):
        asking = most = 0

        async def answer():
            nonlocal asking, most
            asking += 1
            most = max(most, asking)
            await world.sleep(0.1)
            asking -= 1

        metrics = []
        for number in range(40):
            world.members["m1"].transport.answers[f"{CUSTOM}/pods/*/rate-{number}"] = answer
            metrics.append({"type": "Pods", "pods": {"metric": {"name": f"rate-{number}"}, "target": AVERAGE}})
        await running(world, *metrics)
        assert 1 < most <= AT_ONCE

    scaling(scenario)
