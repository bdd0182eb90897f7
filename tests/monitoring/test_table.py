"""The documented metrics are those that are registered, and the reference's names are among them."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = """
binding_sync_work_duration_seconds cluster_cpu_allocatable_number cluster_cpu_allocated_number
cluster_memory_allocatable_bytes cluster_memory_allocated_bytes cluster_node_number cluster_pod_allocatable_number
cluster_pod_allocated_number cluster_ready_node_number cluster_ready_state cluster_sync_status_duration_seconds
controller_runtime_webhook_requests_total create_resource_to_cluster_total cronfederatedhpa_process_duration_seconds
cronfederatedhpa_rule_process_duration_seconds delete_resource_from_cluster_total eviction_kind_total
eviction_processing_latency_seconds eviction_processing_total eviction_queue_depth
federatedhpa_process_duration_seconds federatedhpa_pull_metrics_duration_seconds karmada_build_info
karmada_scheduler_e2e_scheduling_duration_seconds karmada_scheduler_estimator_estimating_algorithm_duration_seconds
karmada_scheduler_estimator_estimating_plugin_execution_duration_seconds
karmada_scheduler_estimator_estimating_plugin_extension_point_duration_seconds
karmada_scheduler_estimator_estimating_request_total karmada_scheduler_framework_extension_point_duration_seconds
karmada_scheduler_plugin_execution_duration_seconds karmada_scheduler_queue_incoming_bindings_total
karmada_scheduler_schedule_attempts_total karmada_scheduler_scheduling_algorithm_duration_seconds
policy_apply_attempts_total policy_preemption_total resource_apply_policy_duration_seconds
resource_match_policy_duration_seconds update_resource_to_cluster_total work_sync_workload_duration_seconds
workqueue_queue_duration_seconds
"""


def documented() -> list[str]:
    return [line for line in (ROOT / "docs" / "metrics.md").read_text().splitlines() if line.startswith("|")]


def names() -> set[str]:
    return {line.split("`")[1] for line in documented() if "`" in line}


def test_the_table_is_what_is_registered() -> None:
    assert documented() == runpy.run_path(str(ROOT / "tools" / "metrics.py"))["table"]()


def test_the_reference_names_are_there() -> None:
    assert set(REFERENCE.split()) - names() == set()
