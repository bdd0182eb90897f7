"""The flags of `karmada-controller-manager`, and what they ask for."""

from argparse import Namespace
from collections.abc import Collection

from karmada.controllers.cluster_monitor import MonitorOptions
from karmada.controllers.cluster_status import StatusOptions
from karmada.controllers.composition import ControllerOptions
from karmada.controllers.context import Concurrency
from karmada.controllers.detector.scope import PropagationScope, SkippedApis
from karmada.controllers.manager import Selection
from karmada.controllers.names import GATES, NAMES, parse_selection
from karmada.machinery.component import component_flags
from karmada.machinery.flags import FlagParser, add_leader, add_truth, checked, items, seconds

PROGRAM = "karmada-controller-manager"
OWNERS = {
    "cluster_api_kubeconfig": "clusterApi",
    "enable_no_execute_taint_eviction": "taintManager",
    "federated_resource_quota_sync_period": "federatedResourceQuotaEnforcement",
    "graceful_eviction_timeout": "gracefulEviction",
    "horizontal_pod_autoscaler_cpu_initialization_period": "federatedHorizontalPodAutoscaler",
    "horizontal_pod_autoscaler_downscale_stabilization": "federatedHorizontalPodAutoscaler",
    "horizontal_pod_autoscaler_initial_readiness_delay": "federatedHorizontalPodAutoscaler",
    "horizontal_pod_autoscaler_sync_period": "federatedHorizontalPodAutoscaler",
    "horizontal_pod_autoscaler_tolerance": "federatedHorizontalPodAutoscaler",
    "no_execute_taint_eviction_purge_mode": "taintManager",
    "resource_eviction_rate": "taintManager",
}
"""Flags that mean nothing without a certain controller."""


def parser() -> FlagParser:
    """All flags."""
    made = component_flags(PROGRAM, ":10357", "Runs the controllers of the control plane.")
    add_leader(made, PROGRAM)
    selection = checked(parse_selection)
    made.add_argument("--controllers", type=selection, default=("*",), help="* for all, name for one, -name for none.")
    _add_cluster_flags(made)
    _add_propagation_flags(made)
    _add_eviction_flags(made)
    _add_autoscaling_flags(made)
    return made


def _add_cluster_flags(made: FlagParser) -> None:
    add = made.add_argument
    add("--cluster-status-update-frequency", type=seconds, default=10.0, help="How often members are asked.")
    add("--cluster-success-threshold", type=seconds, default=30.0, help="How long health must last to count.")
    add("--cluster-failure-threshold", type=seconds, default=30.0, help="How long illness must last to count.")
    add("--cluster-monitor-period", type=seconds, default=5.0, help="How often agents' signs of life are looked for.")
    add("--cluster-monitor-grace-period", type=seconds, default=40.0, help="How long an agent may be silent.")
    add("--cluster-startup-grace-period", type=seconds, default=60.0, help="How long a new agent may be silent.")
    add_truth(made, "--enable-cluster-resource-modeling", True, "Count nodes by the grades of resource models.")
    add("--cluster-api-qps", type=float, default=40.0, help="Accepted; the members' own fairness limits requests.")
    add("--cluster-api-burst", type=int, default=60, help="Accepted; see --cluster-api-qps.")
    add("--cluster-cache-sync-timeout", type=seconds, default=120.0, help="Accepted; no cache delays another.")
    add("--cluster-api-kubeconfig", default="", help="Where Cluster API runs: its clusters join by themselves.")
    add("--cluster-api-context", default="", help="Context of that kubeconfig.")
    add("--cluster-lease-duration", type=seconds, default=40.0, help="Accepted; a flag of agents.")
    add("--cluster-lease-renew-interval-fraction", type=float, default=0.25, help="Accepted; a flag of agents.")


def _add_propagation_flags(made: FlagParser) -> None:
    add = made.add_argument
    add("--skipped-propagating-apis", type=checked(_apis), default="", help="APIs left alone: group/version/Kind;...")
    skipped = checked(_namespaces)
    add(
        "--skipped-propagating-namespaces",
        type=skipped,
        default=("kube-.*",),
        help="Patterns of namespaces left alone.",
    )
    add("--resync-period", type=seconds, default=0.0, help="Accepted; watches here never miss a change.")
    for kind, default in (
        ("cluster", 5),
        ("resourcebinding", 5),
        ("clusterresourcebinding", 5),
        ("work", 5),
        ("namespace", 1),
        ("propagation-policy", 1),
        ("cluster-propagation-policy", 1),
        ("resource-template", 5),
        ("dependent-resource", 2),
    ):
        add(f"--concurrent-{kind}-syncs", type=int, default=default, help=f"Workers for objects of {kind}.")


def _add_eviction_flags(made: FlagParser) -> None:
    add = made.add_argument
    add_truth(made, "--enable-taint-manager", True, "Act on taints of clusters (with the gate Failover).")
    add_truth(made, "--enable-no-execute-taint-eviction", False, "Evict from clusters with NoExecute taints.")
    modes = ("Gracefully", "Directly")
    add("--no-execute-taint-eviction-purge-mode", choices=modes, default=modes[0], help="How evicted copies go.")
    add("--resource-eviction-rate", type=float, default=0.5, help="Evictions per second.")
    add("--graceful-eviction-timeout", type=seconds, default=600.0, help="How long a replacement may take.")
    add("--failover-eviction-timeout", type=seconds, default=300.0, help="Accepted; a flag of older versions.")
    add("--federated-resource-quota-sync-period", type=seconds, default=300.0, help="How often quotas are recounted.")


def _add_autoscaling_flags(made: FlagParser) -> None:
    add = made.add_argument
    prefix = "--horizontal-pod-autoscaler-"
    add(f"{prefix}sync-period", type=seconds, default=15.0, help="Time between two looks at a FederatedHPA.")
    add(f"{prefix}upscale-delay", type=seconds, default=180.0, help="Accepted; a flag of older versions.")
    add(f"{prefix}downscale-delay", type=seconds, default=300.0, help="Accepted; a flag of older versions.")
    add(f"{prefix}downscale-stabilization", type=seconds, default=300.0, help="How far back advice is remembered.")
    add(f"{prefix}tolerance", type=float, default=0.1, help="Deviation of usage that changes nothing.")
    add(f"{prefix}cpu-initialization-period", type=seconds, default=300.0, help="How long new pods' CPU is ignored.")
    add(f"{prefix}initial-readiness-delay", type=seconds, default=30.0, help="How long new pods may become ready.")


def options_of(flags: Namespace) -> ControllerOptions:
    """What the flags ask for."""
    return ControllerOptions(
        gates=flags.feature_gates,
        selection=Selection(flags.controllers),
        status=StatusOptions(
            period=flags.cluster_status_update_frequency,
            success_threshold=flags.cluster_success_threshold,
            failure_threshold=flags.cluster_failure_threshold,
            modeling=flags.enable_cluster_resource_modeling,
        ),
        monitor=MonitorOptions(
            flags.cluster_monitor_period, flags.cluster_monitor_grace_period, flags.cluster_startup_grace_period
        ),
        quota_period=flags.federated_resource_quota_sync_period,
        skipped_apis=flags.skipped_propagating_apis,
        skipped_namespaces=flags.skipped_propagating_namespaces,
        concurrency=Concurrency(
            templates=flags.concurrent_resource_template_syncs,
            policies=max(flags.concurrent_propagation_policy_syncs, flags.concurrent_cluster_propagation_policy_syncs),
            # Bindings of both scopes are served by the same workers here.
            bindings=max(flags.concurrent_resourcebinding_syncs, flags.concurrent_clusterresourcebinding_syncs),
            works=flags.concurrent_work_syncs,
            dependencies=flags.concurrent_dependent_resource_syncs,
            clusters=flags.concurrent_cluster_syncs,
            namespaces=flags.concurrent_namespace_syncs,
        ),
    )


def without_effect(flags: Namespace, running: Collection[str]) -> list[str]:
    """What was asked for and does not happen, as sentences for the log."""
    selection, gates = Selection(flags.controllers), flags.feature_gates
    missing = [
        name
        for name in NAMES
        if selection.enabled(name) and name not in running and (name not in GATES or gates.enabled(GATES[name]))
    ]
    said = [f"this version has no controller {name}" for name in missing]
    defaults = vars(parser().parse_args([]))
    for flag, owner in OWNERS.items():
        if owner not in running and getattr(flags, flag) != defaults[flag]:
            said.append(f"--{flag.replace('_', '-')} has no effect: {owner} does not run")
    return said


def _apis(text: str) -> str:
    SkippedApis(text)
    return text


def _namespaces(text: str) -> tuple[str, ...]:
    patterns = items(text)
    PropagationScope(SkippedApis(), patterns)
    return patterns
