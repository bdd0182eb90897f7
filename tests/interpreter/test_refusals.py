"""What an interpreter cannot answer is refused with words that say why, whoever was asked."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import pytest
from msgspec import Raw

from karmada.api.codec import raw
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.facade import LayeredInterpreter, native_interpreter, wall_clock
from karmada.interpreter.lua.engine import Call, CallFailed, Engine
from karmada.interpreter.lua.level import LuaLevel
from karmada.interpreter.lua.pool import Pool, Script, ScriptError
from karmada.interpreter.lua.protocol import ErrorClass, Result
from karmada.interpreter.model import GroupVersionKind, InterpretError, JSONObject, NoRule, Operation
from karmada.interpreter.rules_level import RulesLevel
from karmada.interpreter.shape import Metadata, ensure, mapping, objects, status_of, texts, view
from karmada.interpreter.thirdparty import bundled_rules
from karmada.interpreter.types import fit
from karmada.interpreter.webhook import WebhookLevel

WIDGET = {"apiVersion": "example.io/v1", "kind": "Widget", "metadata": {"name": "w"}}
KIND = GroupVersionKind("example.io", "v1", "Widget")


class Answering:
    """A pool of which the answer is known."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def call(self, script: Script, names: Sequence[str], arguments: Any, references: int, result: Result) -> Any:
        return self._answer


def scripted(answer: Any) -> LuaLevel:
    scripts = {(KIND, operation): [Script.of("", "c")] for operation in Operation}
    return LuaLevel(cast(Pool, Answering(answer)), scripts)


async def nobody(*_: Any) -> bytes:
    raise AssertionError("nobody is asked")


@pytest.mark.parametrize(
    ("level", "why"),
    [
        (LuaLevel(cast(Pool, Answering(None)), {}), "no script answers {} for Widget"),
        (RulesLevel("plug-ins", {}), "plug-ins has no {} rule for Widget"),
        (WebhookLevel(nobody, []), "no webhook answers {} for Widget"),
    ],
    ids=["scripts", "rules", "webhooks"],
)
async def test_who_has_no_answer_says_so(level: Any, why: str) -> None:
    asked: dict[Operation, Callable[[JSONObject], Awaitable[Any]]] = {
        Operation.REPLICAS: level.replicas,
        Operation.HEALTH: level.healthy,
        Operation.DEPENDENCIES: level.dependencies,
    }
    for operation, ask in asked.items():
        with pytest.raises(NoRule) as refused:
            await ask(WIDGET)
        assert str(refused.value) == why.format(operation)


@pytest.mark.parametrize(
    ("replicas", "fits"), [(2**31 - 1, True), (-(2**31), True), (2**31, False), (-(2**31) - 1, False)]
)
async def test_a_part_has_as_many_replicas_as_32_bits_hold(replicas: float, fits: bool) -> None:
    level = scripted([{"name": "a", "replicas": replicas}])
    if fits:
        assert [part.replicas for part in await level.components(WIDGET)] == [replicas]
        return
    with pytest.raises(ScriptError, match=f"the script's answer does not fit: {replicas} replicas") as refused:
        await level.components(WIDGET)
    assert (refused.value.error_class, refused.value.source) == (ErrorClass.CONVERT, "c")


async def test_amounts_that_a_script_gives_have_to_be_some() -> None:
    with pytest.raises(ScriptError, match=r"the script.s answer does not fit: .*much") as refused:
        await scripted([1, {"resourceRequest": {"cpu": "much"}}]).replicas(WIDGET)
    assert refused.value.error_class is ErrorClass.CONVERT


def test_a_script_that_is_out_of_memory_is_said_to_be() -> None:
    engine = Engine()
    engine.load("k", "function F() local t = {} while true do t[#t + 1] = {} end end")
    with pytest.raises(CallFailed, match="not enough memory") as failed:
        engine.call("k", Call(["F"], [], 0, Result.TABLE))
    assert failed.value.error_class is ErrorClass.MEMORY


def test_amounts_that_no_machine_has_are_an_error_of_the_script() -> None:
    engine = Engine()
    engine.load("k", 'local kube = require("kube") function F() return {n = kube.resourceAdd("1e99999999", "1")} end')
    with pytest.raises(CallFailed, match="resourceAdd: QuantityError") as failed:
        engine.call("k", Call(["F"], [], 0, Result.TABLE))
    assert failed.value.error_class is ErrorClass.RUNTIME


BAD_SHAPES: dict[str, tuple[Callable[[], Any], str]] = {
    "a step that is none": (lambda: ensure({"a": {"b": 7}}, "a", "b", "c"), "a.b is int, not an object"),
    "the first step": (lambda: ensure({"a": "x"}, "a"), "a is str, not an object"),
    "a step that is text": (lambda: mapping({"a": {"b": "x"}}, "a", "b", "c"), "a.b is str, not an object"),
    "a value that is no text": (lambda: texts({"a": {"b": {"c": 1}}}, "a", "b"), "a.b has a value that is not text"),
    "no list": (lambda: objects({"a": {}}, "a"), "a is not a list of objects"),
    "a list of texts": (lambda: objects({"a": [{}, "x"]}, "a"), "a is not a list of objects"),
}


@pytest.mark.parametrize(("read", "why"), BAD_SHAPES.values(), ids=BAD_SHAPES)
def test_what_is_not_an_object_is_named_with_its_place(read: Callable[[], Any], why: str) -> None:
    with pytest.raises(InterpretError) as refused:
        read()
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("tree", "named"), [({"kind": "Widget", "name": 7}, "Widget"), ({"name": 7}, "value"), ("text", "value")]
)
def test_what_has_not_the_shape_of_its_kind_is_named_by_its_kind(tree: Any, named: str) -> None:
    with pytest.raises(InterpretError, match=f"^{named} does not have the shape of its kind: "):
        view(tree, Metadata)


def test_nulls_count_as_absent() -> None:
    assert view({"name": None, "namespace": "a", "labels": None}, Metadata) == Metadata(namespace="a")


def test_a_status_that_cannot_be_read_is_named_by_its_cluster() -> None:
    item = AggregatedStatusItem(cluster_name="m1", status=raw({"name": 7}))
    with pytest.raises(InterpretError, match=r"^status of m1 does not have the shape of its kind: "):
        status_of(item, Metadata)


def bundled() -> LayeredInterpreter:
    return LayeredInterpreter(RulesLevel("bundled", bundled_rules(wall_clock)))


def of(kind: str, **fields: Any) -> JSONObject:
    version, _, name = kind.rpartition("/")
    return {"apiVersion": version, "kind": name, "metadata": {"name": "w", "namespace": "default"}, **fields}


RAY, VOLCANO = "ray.io/v1/RayCluster", "batch.volcano.sh/v1alpha1/Job"
SPARK, FLINK = "sparkoperator.k8s.io/v1beta2/SparkApplication", "flink.apache.org/v1beta1/FlinkDeployment"
PARTS: dict[str, tuple[JSONObject, str]] = {
    "no template": (of(VOLCANO, spec={"tasks": [{"name": "a"}]}), "the pod template is missing"),
    "a name that is a number": (of(VOLCANO, spec={"tasks": [{"name": 7, "template": {}}]}), "7 is no name"),
    "memory": (of(SPARK, spec={"type": "Java", "driver": {"memory": "lots"}}), "'lots' is no amount of memory"),
    "memory of another unit": (of(SPARK, spec={"type": "Java", "driver": {"memory": "1gbb"}}), "'1gbb' is no amount"),
    "a resource that is a number": (
        of(SPARK, spec={"type": "Java", "driver": {"gpu": {"name": 7, "quantity": 1}}}),
        "the name of a resource is not text",
    ),
}


@pytest.mark.parametrize(("resource", "why"), PARTS.values(), ids=PARTS)
async def test_parts_that_cannot_be_known_fail_with_the_reason(resource: JSONObject, why: str) -> None:
    with pytest.raises(InterpretError, match=why):
        await bundled().components(resource)


async def test_an_amount_that_is_none_is_named_with_its_resource() -> None:
    manager = {"resource": {"cpu": True, "memory": "1Gi"}}
    with pytest.raises(InterpretError, match="cpu: True is no amount"):
        await bundled().components(of(FLINK, spec={"taskManager": manager, "jobManager": manager}))


async def aggregated(resource: JSONObject, *statuses: Any) -> Any:
    items = [AggregatedStatusItem(cluster_name=f"m{n}", status=raw(status)) for n, status in enumerate(statuses, 1)]
    return (await bundled().aggregate(resource, items))["status"]


@pytest.mark.parametrize("value", [7, "lots"])
async def test_amounts_of_clusters_that_are_none_are_not_added_up(value: Any) -> None:
    with pytest.raises(InterpretError, match=f"^desiredCPU(: | is ).*{value}"):
        await aggregated(of(RAY), {"desiredCPU": "1"}, {"desiredCPU": value})


async def test_a_template_whose_status_is_an_empty_list_has_none_and_one_that_is_text_is_refused() -> None:
    assert (await aggregated(of(RAY, status=[]), {"desiredCPU": "1"}, {"desiredCPU": "2"}))["desiredCPU"] == "3"
    with pytest.raises(InterpretError, match="the status of the template is not an object"):
        await aggregated(of(RAY, status="text"), {"desiredCPU": "1"}, {})


async def test_a_spark_application_of_one_cluster_has_its_status_as_it_is() -> None:
    status = {"applicationState": {"state": "RUNNING"}, "anything": "else"}
    assert await aggregated(of(SPARK), status) == status


async def test_empty_entries_at_the_end_of_a_list_go_and_others_are_refused() -> None:
    failed = [{"status": "Failed"}, {}, {"message": ""}]
    assert (await aggregated(of(VOLCANO), {"conditions": failed}, {}))["conditions"] == [{"status": "Failed"}]
    with pytest.raises(InterpretError, match="an entry of a list is empty"):
        await aggregated(of(VOLCANO), {"conditions": [{"status": "Failed"}, {}, {"status": "Failed"}]}, {})


async def test_a_status_that_is_no_json_is_named_by_its_cluster() -> None:
    items = [AggregatedStatusItem(cluster_name=name, status=Raw(b"{")) for name in ("m1", "m2")]
    with pytest.raises(InterpretError, match=r"^status of m1: "):
        await bundled().aggregate(of(VOLCANO), items)


@pytest.mark.parametrize("kind", [VOLCANO, "kubeflow.org/v2beta1/MPIJob"])
async def test_a_job_without_a_status_reports_an_empty_one(kind: str) -> None:
    assert await bundled().reflect(of(kind)) == {}


async def test_what_an_init_container_asks_none_of_is_not_requested() -> None:
    resources = {"requests": {"cpu": "0", "memory": "0"}}
    pod = {"initContainers": [{"name": "i", "resources": resources}], "containers": [{"name": "c"}]}
    spec = {"replicas": 1, "selector": {}, "template": {"spec": pod}}
    assert (await native_interpreter().replicas(of("apps/v1/Deployment", spec=spec))).requirements is None


async def test_times_that_are_false_are_none() -> None:
    state, at = {"state": "RUNNING"}, "2026-01-02T03:04:05Z"
    reported = [{"applicationState": state, "terminationTime": time} for time in (False, at, False)]
    assert (await aggregated(of(SPARK), *reported))["terminationTime"] == at
    assert "terminationTime" not in await aggregated(of(SPARK), reported[0], reported[2])


async def test_an_autoscaler_of_a_fraction_of_a_replica_is_not_aggregated() -> None:
    autoscaler = of("autoscaling/v2/HorizontalPodAutoscaler", status={"currentReplicas": 2.0})
    items = [AggregatedStatusItem(cluster_name="m1", status=raw({"currentReplicas": 1}))]
    with pytest.raises(InterpretError, match="expected int, got float"):
        await native_interpreter().aggregate(autoscaler, items)


def test_what_scripts_say_with_fractions_is_read_as_leniently_in_all_of_a_pod() -> None:
    managers = [{"manager": "m", "fieldsV1": {"f:spec": {}}}]
    container = {"name": "c", "resources": {"limits": {"cpu": 0.5, "memory": "1Gi"}}}
    pod = {"metadata": {"managedFields": managers, "generation": 2.0}, "spec": {"containers": [container]}}
    fit(pod, "core.Pod", exact=False)
    with pytest.raises(InterpretError, match="generation"):
        fit(pod, "core.Pod", exact=True)
