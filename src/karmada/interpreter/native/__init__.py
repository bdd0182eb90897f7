"""What Karmada knows of Kubernetes' own kinds. One module per kind; `KINDS` is the whole list."""

from collections.abc import Callable

from karmada.interpreter.model import GroupVersionKind, KindRules
from karmada.interpreter.native import (
    cron_job,
    daemon_set,
    deployment,
    horizontal_pod_autoscaler,
    ingress,
    job,
    persistent_volume,
    persistent_volume_claim,
    pod,
    pod_disruption_budget,
    replica_set,
    secret,
    service,
    service_account,
    service_import,
    stateful_set,
)
from karmada.interpreter.native.settings import Settings

KINDS: dict[GroupVersionKind, Callable[[Settings], KindRules]] = {
    GroupVersionKind("apps", "v1", "Deployment"): deployment.rules,
    GroupVersionKind("apps", "v1", "ReplicaSet"): replica_set.rules,
    GroupVersionKind("apps", "v1", "StatefulSet"): stateful_set.rules,
    GroupVersionKind("apps", "v1", "DaemonSet"): daemon_set.rules,
    GroupVersionKind("batch", "v1", "Job"): job.rules,
    GroupVersionKind("batch", "v1", "CronJob"): cron_job.rules,
    GroupVersionKind("", "v1", "Pod"): pod.rules,
    GroupVersionKind("", "v1", "Service"): service.rules,
    GroupVersionKind("", "v1", "ServiceAccount"): service_account.rules,
    GroupVersionKind("", "v1", "Secret"): secret.rules,
    GroupVersionKind("", "v1", "PersistentVolume"): persistent_volume.rules,
    GroupVersionKind("", "v1", "PersistentVolumeClaim"): persistent_volume_claim.rules,
    GroupVersionKind("networking.k8s.io", "v1", "Ingress"): ingress.rules,
    GroupVersionKind("policy", "v1", "PodDisruptionBudget"): pod_disruption_budget.rules,
    GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler"): horizontal_pod_autoscaler.rules,
    GroupVersionKind("multicluster.x-k8s.io", "v1alpha1", "ServiceImport"): service_import.rules,
}


def native_rules(settings: Settings) -> dict[GroupVersionKind, KindRules]:
    """The rules of every native kind."""
    return {kind: rules(settings) for kind, rules in KINDS.items()}
