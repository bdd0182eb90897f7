"""The labels and annotations by which Karmada finds, owns and reports on what it propagates.

Their values are Karmada's alone: no override policy and no interpreter may change them in a member's copy. Wishes of
users that happen to live in the same domain (`retain-replicas`, `conflict-resolution`, ...) are not among them.
"""

from karmada.api import annotations, labels

LABELS = (
    labels.MANAGED,
    labels.WORK_PERMANENT_ID,
    labels.RESOURCE_BINDING_PERMANENT_ID,
    labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID,
    labels.PROPAGATION_POLICY_PERMANENT_ID,
    labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID,
)
ANNOTATIONS = (
    annotations.MANAGED_ANNOTATIONS,
    annotations.MANAGED_LABELS,
    annotations.TEMPLATE_UID,
    annotations.TEMPLATE_GENERATION,
    annotations.WORK_NAMESPACE,
    annotations.WORK_NAME,
    annotations.RESOURCE_BINDING_NAMESPACE,
    annotations.RESOURCE_BINDING_NAME,
    annotations.CLUSTER_RESOURCE_BINDING_NAME,
    annotations.PROPAGATION_POLICY_NAMESPACE,
    annotations.PROPAGATION_POLICY_NAME,
    annotations.CLUSTER_PROPAGATION_POLICY_NAME,
)
