"""What Karmada knows of well-known kinds of other projects. One module per kind; `bundled_rules` is the whole list."""

from collections.abc import Callable

from karmada.interpreter.model import GroupVersionKind, KindRules
from karmada.interpreter.thirdparty import (
    advanced_cron_job,
    argo_workflow,
    broadcast_job,
    bucket,
    clone_set,
    daemon_set,
    flink_deployment,
    git_repository,
    helm_chart,
    helm_release,
    helm_repository,
    kustomization,
    kyverno_policy,
    mpi_job,
    notebook,
    oci_repository,
    py_torch_job,
    ray_cluster,
    ray_job,
    ray_service,
    sidecar_set,
    spark_application,
    stateful_set,
    tf_job,
    united_deployment,
    volcano_job,
)
from karmada.interpreter.thirdparty.priority import without_priority

_FLINK = GroupVersionKind("flink.apache.org", "v1beta1", "FlinkDeployment")
"""Names the priority class of its pods whatever the gates say."""

_KINDS: dict[GroupVersionKind, KindRules] = {
    GroupVersionKind("apps.kruise.io", "v1alpha1", "AdvancedCronJob"): advanced_cron_job.RULES,
    GroupVersionKind("apps.kruise.io", "v1alpha1", "BroadcastJob"): broadcast_job.RULES,
    GroupVersionKind("apps.kruise.io", "v1alpha1", "CloneSet"): clone_set.RULES,
    GroupVersionKind("apps.kruise.io", "v1alpha1", "DaemonSet"): daemon_set.RULES,
    GroupVersionKind("apps.kruise.io", "v1alpha1", "SidecarSet"): sidecar_set.RULES,
    GroupVersionKind("apps.kruise.io", "v1alpha1", "UnitedDeployment"): united_deployment.RULES,
    GroupVersionKind("apps.kruise.io", "v1beta1", "StatefulSet"): stateful_set.RULES,
    GroupVersionKind("argoproj.io", "v1alpha1", "Workflow"): argo_workflow.RULES,
    GroupVersionKind("helm.toolkit.fluxcd.io", "v2beta1", "HelmRelease"): helm_release.RULES,
    GroupVersionKind("kustomize.toolkit.fluxcd.io", "v1", "Kustomization"): kustomization.RULES,
    GroupVersionKind("kyverno.io", "v1", "ClusterPolicy"): kyverno_policy.RULES,
    GroupVersionKind("kyverno.io", "v1", "Policy"): kyverno_policy.RULES,
    GroupVersionKind("source.toolkit.fluxcd.io", "v1", "GitRepository"): git_repository.RULES,
    GroupVersionKind("source.toolkit.fluxcd.io", "v1beta2", "Bucket"): bucket.RULES,
    GroupVersionKind("source.toolkit.fluxcd.io", "v1beta2", "HelmChart"): helm_chart.RULES,
    GroupVersionKind("source.toolkit.fluxcd.io", "v1beta2", "HelmRepository"): helm_repository.RULES,
    GroupVersionKind("source.toolkit.fluxcd.io", "v1beta2", "OCIRepository"): oci_repository.RULES,
    GroupVersionKind("batch.volcano.sh", "v1alpha1", "Job"): volcano_job.RULES,
    _FLINK: flink_deployment.RULES,
    GroupVersionKind("kubeflow.org", "v1", "PyTorchJob"): py_torch_job.RULES,
    GroupVersionKind("kubeflow.org", "v1", "TFJob"): tf_job.RULES,
    GroupVersionKind("kubeflow.org", "v2beta1", "MPIJob"): mpi_job.RULES,
    GroupVersionKind("ray.io", "v1", "RayCluster"): ray_cluster.RULES,
    GroupVersionKind("ray.io", "v1", "RayJob"): ray_job.RULES,
    GroupVersionKind("ray.io", "v1", "RayService"): ray_service.RULES,
    GroupVersionKind("sparkoperator.k8s.io", "v1beta2", "SparkApplication"): spark_application.RULES,
}


def bundled_rules(now: Callable[[], str], *, with_priority: bool = False) -> dict[GroupVersionKind, KindRules]:
    """The rules of every bundled kind; `now` and `with_priority` as in the settings of native rules."""
    rules = {**_KINDS, GroupVersionKind("kubeflow.org", "v1", "Notebook"): notebook.rules(now)}
    if with_priority:
        return rules
    return {kind: its_rules if kind == _FLINK else without_priority(its_rules) for kind, its_rules in rules.items()}
