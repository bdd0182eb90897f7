"""Completes propagation policies: identity, finalizer, and the defaults that depend on other fields."""

from karmada.api import finalizers, labels
from karmada.webhook.model import JSONObject, Operation, Review

DEFAULT_GRACE_PERIOD = 600
_SERVICE_IMPORT = ("multicluster.x-k8s.io/v1alpha1", "ServiceImport")


def mutate_policy(review: Review) -> None:
    """Complete a PropagationPolicy."""
    for selector in _selectors(review.object):
        if not selector.get("namespace"):
            selector["namespace"] = review.namespace
    _complete(review, labels.PROPAGATION_POLICY_PERMANENT_ID, finalizers.PROPAGATION_POLICY)


def mutate_cluster_policy(review: Review) -> None:
    """Complete a ClusterPropagationPolicy."""
    _complete(review, labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID, finalizers.CLUSTER_PROPAGATION_POLICY)


def _complete(review: Review, id_label: str, finalizer: str) -> None:
    policy = review.object
    spec = policy.setdefault("spec", {})
    placement = spec.setdefault("placement", {})
    for constraint in placement.get("spreadConstraints") or []:
        if not constraint.get("spreadByField") and not constraint.get("spreadByLabel"):
            constraint["spreadByField"] = "cluster"
        if not constraint.get("minGroups"):
            constraint["minGroups"] = 1
    if any((s.get("apiVersion"), s.get("kind")) == _SERVICE_IMPORT for s in _selectors(policy)):
        spec["propagateDeps"] = True
    scheduling = placement.get("replicaScheduling")
    if (
        scheduling
        and scheduling.get("replicaSchedulingType") == "Divided"
        and not scheduling.get("replicaDivisionPreference")
    ):
        scheduling["replicaDivisionPreference"] = "Weighted"
    application = (spec.get("failover") or {}).get("application")
    if application and application.get("purgeMode") == "Gracefully" and application.get("gracePeriodSeconds") is None:
        application["gracePeriodSeconds"] = DEFAULT_GRACE_PERIOD
    if review.operation is Operation.CREATE:
        metadata = policy.setdefault("metadata", {})
        metadata["labels"] = {**(metadata.get("labels") or {}), id_label: review.new_id()}
        _add_finalizer(policy, finalizer)


def _selectors(policy: JSONObject) -> list[JSONObject]:
    return (policy.get("spec") or {}).get("resourceSelectors") or []


def _add_finalizer(policy: JSONObject, finalizer: str) -> None:
    metadata = policy.setdefault("metadata", {})
    present = metadata.get("finalizers") or []
    if finalizer not in present:
        metadata["finalizers"] = [*present, finalizer]
