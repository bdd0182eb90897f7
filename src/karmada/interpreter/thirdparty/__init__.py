"""What Karmada knows of well-known kinds of other projects: one module per project, and the list of them all."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from karmada.interpreter.dependencies import merged
from karmada.interpreter.model import GroupVersionKind, KindRules
from karmada.interpreter.thirdparty import argo, flink, flux, kruise, kubeflow, kyverno, ray, spark, volcano
from karmada.interpreter.thirdparty.priority import without_priority
from karmada.interpreter.thirdparty.values import plain

_STATED = ("FlinkDeployment", "SparkApplication")
"""Kinds that state the priority class themselves name it whatever the gates say."""


def bundled_rules(now: Callable[[], str], *, with_priority: bool = False) -> dict[GroupVersionKind, KindRules]:
    """The rules of every bundled kind; `now` and `with_priority` as in the settings of native rules."""
    kinds = {
        "apps.kruise.io/v1alpha1/AdvancedCronJob": kruise.ADVANCED_CRON_JOB,
        "apps.kruise.io/v1alpha1/BroadcastJob": kruise.BROADCAST_JOB,
        "apps.kruise.io/v1alpha1/CloneSet": kruise.CLONE_SET,
        "apps.kruise.io/v1alpha1/DaemonSet": kruise.DAEMON_SET,
        "apps.kruise.io/v1alpha1/SidecarSet": kruise.SIDECAR_SET,
        "apps.kruise.io/v1alpha1/UnitedDeployment": kruise.UNITED_DEPLOYMENT,
        "apps.kruise.io/v1beta1/StatefulSet": kruise.STATEFUL_SET,
        "argoproj.io/v1alpha1/Workflow": argo.WORKFLOW,
        "batch.volcano.sh/v1alpha1/Job": volcano.job(now),
        "flink.apache.org/v1beta1/FlinkDeployment": flink.DEPLOYMENT,
        "helm.toolkit.fluxcd.io/v2beta1/HelmRelease": flux.HELM_RELEASE,
        "kubeflow.org/v1/Notebook": kubeflow.notebook(now),
        "kubeflow.org/v1/PyTorchJob": kubeflow.PYTORCH_JOB,
        "kubeflow.org/v1/TFJob": kubeflow.tf_job(now),
        "kubeflow.org/v2beta1/MPIJob": kubeflow.MPI_JOB,
        "kustomize.toolkit.fluxcd.io/v1/Kustomization": flux.KUSTOMIZATION,
        "kyverno.io/v1/ClusterPolicy": kyverno.POLICY,
        "kyverno.io/v1/Policy": kyverno.POLICY,
        "ray.io/v1/RayCluster": ray.RAY_CLUSTER,
        "ray.io/v1/RayJob": ray.RAY_JOB,
        "ray.io/v1/RayService": ray.RAY_SERVICE,
        "source.toolkit.fluxcd.io/v1/GitRepository": flux.GIT_REPOSITORY,
        "source.toolkit.fluxcd.io/v1beta2/Bucket": flux.BUCKET,
        "source.toolkit.fluxcd.io/v1beta2/HelmChart": flux.HELM_CHART,
        "source.toolkit.fluxcd.io/v1beta2/HelmRepository": flux.HELM_REPOSITORY,
        "source.toolkit.fluxcd.io/v1beta2/OCIRepository": flux.OCI_REPOSITORY,
        "sparkoperator.k8s.io/v1beta2/SparkApplication": spark.APPLICATION,
    }
    found = {GroupVersionKind(*name.split("/")): _prepared(rules) for name, rules in kinds.items()}
    if with_priority:
        return found
    return {kind: rules if kind.kind in _STATED else without_priority(rules) for kind, rules in found.items()}


def _prepared(rules: KindRules) -> KindRules:
    """The same rules on trees of their own without nulls; each dependency once, in order."""
    on_plain = {field.name: _on_plain(getattr(rules, field.name)) for field in fields(rules)}
    dependencies = on_plain["dependencies"]
    if dependencies is not None:
        on_plain["dependencies"] = lambda resource: merged([dependencies(resource)])
    return replace(rules, **on_plain)


def _on_plain(rule: Callable[..., Any] | None) -> Callable[..., Any] | None:
    return None if rule is None else lambda *arguments: rule(*map(plain, arguments))
