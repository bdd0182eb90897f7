"""Edges of native and bundled rules that no recording has."""

from typing import Any

import pytest
from tests.interpreter.test_native import addresses, items, resource

from karmada.interpreter.facade import native_interpreter
from karmada.interpreter.model import InterpretError
from karmada.interpreter.native.counters import int32
from karmada.interpreter.thirdparty import flink, flux

# Native kinds.


async def test_addresses_differ_by_hostname_address_and_mode_in_this_order() -> None:
    points = [
        {"ip": "10.0.0.2"},
        {"ip": "10.0.0.1", "ipMode": "VIP"},
        {"ip": "10.0.0.1"},
        {"hostname": "b.example", "ip": "10.0.0.9"},
        {"hostname": "a.example"},
    ]
    assert await addresses(points, points) == [points[4], points[3], points[1], points[2], points[0]]


async def test_ports_of_an_address_differ_by_number_protocol_and_error() -> None:
    ports: list[dict[str, Any]] = [
        {"port": 80, "protocol": "UDP"},
        {"port": 80, "protocol": "TCP", "error": "y"},
        {"port": 80, "protocol": "TCP", "error": "x"},
        {"port": 80, "protocol": "TCP"},
        {"port": 7, "protocol": "TCP"},
    ]
    [found] = await addresses([{"ip": "10.0.0.1", "ports": ports}], [{"ip": "10.0.0.1", "ports": ports[:2]}])
    assert found["ports"] == [ports[4], ports[3], ports[2], ports[1], ports[0]]


@pytest.mark.parametrize(
    ("number", "kept"), [(2**31 - 1, 2**31 - 1), (2**31, -(2**31)), (-(2**31) - 1, 2**31 - 1), (2**32 + 5, 5), (0, 0)]
)
def test_counters_have_32_bits(number: int, kept: int) -> None:
    assert int32(number) == kept


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
@pytest.mark.parametrize(
    ("wanted", "status", "healthy"),
    [
        (2, {"observedGeneration": 3, "updatedReplicas": 2, "availableReplicas": 2}, True),
        (2, {"observedGeneration": 3, "updatedReplicas": 2, "availableReplicas": 1}, False),
        (2, {"observedGeneration": 3, "updatedReplicas": 1, "availableReplicas": 1}, False),
        (2, {"observedGeneration": 2, "updatedReplicas": 2, "availableReplicas": 2}, False),
        (None, {"observedGeneration": 3}, True),
        (None, {"observedGeneration": 3, "updatedReplicas": -1, "availableReplicas": -1}, True),
        (0, {"observedGeneration": 3}, True),
    ],
)
async def test_a_workload_is_healthy_when_its_latest_replicas_are_available(
    kind: str, wanted: int | None, status: dict[str, int], healthy: bool
) -> None:
    observed = resource("apps/v1", kind, spec={} if wanted is None else {"replicas": wanted}, status=status)
    observed["metadata"]["generation"] = 3
    assert await native_interpreter().healthy(observed) is healthy


@pytest.mark.parametrize(
    ("phase", "ready", "healthy"),
    [("Succeeded", None, True), ("Running", "True", True), ("Running", "False", False), ("Pending", "True", False)],
)
async def test_a_pod_is_healthy_when_it_is_ready_or_has_succeeded(phase: str, ready: str | None, healthy: bool) -> None:
    conditions = [{"type": "Initialized", "status": "True"}, *([{"type": "Ready", "status": ready}] if ready else [])]
    pod = resource("v1", "Pod", spec={}, status={"phase": phase, "conditions": conditions})
    assert await native_interpreter().healthy(pod) is healthy


async def test_a_pod_that_kubernetes_could_not_read_is_not_retained() -> None:
    good, bad = resource("v1", "Pod", spec={"containers": []}), resource("v1", "Pod", spec={"hostNetwork": "yes"})
    for desired, observed in ((good, bad), (bad, good)):
        with pytest.raises(InterpretError, match="hostNetwork"):
            await native_interpreter().retain(desired, observed)


async def test_a_claim_without_a_spec_gets_no_class() -> None:
    observed = resource("v1", "PersistentVolumeClaim", spec={"storageClassName": "standard"})
    desired = resource("v1", "PersistentVolumeClaim")
    assert await native_interpreter().retain(desired, observed) == resource("v1", "PersistentVolumeClaim")
    bound = resource("v1", "PersistentVolumeClaim", spec={"volumeName": "v", "storageClassName": 7})
    retained = await native_interpreter().retain(resource("v1", "PersistentVolumeClaim", spec={}), bound)
    assert retained["spec"] == {"volumeName": "v"}


async def test_a_secret_of_a_service_account_keeps_the_token_of_the_member() -> None:
    desired, token = resource("v1", "Secret", type="kubernetes.io/service-account-token", data={"a": "x"}), {"t": "y"}
    bare = resource("v1", "Secret", type="kubernetes.io/service-account-token")
    interpreter = native_interpreter()
    assert (await interpreter.retain(dict(desired), {**bare, "data": token}))["data"] == token
    assert (await interpreter.retain(dict(desired), bare))["data"] == {"a": "x"}
    other = resource("v1", "Secret", type="Opaque", data={"a": "x"})
    assert (await interpreter.retain(dict(other), {**bare, "data": token}))["data"] == {"a": "x"}


@pytest.mark.parametrize(
    ("generations", "observed"),
    [((4, 4, 4), 9), ((4, 3, 4), 1), ((4, 4, 3), 1), ((4, 5, 5), 9)],
    ids=["same", "not observed", "of an older template", "ahead"],
)
async def test_a_stateful_set_is_observed_when_every_member_is_up_to_date(
    generations: tuple[int, int, int], observed: int
) -> None:
    fields = ("generation", "observedGeneration", "resourceTemplateGeneration")
    status = {"replicas": 1, **dict(zip(fields, generations, strict=True))}
    template = resource("apps/v1", "StatefulSet", spec={}, status={"observedGeneration": 1, "terminatingReplicas": 2})
    template["metadata"]["generation"] = 9
    found = (await native_interpreter().aggregate(template, items(status)))["status"]
    assert found == {"observedGeneration": observed, "replicas": 1, "availableReplicas": 0}


# Flink and Flux.


def deployment(memory: Any = None, cpu: Any = None, **managers: Any) -> dict[str, Any]:
    amounts = {name: amount for name, amount in (("memory", memory), ("cpu", cpu)) if amount is not None}
    return {"metadata": {"namespace": "n"}, "spec": {"jobManager": {"resource": amounts}, **managers}}


def request_of(tree: dict[str, Any]) -> dict[str, Any]:
    assert flink.DEPLOYMENT.replicas is not None
    found = flink.DEPLOYMENT.replicas(tree).requirements
    assert found is not None
    return dict(found.resource_request)


@pytest.mark.parametrize(
    ("memory", "spelled"),
    [("2048m", "2Gi"), ("4gb", "4Gi"), ("1 k", "1Ki"), ("5b", "5"), ("1t", "1Ti"), ("3Gi", "3Gi"), ("0", "0")],
)
def test_memory_is_read_as_flink_or_kubernetes_spells_it(memory: str, spelled: str) -> None:
    assert request_of(deployment(memory))["memory"] == spelled
    larger = deployment(memory, taskManager={"resource": {"memory": "1b"}})
    assert request_of(larger)["memory"] in (spelled, "1")


def test_the_larger_of_two_managers_counts() -> None:
    tree = deployment("1g", 1, taskManager={"resource": {"memory": "2048m", "cpu": 0.5}})
    assert request_of(tree)["memory"] == "2Gi"


@pytest.mark.parametrize("memory", [7, "much", "-1Gi"])
def test_memory_that_makes_no_sense_is_refused(memory: Any) -> None:
    with pytest.raises(InterpretError):
        request_of(deployment(memory, taskManager={"resource": {"memory": "1g"}}))


def test_a_namespace_that_is_no_text_is_refused() -> None:
    with pytest.raises(InterpretError, match=r"metadata\.namespace is not text"):
        request_of({**deployment("1g"), "metadata": {"namespace": 7}})


@pytest.mark.parametrize(
    ("status", "healthy"),
    [
        ({"jobManagerDeploymentStatus": "READY", "lifecycleState": "STABLE"}, True),
        ({"jobManagerDeploymentStatus": "READY"}, False),
        ({"jobStatus": {"state": "RUNNING"}}, True),
        ({"jobStatus": {"state": "CREATED"}}, False),
        ({"jobStatus": {"state": "CREATED"}, "error": "x ErrImagePull"}, True),
        ({"jobStatus": {"state": "CREATED"}, "error": "x"}, False),
        ({"jobStatus": {"state": "CREATED"}, "error": False}, False),
    ],
)
def test_a_flink_deployment_is_healthy_when_it_runs_or_cannot_by_its_own_fault(
    status: dict[str, Any], healthy: bool
) -> None:
    assert flink.DEPLOYMENT.health is not None
    assert flink.DEPLOYMENT.health({"status": status}) is healthy


def test_an_error_that_is_no_text_is_refused() -> None:
    assert flink.DEPLOYMENT.health is not None
    with pytest.raises(InterpretError, match=r"status\.error is not text"):
        flink.DEPLOYMENT.health({"status": {"jobStatus": {"state": "CREATED"}, "error": {}}})


@pytest.mark.parametrize(("spec", "why"), [(None, "the spec is missing"), (7, ".")])
def test_dependencies_of_what_has_no_spec_are_refused(spec: Any, why: str) -> None:
    assert flux.BUCKET.dependencies is not None
    with pytest.raises(InterpretError, match=why):
        flux.BUCKET.dependencies({"metadata": {"namespace": "n"}, "spec": spec})


async def test_a_port_without_a_number_is_another_one_than_the_first() -> None:
    ports: list[dict[str, Any]] = [{"protocol": "TCP"}, {"port": 1, "protocol": "TCP"}]
    [found] = await addresses([{"ip": "10.0.0.1", "ports": ports}], [{"ip": "10.0.0.1", "ports": ports}])
    assert found["ports"] == ports
