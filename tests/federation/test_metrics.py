"""What dashboards read: the figures of controllers and scheduler beside those of the API server."""

from typing import Any

import pytest

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.controllers.metrics import PipelineMetrics, labels_of

MANIFEST = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def samples(metrics: PipelineMetrics) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in metrics.collect()
        for sample in family.samples
    }


def test_writes_to_members_are_counted_by_kind_and_cluster() -> None:
    metrics = PipelineMetrics()
    metrics.created[labels_of("success", MANIFEST, "m1")] += 2
    assert samples(metrics)["create_resource_to_cluster_total", "success", "v1", "ConfigMap", "m1"] == 2


def test_customisations_that_fail_are_counted() -> None:
    metrics = PipelineMetrics()
    metrics.interpreter_failures["script", "InterpretHealth", "apps/v1/Deployment"] += 3
    found = samples(metrics)
    assert found["karmada_interpreter_failures_total", "script", "InterpretHealth", "apps/v1/Deployment"] == 3


def test_a_failed_attempt_counts_as_such() -> None:
    metrics = PipelineMetrics()
    with metrics.apply.timing():
        pass
    with pytest.raises(ValueError, match="no"), metrics.apply.timing():
        raise ValueError("no")
    found = samples(metrics)
    assert found["policy_apply_attempts_total", "success"] == 1
    assert found["policy_apply_attempts_total", "error"] == 1
    assert found["resource_apply_policy_duration_seconds_count", "error"] == 1


def test_clusters_are_exposed_as_they_are_now() -> None:
    cluster: dict[str, Any] = {
        "metadata": {"name": "m1"},
        "spec": {},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "", "message": ""}],
            "nodeSummary": {"totalNum": 3, "readyNum": 2},
            "resourceSummary": {"allocatable": {"cpu": "1500m", "memory": "1Ki", "pods": "110"}, "allocated": {}},
        },
    }
    metrics = PipelineMetrics()
    metrics.clusters = lambda: [from_tree(cluster, Cluster)]
    found = samples(metrics)
    assert found["cluster_ready_state", "m1"] == 1
    assert found["cluster_ready_node_number", "m1"] == 2
    assert found["cluster_cpu_allocatable_number", "m1"] == 1.5
    assert found["cluster_memory_allocatable_bytes", "m1"] == 1024
    assert found["cluster_pod_allocatable_number", "m1"] == 110


async def test_the_embedded_control_plane_shows_all_of_them(federation: Any) -> None:
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    policy = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}],
            "placement": {"clusterAffinity": {"clusterNames": ["member1"]}},
        },
    }
    await federation.apply(policy, data)

    async def shown() -> bool:
        text = (await federation.hub.transport.raw("GET", "/metrics")).decode()
        return all(
            word in text
            for word in (
                'create_resource_to_cluster_total{apiversion="v1",kind="ConfigMap",member_cluster="member1"',
                "binding_sync_work_duration_seconds_count",
                "karmada_scheduler_schedule_attempts_total",
                "workqueue_queue_duration_seconds_sum",
                "karmada_interpreter_failures_total",
                'cluster_ready_state{member_cluster="member2"} 1.0',
                "apiserver_request_total",
            )
        )

    await federation.happens(shown)
