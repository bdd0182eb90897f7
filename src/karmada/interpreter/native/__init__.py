"""What Karmada knows of Kubernetes' own kinds. One module per kind; `KINDS` is the whole list."""

from collections.abc import Callable
from dataclasses import replace
from typing import Concatenate, ParamSpec, TypeVar

from karmada.interpreter import types
from karmada.interpreter.model import GroupVersionKind, JSONObject, KindRules
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

T = TypeVar("T")
P = ParamSpec("P")

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


TYPES = {
    GroupVersionKind("apps", "v1", "Deployment"): "apps.Deployment",
    GroupVersionKind("apps", "v1", "ReplicaSet"): "apps.ReplicaSet",
    GroupVersionKind("apps", "v1", "StatefulSet"): "apps.StatefulSet",
    GroupVersionKind("apps", "v1", "DaemonSet"): "apps.DaemonSet",
    GroupVersionKind("batch", "v1", "Job"): "batch.Job",
    GroupVersionKind("batch", "v1", "CronJob"): "batch.CronJob",
    GroupVersionKind("", "v1", "Pod"): "core.Pod",
    GroupVersionKind("", "v1", "Service"): "core.Service",
    GroupVersionKind("", "v1", "PersistentVolume"): "core.PersistentVolume",
    GroupVersionKind("", "v1", "PersistentVolumeClaim"): "core.PersistentVolumeClaim",
    GroupVersionKind("networking.k8s.io", "v1", "Ingress"): "networking.Ingress",
    GroupVersionKind("policy", "v1", "PodDisruptionBudget"): "policy.PodDisruptionBudget",
    GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler"): "autoscaling.HorizontalPodAutoscaler",
    GroupVersionKind("multicluster.x-k8s.io", "v1alpha1", "ServiceImport"): "multicluster.ServiceImport",
}
"""The kinds whose objects are converted as a whole, which fails on any field of another type."""


def native_rules(settings: Settings) -> dict[GroupVersionKind, KindRules]:
    """The rules of every native kind."""
    return {kind: _typed(rules(settings), TYPES.get(kind)) for kind, rules in KINDS.items()}


def _typed(rules: KindRules, type_: str | None) -> KindRules:
    """The same rules, except that they fail on what does not fit the type."""
    if type_ is None:
        return rules
    reflect = rules.reflect

    def reflect_typed(observed: JSONObject) -> JSONObject | None:
        assert reflect is not None
        reported = reflect(observed)
        if reported is not None:
            types.fit(observed.get("status"), f"{type_}Status", exact=False)
        return reported

    return replace(
        rules,
        replicas=rules.replicas and _on_typed(rules.replicas, type_),
        health=rules.health and _on_typed(rules.health, type_),
        dependencies=rules.dependencies and _on_typed(rules.dependencies, type_),
        aggregate=rules.aggregate and _on_typed(rules.aggregate, type_),
        reflect=reflect_typed if reflect else None,
    )


Rule = Callable[Concatenate[JSONObject, P], T]


def _on_typed(rule: Rule[P, T], type_: str) -> Rule[P, T]:
    def typed(resource: JSONObject, /, *more: P.args, **named: P.kwargs) -> T:
        types.fit(resource, type_, exact=False)
        return rule(resource, *more, **named)

    return typed
