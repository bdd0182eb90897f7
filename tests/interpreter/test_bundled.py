"""Bundled kinds, beyond what is recorded."""

from typing import Any

import pytest

from karmada.api.codec import raw
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.facade import LayeredInterpreter, wall_clock
from karmada.interpreter.model import InterpretError, Operation, kind_of
from karmada.interpreter.rules_level import RulesLevel
from karmada.interpreter.thirdparty import bundled_rules

POD = {"spec": {"priorityClassName": "high", "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1G"}}}]}}
CLONE_SET = {
    "apiVersion": "apps.kruise.io/v1alpha1",
    "kind": "CloneSet",
    "metadata": {},
    "spec": {"replicas": 2, "template": POD},
}
RAY_CLUSTER = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {"name": "r"},
    "spec": {"headGroupSpec": {"template": POD}, "workerGroupSpecs": [{"replicas": 3, "template": POD}]},
}


def bundled(**options: bool) -> LayeredInterpreter:
    return LayeredInterpreter(RulesLevel("bundled", bundled_rules(wall_clock, **options)))


@pytest.mark.parametrize(("with_priority", "named"), [(True, "high"), (False, "")], ids=["estimated", "not estimated"])
async def test_priority_class_is_named_where_quotas_are_estimated(with_priority: bool, named: str) -> None:
    interpreter = bundled(with_priority=with_priority)
    needs = await interpreter.replicas(CLONE_SET)
    parts = await interpreter.components(RAY_CLUSTER)
    found = [needs.requirements, *(part.replica_requirements for part in parts)]
    assert [requirements.priority_class_name for requirements in found if requirements] == [named] * 3
    assert [part.name for part in parts] == ["ray-head", "worker-1"]


async def test_amounts_are_spelled_as_in_the_reference() -> None:
    needs = await bundled().replicas(CLONE_SET)
    assert needs.requirements is not None
    assert needs.requirements.resource_request == {"cpu": "1", "memory": "1G"}


async def test_failures_of_helm_releases_are_added_up_once() -> None:
    release = {"apiVersion": "helm.toolkit.fluxcd.io/v2beta1", "kind": "HelmRelease", "metadata": {"generation": 1}}
    items = [AggregatedStatusItem(cluster_name=name, status=raw({"failures": 2})) for name in ("a", "b")]
    for _ in range(2):
        release = await bundled().aggregate(release, items)
        assert release["status"]["failures"] == 4


@pytest.mark.parametrize("broken", [None, 5, "text", [], [5], {"a": 5}], ids=repr)
async def test_no_shape_of_a_resource_breaks_more_than_the_call(broken: Any) -> None:
    """Every rule either answers or raises an InterpretError, whatever a section of the resource looks like."""
    interpreter = bundled()
    for kind in bundled_rules(wall_clock):
        for section in ("metadata", "spec", "status"):
            resource = {
                "apiVersion": f"{kind.group}/{kind.version}",
                "kind": kind.kind,
                "metadata": {},
                section: broken,
            }
            assert kind_of(resource) == kind
            for operation, ask in {
                Operation.REPLICAS: interpreter.replicas,
                Operation.COMPONENTS: interpreter.components,
                Operation.HEALTH: interpreter.healthy,
                Operation.REFLECT: interpreter.reflect,
                Operation.DEPENDENCIES: interpreter.dependencies,
            }.items():
                if interpreter.enabled(kind, operation):
                    try:
                        await ask(resource)
                    except InterpretError:
                        continue


async def test_of_a_volcano_task_has_to_fit_what_its_gang_cannot_start_without() -> None:
    tasks = [
        {"name": "a", "replicas": 3, "minAvailable": 2, "template": POD},
        {"name": "b", "replicas": 3, "template": POD},
    ]
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"tasks": tasks},
    }
    parts = await bundled().components(job)
    assert {part.name: part.replicas for part in parts} == {"a": 2, "b": 1}


def flink(memory: str) -> dict[str, Any]:
    manager = {"resource": {"cpu": 0.05, "memory": memory}}
    spec = {"flinkConfiguration": {}, "job": {"parallelism": 1}, "jobManager": manager, "taskManager": manager}
    return {
        "apiVersion": "flink.apache.org/v1beta1",
        "kind": "FlinkDeployment",
        "metadata": {"name": "f"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("memory", "spelt"), [("2048m", "2147483648"), ("1g", "1073741824"), ("512mb", "536870912"), ("1Gi", "1073741824")]
)
async def test_memory_of_a_flink_job_is_read_in_its_units(memory: str, spelt: str) -> None:
    for part in await bundled().components(flink(memory)):
        assert part.replica_requirements is not None
        assert part.replica_requirements.resource_request == {"cpu": "50m", "memory": spelt}


async def test_amounts_that_cannot_be_read_fail() -> None:
    with pytest.raises(InterpretError):
        await bundled().components(flink("much"))


async def aggregated(kind: str, *statuses: dict[str, Any] | None, **template: Any) -> Any:
    """The merged status of a kind, named as `group/version/Kind`."""
    api_version, _, name = kind.rpartition("/")
    items = [
        AggregatedStatusItem(cluster_name=f"m{index}", status=raw(status)) for index, status in enumerate(statuses, 1)
    ]
    resource = {"apiVersion": api_version, "kind": name, "metadata": {}, **template}
    return (await bundled().aggregate(resource, items)).get("status")


def ended(type_: str) -> dict[str, Any]:
    return {"conditions": [{"type": type_, "status": "True"}]}


async def test_a_training_job_that_succeeded_everywhere_has_succeeded() -> None:
    times = [
        {"startTime": f"2024-01-0{day}T00:00:00Z", "completionTime": f"2024-02-0{day}T00:00:00Z"} for day in (1, 2)
    ]
    members = [{**ended("Succeeded"), **time, "replicaStatuses": {"Worker": {"succeeded": 1}}} for time in times]
    status = await aggregated("kubeflow.org/v1/TFJob", *members)
    assert status["startTime"] == "2024-01-01T00:00:00Z"
    assert status["completionTime"] == "2024-02-02T00:00:00Z"
    assert status["replicaStatuses"] == {"Worker": {"succeeded": 2}}
    assert [condition["type"] for condition in status["conditions"]] == ["Succeeded"]


@pytest.mark.parametrize("kind", ["kubeflow.org/v1/TFJob", "kubeflow.org/v1/PyTorchJob"])
async def test_a_training_job_that_failed_in_one_cluster_has_failed(kind: str) -> None:
    status = await aggregated(kind, ended("Succeeded"), ended("Failed"))
    assert [condition["type"] for condition in status["conditions"]] == ["Failed"]
    assert status["conditions"][0]["message"].endswith("in member clusters: m2")


async def test_a_broadcast_job_that_still_runs_does_not_take_over_an_end() -> None:
    status = await aggregated("apps.kruise.io/v1alpha1/BroadcastJob", ended("Complete"), {"active": 1})
    assert status["conditions"] == []
    assert status["active"] == 1
    status = await aggregated("apps.kruise.io/v1alpha1/BroadcastJob", ended("Failed"), {"active": 1})
    assert status["conditions"][0]["message"] == "Job executed failed in member clusters: m1"


async def test_the_worst_state_of_several_spark_applications_counts() -> None:
    states = [{"applicationState": {"state": state}} for state in ("COMPLETED", "INVALIDATING", "RUNNING")]
    status = await aggregated("sparkoperator.k8s.io/v1beta2/SparkApplication", *states)
    assert status["applicationState"] == {"state": "INVALIDATING"}
    assert "terminationTime" not in status


async def test_a_volcano_job_reports_its_longest_duration_and_newest_conditions() -> None:
    newer, older = ({"status": "Running", "lastTransitionTime": f"2024-0{month}-01T00:00:00Z"} for month in (2, 1))
    status = await aggregated(
        "batch.volcano.sh/v1alpha1/Job",
        {"runningDuration": "1m40s", "conditions": [newer], "taskStatusCount": {"a": {"phase": {"Running": 1}}}},
        {"runningDuration": "900ms", "conditions": [older], "taskStatusCount": {"a": {"phase": {"Running": 2}}}},
    )
    assert status["runningDuration"] == "1m40s"
    assert status["conditions"] == [newer]
    assert status["taskStatusCount"] == {"a": {"phase": {"Running": 3}}}


async def test_a_ray_service_runs_once_every_cluster_that_reports_says_so() -> None:
    kind = "ray.io/v1/RayService"
    assert (await aggregated(kind, {"serviceStatus": "Running"}, None))["serviceStatus"] == "Running"
    assert (await aggregated(kind, {"serviceStatus": "Running"}, {"numServeEndpoints": 1}))["serviceStatus"] == ""


async def test_a_pod_that_refers_to_nothing_has_no_dependencies() -> None:
    assert list(await bundled().dependencies(CLONE_SET)) == []


async def test_pods_inside_the_workloads_of_a_united_deployment_are_seen() -> None:
    template = {"statefulSetTemplate": {"spec": {"template": POD}}}
    resource = {**CLONE_SET, "kind": "UnitedDeployment", "spec": {"replicas": 2, "template": template}}
    needs = await bundled().replicas(resource)
    assert needs.requirements is not None
    assert needs.requirements.resource_request["cpu"] == "1"


async def test_a_pod_template_that_kubernetes_could_not_read_fails_the_rule() -> None:
    container = {"env": [{"valueFrom": {"secretKeyRef": {"name": "a", "key": 7}}}]}
    resource = {**CLONE_SET, "spec": {"replicas": 1, "template": {"spec": {"containers": [container]}}}}
    with pytest.raises(InterpretError, match="key"):
        await bundled().dependencies(resource)


async def test_conditions_whose_type_is_no_text_are_kept_apart() -> None:
    conditions = [{"type": {"a": "b"}, "status": "True"}, {"type": {"a": "b"}, "status": "False"}]
    resource = {**CLONE_SET, "kind": "UnitedDeployment", "spec": {}}
    item = AggregatedStatusItem(cluster_name="m1", status=raw({"conditions": conditions}))
    assert (await bundled().aggregate(resource, [item]))["status"]["conditions"] == conditions


async def test_conditions_whose_type_is_a_number_come_first() -> None:
    conditions = [{"type": type_} for type_ in ("a", True, 7, 1, 2.5, 1 << 26, "b")]
    resource = {**CLONE_SET, "kind": "UnitedDeployment", "spec": {}}
    item = AggregatedStatusItem(cluster_name="m1", status=raw({"conditions": conditions}))
    found = (await bundled().aggregate(resource, [item]))["status"]["conditions"]
    assert [condition["type"] for condition in found] == [1, 7, "a", True, 2.5, 1 << 26, "b"]


@pytest.mark.parametrize(
    ("kind", "field"),
    [("kubeflow.org/v2beta1/MPIJob", "type"), ("batch.volcano.sh/v1alpha1/Job", "status")],
)
async def test_numbers_come_first_where_the_newest_condition_of_each_sort_counts(kind: str, field: str) -> None:
    conditions = [{field: key, "lastTransitionTime": "2026-01-01T00:00:00Z"} for key in ("a", 7, "b", 3)]
    status = await aggregated(kind, {"conditions": conditions}, {"conditions": []})
    assert [condition[field] for condition in status["conditions"]] == [3, 7, "a", "b"]


async def test_an_empty_list_is_an_empty_service() -> None:
    status = await aggregated("ray.io/v1/RayService", {"serviceStatus": "Running", "activeServiceStatus": []}, None)
    assert not any(status["activeServiceStatus"].values())


async def test_an_empty_name_of_a_group_of_workers_is_left_out() -> None:
    spec = {"rayClusterSpec": {"workerGroupSpecs": [{"groupName": {}, "replicas": 1}]}}
    resource = {"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": spec}
    assert [part.name for part in await bundled().components(resource)][-1] == ""


async def test_only_what_nodes_a_spark_driver_requires_is_read() -> None:
    preferred = [{"preference": {"matchExpressions": [{"values": [7]}]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    spec = {"type": "Java", "driver": {"affinity": affinity}}
    resource = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "spec": spec}
    assert [part.name for part in await bundled().components(resource)] == ["driver", "executor"]
    affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = 7
    with pytest.raises(InterpretError):
        await bundled().components(resource)


@pytest.mark.parametrize("amount", [{}, []])
async def test_an_empty_amount_is_none(amount: object) -> None:
    spec = {"taskManager": {"resource": {"cpu": amount, "memory": "1Gi"}}}
    resource = {"apiVersion": "flink.apache.org/v1beta1", "kind": "FlinkDeployment", "spec": spec}
    needs = await bundled().replicas(resource)
    assert needs.requirements is not None
    assert needs.requirements.resource_request == {"memory": "1Gi"}


async def test_each_sort_of_job_that_a_cron_job_has_needs_a_spec() -> None:
    jobs = {"jobTemplate": {}, "broadcastJobTemplate": {"spec": {"template": {"spec": {"serviceAccountName": "a"}}}}}
    resource = {**CLONE_SET, "kind": "AdvancedCronJob", "spec": {"template": jobs}}
    with pytest.raises(InterpretError):
        await bundled().dependencies(resource)


async def test_empty_text_is_no_list_of_conditions_of_a_ray_cluster() -> None:
    items = [AggregatedStatusItem(cluster_name=name, status=raw({"conditions": ""})) for name in ("m1", "m2")]
    with pytest.raises(InterpretError, match="conditions is text"):
        await bundled().aggregate({**RAY_CLUSTER}, items)


async def test_jobs_that_are_text_are_none() -> None:
    resource = {**CLONE_SET, "kind": "AdvancedCronJob"}
    item = AggregatedStatusItem(cluster_name="m1", status=raw({"active": "text", "type": "Job"}))
    assert not (await bundled().aggregate(resource, [item]))["status"].get("active")


async def test_conditions_of_an_mpi_job_whose_type_is_no_text_are_kept_apart() -> None:
    conditions = [{"type": {}, "lastTransitionTime": "2024-01-01T00:00:00Z", "status": text} for text in "ab"]
    resource = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {}}
    items = [AggregatedStatusItem(cluster_name=f"m{n}", status=raw({"conditions": [conditions[n]]})) for n in (0, 1)]
    found = (await bundled().aggregate(resource, items))["status"]["conditions"]
    assert [condition["status"] for condition in found] == ["a", "b"]


async def test_an_empty_list_among_the_groups_of_a_ray_service_is_a_group() -> None:
    spec = {"rayClusterConfig": {"workerGroupSpecs": [[]]}}
    revised = await bundled().revise({"apiVersion": "ray.io/v1", "kind": "RayService", "spec": spec}, 3)
    assert revised["spec"]["rayClusterConfig"]["workerGroupSpecs"] == [{"replicas": 2}]


@pytest.mark.parametrize(
    "kind", ["v1alpha1/CloneSet", "v1alpha1/DaemonSet", "v1beta1/StatefulSet", "v1alpha1/UnitedDeployment"]
)
async def test_kinds_of_kruise_report_which_generation_of_the_template_they_have_seen(kind: str) -> None:
    version, _, name = kind.partition("/")
    noted = {"resourcetemplate.karmada.io/generation": "7"}
    observed = {"apiVersion": f"apps.kruise.io/{version}", "kind": name, "metadata": {"annotations": noted}}
    observed |= {"metadata": {"annotations": noted, "generation": 3}, "status": {"observedGeneration": 3}}
    status = await bundled().reflect(observed)
    assert status is not None
    found = [status[field] for field in ("generation", "observedGeneration", "resourceTemplateGeneration")]
    assert found == [3, 3, 7]


@pytest.mark.parametrize(
    "kind",
    [
        "kubeflow.org/v1/Notebook",
        "ray.io/v1/RayCluster",
        "ray.io/v1/RayJob",
        "ray.io/v1/RayService",
        "sparkoperator.k8s.io/v1beta2/SparkApplication",
        "batch.volcano.sh/v1alpha1/Job",
    ],
)
async def test_the_status_of_a_single_cluster_is_taken_as_it_is(kind: str) -> None:
    status = {"anything": {"else": []}, "state": "RUNNING", "conditions": []}
    assert await aggregated(kind, status) == status


FRESH = [
    "kubeflow.org/v1/Notebook",
    "kyverno.io/v1/Policy",
    "kyverno.io/v1/ClusterPolicy",
    "apps.kruise.io/v1alpha1/SidecarSet",
    "batch.volcano.sh/v1alpha1/Job",
]
KEEPING = [
    "apps.kruise.io/v1alpha1/CloneSet",
    "ray.io/v1/RayCluster",
    "sparkoperator.k8s.io/v1beta2/SparkApplication",
    "flink.apache.org/v1beta1/FlinkDeployment",
]


@pytest.mark.parametrize("kind", [*FRESH, *KEEPING])
async def test_what_a_template_said_before_is_kept_for_kinds_that_add_to_it(kind: str) -> None:
    version, _, name = kind.rpartition("/")
    resource = {"apiVersion": version, "kind": name, "metadata": {}, "spec": {}, "status": {"before": "this"}}
    items = [AggregatedStatusItem(cluster_name=cluster, status=raw({"a": 1})) for cluster in ("m1", "m2")]
    status = (await bundled().aggregate(resource, items))["status"]
    assert status.get("before") == (None if kind in FRESH else "this")


@pytest.mark.parametrize("kind", ["HelmRelease", "Kustomization", "GitRepository", "Bucket", "HelmChart"])
async def test_kinds_of_flux_report_which_generation_of_the_template_they_have_seen(kind: str) -> None:
    [version] = {found.version for found in bundled_rules(wall_clock) if found.kind == kind}
    [group] = {found.group for found in bundled_rules(wall_clock) if found.kind == kind}
    metadata = {"annotations": {"resourcetemplate.karmada.io/generation": "7"}, "generation": 3}
    status = await bundled().reflect(
        {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": metadata, "status": {"observedGeneration": 3}}
    )
    assert status is not None
    assert [status[field] for field in ("generation", "resourceTemplateGeneration")] == [3, 7]


async def test_nobody_names_a_priority_class_who_was_not_asked_to() -> None:
    interpreter = bundled()
    needs = await interpreter.replicas(CLONE_SET)
    assert needs.requirements is not None
    assert needs.requirements.priority_class_name == ""
