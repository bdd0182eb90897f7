"""Completes and judges propagation policies: identity, finalizer, defaults that depend on other fields, and rules."""

from karmada.api import finalizers, labels
from karmada.api.codec import quotable_tree
from karmada.api.field_errors import FieldError, invalid
from karmada.api.jsonpath import JSONPathError, parse
from karmada.api.name_rules import label_key
from karmada.api.policy.v1alpha1 import (
    ClusterPropagationPolicy,
    PropagationPolicy,
    PropagationSpec,
    StatePreservation,
)
from karmada.policies.legacy_fields import contradictions
from karmada.webhook.advice import advise_policy
from karmada.webhook.model import Denied, JSONObject, Operation, Review, decoded, items, refuse_if_any
from karmada.webhook.moves import move_errors
from karmada.webhook.placement import validate_placement
from karmada.webhook.policy_limits import limit_errors
from karmada.webhook.selectors import place_selectors, selector_errors

Policy = PropagationPolicy | ClusterPropagationPolicy

DEFAULT_GRACE_PERIOD = 600
_SERVICE_IMPORT = ("multicluster.x-k8s.io/v1alpha1", "ServiceImport")


def mutate_policy(review: Review) -> None:
    """Complete a PropagationPolicy."""
    decoded(review.object, PropagationPolicy)
    place_selectors(review, _selectors(review.object))
    _complete(review, labels.PROPAGATION_POLICY_PERMANENT_ID, finalizers.PROPAGATION_POLICY)


def mutate_cluster_policy(review: Review) -> None:
    """Complete a ClusterPropagationPolicy."""
    decoded(review.object, ClusterPropagationPolicy)
    _complete(review, labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID, finalizers.CLUSTER_PROPAGATION_POLICY)


def _complete(review: Review, id_label: str, finalizer: str) -> None:
    policy = review.object
    spec = policy["spec"] = policy.get("spec") or {}
    placement = spec["placement"] = spec.get("placement") or {}
    for constraint in items(placement, "spreadConstraints") if not review.keeps_lists else ():
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
    if application is not None:
        application["decisionConditions"] = application.get("decisionConditions") or {}
    if application and application.get("purgeMode") == "Gracefully" and application.get("gracePeriodSeconds") is None:
        application["gracePeriodSeconds"] = DEFAULT_GRACE_PERIOD
    if review.operation is Operation.CREATE:
        metadata = policy.setdefault("metadata", {})
        metadata["labels"] = {**(metadata.get("labels") or {}), id_label: review.new_id()}
        _add_finalizer(policy, finalizer)


def _selectors(policy: JSONObject) -> list[JSONObject]:
    return items(policy.get("spec") or {}, "resourceSelectors")


def _add_finalizer(policy: JSONObject, finalizer: str) -> None:
    metadata = policy.setdefault("metadata", {})
    present = metadata.get("finalizers") or []
    if finalizer not in present:
        metadata["finalizers"] = [*present, finalizer]


async def validate_policy(review: Review) -> None:
    """Judge a PropagationPolicy."""
    policy = decoded(review.object, PropagationPolicy)
    errors = selector_errors(review, policy.spec.resource_selectors)
    _judge(review, policy, labels.PROPAGATION_POLICY_PERMANENT_ID, errors)
    await advise_policy(review, policy.spec)


async def validate_cluster_policy(review: Review) -> None:
    """Judge a ClusterPropagationPolicy."""
    policy = decoded(review.object, ClusterPropagationPolicy)
    _judge(review, policy, labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID, [])
    await advise_policy(review, policy.spec)


def _judge(
    review: Review, policy: PropagationPolicy | ClusterPropagationPolicy, id_label: str, errors: list[FieldError]
) -> None:
    if review.operation is Operation.UPDATE and review.old is not None:
        _unchanged(policy, decoded(review.old, type(policy)), id_label)
    if id_label not in policy.metadata.labels:
        raise Denied(
            f"label {id_label} is required, it should be set by the mutating admission webhook during creation"
        )
    spec = policy.spec
    given = (review.object.get("spec") or {}).get("placement") or {}
    found = validate_placement(spec.placement, "spec.placement", given)
    found += contradictions(spec)
    found += _failover_errors(spec)
    found += move_errors(spec)
    found += errors
    found += _preemption_errors(spec)
    found += _suspension_errors(spec)
    found += limit_errors(review, spec.resource_selectors, spec.placement, spec.dependent_overrides)
    refuse_if_any(found)


def _unchanged(policy: Policy, old: Policy, id_label: str) -> None:
    if policy.spec.scheduler_name != old.spec.scheduler_name:
        raise Denied("the schedulerName should not be updated")
    if policy.metadata.labels.get(id_label) != old.metadata.labels.get(id_label):
        raise Denied(f"label {id_label} is immutable, it can only be set by the system during creation")


def _failover_errors(spec: PropagationSpec) -> list[FieldError]:
    application = spec.failover.application if spec.failover else None
    errors: list[FieldError] = []
    if application is not None:
        path = "spec.failover.application"
        if not spec.propagate_deps:
            detail = "application failover is set, propagateDeps must be true"
            errors.append(invalid("spec.propagateDeps", False, detail))
        seconds = application.decision_conditions.toleration_seconds
        if seconds is not None and seconds < 0:
            field = f"{path}.decisionConditions.tolerationSeconds"
            errors.append(invalid(field, seconds, "must be greater than or equal to 0"))
        errors += _grace_errors(application.purge_mode, application.grace_period_seconds, path)
        errors += _preservation_errors(application.state_preservation, f"{path}.statePreservation")
    migration = spec.failover.application_migration_policy if spec.failover else None
    seconds = migration.decision_conditions.toleration_seconds if migration is not None else None
    if seconds is not None and seconds < 0:
        field = "spec.failover.applicationMigrationPolicy.decisionConditions.tolerationSeconds"
        errors.append(invalid(field, seconds, "must be greater than or equal to 0"))
    cluster = spec.failover.cluster if spec.failover else None
    if cluster is not None:
        errors += _preservation_errors(cluster.state_preservation, "spec.failover.cluster.statePreservation")
    return errors


def _grace_errors(purge_mode: str, seconds: int | None, path: str) -> list[FieldError]:
    field = f"{path}.gracePeriodSeconds"
    if seconds is None:
        empty = invalid(field, None, "should not be empty when purgeMode is gracefully")
        return [empty] if purge_mode == "Gracefully" else []
    errors: list[FieldError] = []
    if purge_mode != "Gracefully":
        errors.append(invalid(field, seconds, "only takes effect when purgeMode is gracefully"))
    if seconds <= 0:
        errors.append(invalid(field, seconds, "must be greater than 0"))
    return errors


def _preservation_errors(preservation: StatePreservation | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, rule in enumerate(preservation.rules if preservation is not None else ()):
        field = f"{path}.rules[{index}]"
        errors += [
            invalid(f"{field}.aliasLabelName", rule.alias_label_name, why) for why in label_key(rule.alias_label_name)
        ]
        try:
            parse(rule.json_path)
        except JSONPathError as error:
            errors.append(invalid(f"{field}.jsonPath", rule.json_path, str(error)))
    return errors


def _preemption_errors(spec: PropagationSpec) -> list[FieldError]:
    if spec.preemption != "Always":
        return []
    detail = "name cannot be empty if preemption is Always, the empty name may cause unexpected resources preemption"
    return [
        invalid(f"spec.resourceSelectors[{index}].name", selector.name, detail)
        for index, selector in enumerate(spec.resource_selectors)
        if not selector.name
    ]


def _suspension_errors(spec: PropagationSpec) -> list[FieldError]:
    suspension = spec.suspension
    if suspension is None or not suspension.dispatching or suspension.dispatching_on_clusters is None:
        return []
    if not suspension.dispatching_on_clusters.cluster_names:
        return []
    detail = "suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames"
    return [invalid("spec.suspension.suspension", quotable_tree(suspension), detail)]
