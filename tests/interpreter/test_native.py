"""Kubernetes' own kinds, beyond what is recorded."""

from typing import Any

import pytest

from karmada.api.codec import raw
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.facade import native_interpreter
from karmada.interpreter.model import InterpretError


def items(*statuses: dict[str, Any]) -> list[AggregatedStatusItem]:
    return [AggregatedStatusItem(cluster_name=f"m{index}", status=raw(one)) for index, one in enumerate(statuses, 1)]


def resource(api_version: str, kind: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "b"}, **parts}


async def addresses(*members: list[dict[str, Any]]) -> Any:
    service = resource("v1", "Service", spec={"type": "LoadBalancer"})
    reported = items(*({"loadBalancer": {"ingress": points}} for points in members))
    return (await native_interpreter().aggregate(service, reported))["status"]["loadBalancer"]["ingress"]


async def test_points_with_equal_address_unite_their_ports() -> None:
    ports = [{"port": port, "protocol": "TCP"} for port in (443, 80)]
    found = await addresses([{"ip": "10.0.0.1", "ports": ports[:1]}], [{"ip": "10.0.0.1", "ports": ports[1:]}])
    assert found == [{"ip": "10.0.0.1", "ports": [ports[1], ports[0]]}]


async def test_points_of_another_mode_are_others() -> None:
    modes = [{"ip": "10.0.0.1", "ipMode": mode} for mode in ("VIP", "Proxy")]
    assert await addresses(modes) == [modes[1], modes[0]]


CLAIM = {"accessModes": ["ReadWriteOnce"]}


async def test_class_and_volume_that_the_member_gave_to_a_claim_are_retained() -> None:
    desired = resource("v1", "PersistentVolumeClaim", spec=dict(CLAIM))
    filled = {**CLAIM, "storageClassName": "standard", "volumeName": "pv-1"}
    retained = await native_interpreter().retain(desired, resource("v1", "PersistentVolumeClaim", spec=filled))
    assert retained["spec"] == filled


async def test_the_class_that_a_claim_names_stays() -> None:
    desired = resource("v1", "PersistentVolumeClaim", spec={**CLAIM, "storageClassName": "fast"})
    observed = resource("v1", "PersistentVolumeClaim", spec={**CLAIM, "storageClassName": "standard"})
    assert (await native_interpreter().retain(desired, observed))["spec"]["storageClassName"] == "fast"


async def test_a_failed_job_says_when_all_clusters_were_through() -> None:
    failed = {"conditions": [{"type": "Failed", "status": "True"}], "completionTime": "2024-01-02T00:00:00Z"}
    complete = {"conditions": [{"type": "Complete", "status": "True"}], "completionTime": "2024-01-03T00:00:00Z"}
    job = await native_interpreter().aggregate(resource("batch/v1", "Job", spec={}), items(failed, complete))
    assert job["status"]["completionTime"] == "2024-01-03T00:00:00Z"
    assert [condition["type"] for condition in job["status"]["conditions"]] == ["Failed"]


async def test_the_first_end_of_a_job_counts() -> None:
    ends = [{"type": type_, "status": "True"} for type_ in ("Complete", "Failed")]
    job = await native_interpreter().aggregate(resource("batch/v1", "Job", spec={}), items({"conditions": ends}))
    assert [condition["type"] for condition in job["status"]["conditions"]] == ["Complete"]


BROKEN: dict[str, dict[str, Any]] = {
    "amount": {"resources": {"requests": {"cpu": "many"}}},
    "number as text": {"ports": [{"containerPort": "80"}]},
    "list as object": {"command": {}},
    "object as text": {"securityContext": "none"},
}


@pytest.mark.parametrize("part", BROKEN.values(), ids=BROKEN.keys())
async def test_a_deployment_that_kubernetes_could_not_read_is_refused(part: dict[str, Any]) -> None:
    container = {"name": "a", **part}
    broken = resource("apps/v1", "Deployment", spec={"template": {"spec": {"containers": [container]}}})
    interpreter = native_interpreter()
    for ask in (interpreter.replicas, interpreter.healthy, interpreter.dependencies):
        with pytest.raises(InterpretError):
            await ask(broken)


async def test_a_status_that_kubernetes_could_not_read_is_refused() -> None:
    claim = resource("v1", "PersistentVolumeClaim", spec=dict(CLAIM))
    with pytest.raises(InterpretError):
        await native_interpreter().aggregate(claim, items({"phase": "Bound", "capacity": {"storage": "much"}}))


async def test_names_without_a_domain_are_no_resources() -> None:
    amounts = {"cpu": "1", "example.com/gpu": "2", "typo": "3", "memory": "-1"}
    spec = {"template": {"spec": {"containers": [{"name": "a", "resources": {"requests": amounts}}]}}}
    needs = await native_interpreter().replicas(resource("apps/v1", "Deployment", spec=spec))
    assert needs.requirements is not None
    assert needs.requirements.resource_request == {"cpu": "1", "example.com/gpu": "2"}


async def test_a_volume_that_the_member_released_does_not_keep_its_claim() -> None:
    desired = resource("v1", "PersistentVolume", spec={"claimRef": {"name": "old"}})
    observed = resource("v1", "PersistentVolume", spec={"claimRef": None})
    assert (await native_interpreter().retain(desired, observed))["spec"]["claimRef"] is None


async def test_null_is_no_map_of_labels() -> None:
    observed = resource("batch/v1", "Job", spec={"template": {"metadata": {"labels": None}}})
    with pytest.raises(InterpretError, match="labels is null"):
        await native_interpreter().retain(resource("batch/v1", "Job", spec={}), observed)


async def test_more_healthy_pods_than_can_be_counted_are_not_healthy() -> None:
    budget = resource("policy/v1", "PodDisruptionBudget", status={"currentHealthy": 3 * 2**31, "desiredHealthy": 1})
    assert not await native_interpreter().healthy(budget)


async def test_the_first_condition_of_readiness_counts() -> None:
    conditions = [{"type": "Ready", "status": "False"}, {"type": "Ready", "status": "True"}]
    assert not await native_interpreter().healthy(
        resource("v1", "Pod", status={"phase": "Running", "conditions": conditions})
    )


async def test_a_replica_set_has_no_updated_replicas() -> None:
    template = resource("apps/v1", "ReplicaSet", spec={"replicas": 1}, status={"updatedReplicas": 1.5})
    assert (await native_interpreter().replicas(template)).replicas == 1
    assert (await native_interpreter().aggregate(template, items({"replicas": 2})))["status"]["replicas"] == 2


@pytest.mark.parametrize("field", ["clusterIP", "healthCheckNodePort"])
async def test_null_is_no_address_of_a_service(field: str) -> None:
    with pytest.raises(InterpretError, match=field):
        await native_interpreter().retain(resource("v1", "Service"), resource("v1", "Service", spec={field: None}))


async def test_null_is_no_number_of_replicas_to_revise() -> None:
    with pytest.raises(InterpretError, match="replicas"):
        await native_interpreter().revise(resource("apps/v1", "Deployment", spec={"replicas": None}), 3)


async def test_a_job_runs_no_more_pods_than_it_has_to_complete() -> None:
    needs = await native_interpreter().replicas(resource("batch/v1", "Job", spec={"completions": -2}))
    assert needs.replicas == -2


async def test_a_pod_without_spec_takes_over_where_it_runs() -> None:
    observed = resource("v1", "Pod", spec={"nodeName": "n1", "containers": []})
    assert (await native_interpreter().retain(resource("v1", "Pod", spec=None), observed))["spec"]["nodeName"] == "n1"


async def test_a_container_that_is_null_has_no_name() -> None:
    desired = resource("v1", "Pod", spec={"containers": [None, {"name": "a", "image": "i"}]})
    mounts = [{"name": "token", "mountPath": "/run"}]
    observed = resource("v1", "Pod", spec={"containers": [{"name": "a", "image": "i", "volumeMounts": mounts}]})
    assert (await native_interpreter().retain(desired, observed))["spec"]["containers"][1]["volumeMounts"] == mounts
