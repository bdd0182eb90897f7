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
    tasks = [{"name": "a", "replicas": 3, "minAvailable": 2, "template": POD}, {"name": "b", "replicas": 3}]
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"tasks": tasks},
    }
    parts = await bundled().components(job)
    assert {part.name: part.replicas for part in parts} == {"a": 2, "b": 1}


async def test_amounts_of_a_flink_job_are_spelt_the_usual_way() -> None:
    manager = {"resource": {"cpu": 0.05, "memory": "100m"}}
    spec = {"flinkConfiguration": {}, "job": {"parallelism": 1}, "jobManager": manager, "taskManager": manager}
    job = {"apiVersion": "flink.apache.org/v1beta1", "kind": "FlinkDeployment", "metadata": {"name": "f"}, "spec": spec}
    for part in await bundled().components(job):
        assert part.replica_requirements is not None
        assert part.replica_requirements.resource_request == {"cpu": "50m", "memory": "100m"}
