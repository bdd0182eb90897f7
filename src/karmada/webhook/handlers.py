"""Every admission handler of Karmada's kinds, under the names its webhook configurations use."""

from karmada.webhook.autoscaler import mutate_autoscaler, validate_autoscaler
from karmada.webhook.bindings import (
    mutate_binding,
    mutate_cluster_binding,
    validate_binding,
    validate_cluster_binding,
)
from karmada.webhook.cluster_taint_policy import validate_taint_policy
from karmada.webhook.cron_autoscaler import validate_cron_autoscaler
from karmada.webhook.deletion_protection import validate_deletion
from karmada.webhook.federated_quota import validate_federated_quota
from karmada.webhook.interpreter_customization import validate_interpreter_customization
from karmada.webhook.interpreter_webhooks import validate_interpreter_webhooks
from karmada.webhook.model import Handler, Operation
from karmada.webhook.multicluster_ingress import validate_multicluster_ingress
from karmada.webhook.multicluster_service import mutate_multicluster_service, validate_multicluster_service
from karmada.webhook.override_policy import (
    mutate_override_policy,
    validate_cluster_override_policy,
    validate_override_policy,
)
from karmada.webhook.propagation_policy import (
    mutate_cluster_policy,
    mutate_policy,
    validate_cluster_policy,
    validate_policy,
)
from karmada.webhook.replica_scheduling import validate_replica_scheduling
from karmada.webhook.work import mutate_work

_CREATE = frozenset({Operation.CREATE})
_DELETE = frozenset({Operation.DELETE})
_POLICY, _WORK = "policy.karmada.io", "work.karmada.io"

HANDLERS: list[Handler] = [
    Handler(
        "propagationpolicy.karmada.io",
        _POLICY,
        "v1alpha1",
        "propagationpolicies",
        mutate_policy,
        validate=validate_policy,
    ),
    Handler(
        "clusterpropagationpolicy.karmada.io",
        _POLICY,
        "v1alpha1",
        "clusterpropagationpolicies",
        mutate_cluster_policy,
        validate=validate_cluster_policy,
    ),
    Handler(
        "overridepolicy.karmada.io",
        _POLICY,
        "v1alpha1",
        "overridepolicies",
        mutate_override_policy,
        validate=validate_override_policy,
    ),
    Handler(
        "clusteroverridepolicy.karmada.io",
        _POLICY,
        "v1alpha1",
        "clusteroverridepolicies",
        validate=validate_cluster_override_policy,
    ),
    Handler(
        "resourcebinding.karmada.io", _WORK, "v1alpha2", "resourcebindings", mutate_binding, _CREATE, validate_binding
    ),
    Handler(
        "clustertaintpolicy.karmada.io", _POLICY, "v1alpha1", "clustertaintpolicies", validate=validate_taint_policy
    ),
    Handler(
        "clusterresourcebinding.karmada.io",
        _WORK,
        "v1alpha2",
        "clusterresourcebindings",
        mutate_cluster_binding,
        _CREATE,
        validate_cluster_binding,
    ),
    Handler("work.karmada.io", _WORK, "v1alpha1", "works", mutate_work),
    Handler(
        "config.karmada.io",
        "config.karmada.io",
        "v1alpha1",
        "resourceinterpreterwebhookconfigurations",
        validate=validate_interpreter_webhooks,
    ),
    Handler(
        "cronfederatedhpa.karmada.io",
        "autoscaling.karmada.io",
        "v1alpha1",
        "cronfederatedhpas",
        validate=validate_cron_autoscaler,
    ),
    Handler("resourcedeletionprotection.karmada.io", "*", "*", "*", validate=validate_deletion, validate_on=_DELETE),
    Handler(
        "multiclusterservice.karmada.io",
        "networking.karmada.io",
        "v1alpha1",
        "multiclusterservices",
        mutate_multicluster_service,
        validate=validate_multicluster_service,
    ),
    Handler(
        "federatedresourcequota.karmada.io",
        _POLICY,
        "v1alpha1",
        "federatedresourcequotas",
        validate=validate_federated_quota,
    ),
    Handler(
        "federatedhpa.karmada.io",
        "autoscaling.karmada.io",
        "v1alpha1",
        "federatedhpas",
        mutate_autoscaler,
        validate=validate_autoscaler,
    ),
    Handler(
        "multiclusteringress.karmada.io",
        "networking.karmada.io",
        "v1alpha1",
        "multiclusteringresses",
        validate=validate_multicluster_ingress,
    ),
    Handler(
        "resourceinterpretercustomization.karmada.io",
        "config.karmada.io",
        "v1alpha1",
        "resourceinterpretercustomizations",
        validate=validate_interpreter_customization,
    ),
    Handler(
        "replicaschedulingpolicy.karmada.io",
        "config.karmada.io",
        "v1alpha1",
        "replicaschedulingpolicies",
        validate=validate_replica_scheduling,
    ),
]
