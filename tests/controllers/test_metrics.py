"""The figures of controllers, evictions and clusters, whatever the clusters say."""

import contextlib

import pytest

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.version import VERSION
from karmada.controllers.metrics import EVICTIONS, PipelineMetrics, WaitingEviction, labels_of

DURATIONS = {
    "match": "resource_match_policy",
    "apply": "resource_apply_policy",
    "sync_work": "binding_sync_work",
    "sync_workload": "work_sync_workload",
    "cluster_status": "cluster_sync_status",
    "cron_autoscale": "cronfederatedhpa_process",
    "cron_rule": "cronfederatedhpa_rule_process",
    "autoscale": "federatedhpa_process",
    "pull_metrics": "federatedhpa_pull_metrics",
}


def cluster(name, ready="", allocated=(), nodes=None, **allocatable):
    status = {"conditions": [{"type": "Ready", "status": ready}] if ready else []}
    if allocatable or allocated:
        status["resourceSummary"] = {"allocatable": allocatable, "allocated": dict(allocated)}
    if nodes:
        status["nodeSummary"] = {"totalNum": nodes[0], "readyNum": nodes[1]}
    return from_tree({"metadata": {"name": name}, "spec": {"syncMode": "Pull"}, "status": status}, Cluster)


def samples(metrics):
    """Every figure by its name and labels, without those that are zero and the buckets."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in metrics.collect()
        for sample in family.samples
        if sample.value and not sample.name.endswith("_bucket")
    }


def test_a_cluster_that_reports_no_amounts_costs_nobody_their_figures():
    metrics = PipelineMetrics()
    metrics.clusters = lambda: [cluster("m1", cpu="a lot", memory="1Ki"), cluster("m2", cpu="2")]
    found = {key: value for key, value in samples(metrics).items() if "allocatable" in key[0]}
    assert found == {("cluster_memory_allocatable_bytes", "m1"): 1024, ("cluster_cpu_allocatable_number", "m2"): 2}


def test_every_cluster_has_its_figures():
    metrics = PipelineMetrics()
    every = {"cpu": "1500m", "memory": "1Ki", "pods": 110}
    metrics.clusters = lambda: [
        cluster("bare", "True"),
        cluster("full", "False", allocated={"cpu": "500m", "memory": 1, "pods": 3}, nodes=(5, 4), **every),
    ]
    found = {key: value for key, value in samples(metrics).items() if key[0].startswith("cluster_")}
    assert found == {
        ("cluster_ready_state", "bare"): 1,
        ("cluster_node_number", "full"): 5,
        ("cluster_ready_node_number", "full"): 4,
        ("cluster_cpu_allocatable_number", "full"): 1.5,
        ("cluster_memory_allocatable_bytes", "full"): 1024,
        ("cluster_pod_allocatable_number", "full"): 110,
        ("cluster_cpu_allocated_number", "full"): 0.5,
        ("cluster_memory_allocated_bytes", "full"): 1,
        ("cluster_pod_allocated_number", "full"): 3,
    }
    states = [
        sample for family in metrics.collect() if family.name == "cluster_ready_state" for sample in family.samples
    ]
    assert [(state.labels["member_cluster"], state.value) for state in states] == [("bare", 1), ("full", 0)]


@pytest.mark.parametrize("which", DURATIONS)
def test_durations_are_counted_by_their_labels(which):
    metrics = PipelineMetrics()
    durations = getattr(metrics, which)
    labels = [f"l{number}" for number, _ in enumerate(durations.names)]
    for seconds in (0.5, 1.0):
        durations.observe(seconds, *labels)
    found = samples(metrics)
    name = f"{DURATIONS[which]}_duration_seconds"
    assert (found[(f"{name}_count", *labels)], found[(f"{name}_sum", *labels)]) == (2, 1.5)


def test_what_is_timed_succeeds_or_fails():
    metrics = PipelineMetrics()
    with metrics.apply.timing():
        pass
    for _ in range(2):
        with contextlib.suppress(KeyError), metrics.apply.timing():
            raise KeyError
    found = samples(metrics)
    assert found["policy_apply_attempts_total", "success"] == 1
    assert found["policy_apply_attempts_total", "error"] == 2
    sums = [found[f"resource_apply_policy_duration_seconds_{part}", "error"] for part in ("count", "sum")]
    assert sums[0] == 2
    assert 0 < sums[1] < 600


def test_writes_preemptions_and_failures_are_counted():
    metrics = PipelineMetrics()
    which = labels_of("success", {"apiVersion": "v1", "kind": "ConfigMap"}, "m1")
    assert which == ("success", "v1", "ConfigMap", "m1")
    assert labels_of("error", {}, "m1") == ("error", "", "", "m1")
    metrics.created[which] += 1
    metrics.updated[which] += 2
    metrics.deleted[which] += 3
    metrics.preemptions["success"] += 4
    metrics.interpreter_failures["configurable", "InterpretHealth", "v1/ConfigMap"] += 5
    assert samples(metrics) == {
        ("create_resource_to_cluster_total", *which): 1,
        ("update_resource_to_cluster_total", *which): 2,
        ("delete_resource_from_cluster_total", *which): 3,
        ("policy_preemption_total", "success"): 4,
        ("karmada_interpreter_failures_total", "configurable", "InterpretHealth", "v1/ConfigMap"): 5,
        ("karmada_build_info", VERSION): 1,
    }


def test_evictions_are_counted_by_queue_cluster_and_kind():
    metrics = PipelineMetrics()
    namespaced, wide = EVICTIONS[True], EVICTIONS[False]
    assert (namespaced, wide) == ("binding-eviction", "cluster-binding-eviction")
    waiting = [WaitingEviction(namespaced, "m1", "Deployment")] * 2 + [WaitingEviction(wide, "m2", "ClusterRole")]
    metrics.waiting_evictions = lambda: waiting
    metrics.evicted[namespaced, "success"] += 3
    metrics.evicted[wide, "error"] += 1
    metrics.evict.observe(2.0, namespaced)
    found = samples(metrics)
    del found["karmada_build_info", VERSION]
    assert found == {
        ("eviction_queue_depth", namespaced): 2,
        ("eviction_queue_depth", wide): 1,
        ("eviction_kind_total", "m1", "Deployment"): 2,
        ("eviction_kind_total", "m2", "ClusterRole"): 1,
        ("eviction_processing_total", namespaced, "success"): 3,
        ("eviction_processing_total", wide, "error"): 1,
        ("eviction_processing_latency_seconds_count", namespaced): 1,
        ("eviction_processing_latency_seconds_sum", namespaced): 2,
    }
