"""Which kinds are described in a form of their own."""

from collections.abc import Callable
from typing import Any, NamedTuple

from karmada.cli.describe import (
    config,
    generic,
    identity,
    network,
    network_policy,
    nodes,
    pods,
    scaling,
    storage,
    workloads,
)
from karmada.cli.describe.page import Page
from karmada.cli.describe.related import Query, Related

JSONObject = dict[str, Any]


def _nothing(_: JSONObject) -> dict[str, Query]:
    return {}


class Form(NamedTuple):
    """How a kind is described."""

    describe: Callable[[Page, JSONObject, Related], None]
    needs: Callable[[JSONObject], dict[str, Query]] = _nothing
    events: bool = True
    """Whether the events about the object follow."""


_FORMS = {
    ("", "Pod"): Form(pods.pod),
    ("", "ReplicationController"): Form(workloads.replica_set, workloads.pods_of),
    ("apps", "Deployment"): Form(workloads.deployment, workloads.replica_sets_of),
    ("apps", "ReplicaSet"): Form(workloads.replica_set, workloads.pods_of),
    ("apps", "StatefulSet"): Form(workloads.stateful_set, workloads.pods_of),
    ("apps", "DaemonSet"): Form(workloads.daemon_set, workloads.pods_of),
    ("batch", "Job"): Form(workloads.job),
    ("batch", "CronJob"): Form(workloads.cron_job),
    ("", "Service"): Form(network.service, network.slices_of),
    ("", "Endpoints"): Form(network.endpoints),
    ("discovery.k8s.io", "EndpointSlice"): Form(network.endpoint_slice),
    ("networking.k8s.io", "Ingress"): Form(network.ingress, network.backends_of),
    ("networking.k8s.io", "IngressClass"): Form(network.ingress_class),
    ("networking.k8s.io", "NetworkPolicy"): Form(network_policy.network_policy, events=False),
    ("", "ConfigMap"): Form(config.config_map),
    ("", "Secret"): Form(config.secret, events=False),
    ("", "Namespace"): Form(config.namespace, config.limits_of, events=False),
    ("", "ResourceQuota"): Form(config.quota, events=False),
    ("", "LimitRange"): Form(config.limit_range, events=False),
    ("scheduling.k8s.io", "PriorityClass"): Form(config.priority_class),
    ("", "Node"): Form(nodes.node, nodes.around),
    ("", "PersistentVolume"): Form(storage.persistent_volume),
    ("", "PersistentVolumeClaim"): Form(storage.claim, storage.pods_near),
    ("storage.k8s.io", "StorageClass"): Form(storage.storage_class),
    ("", "ServiceAccount"): Form(identity.service_account, identity.secrets_near),
    ("rbac.authorization.k8s.io", "Role"): Form(identity.role, events=False),
    ("rbac.authorization.k8s.io", "ClusterRole"): Form(identity.role, events=False),
    ("rbac.authorization.k8s.io", "RoleBinding"): Form(identity.binding, events=False),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): Form(identity.binding, events=False),
    ("autoscaling", "HorizontalPodAutoscaler"): Form(scaling.autoscaler),
    ("policy", "PodDisruptionBudget"): Form(scaling.disruption_budget),
}
_GENERIC = Form(generic.describe)


def form_of(item: JSONObject) -> Form:
    """How an object is described."""
    group, slash, _ = str(item.get("apiVersion", "")).partition("/")
    return _FORMS.get((group if slash else "", str(item.get("kind", ""))), _GENERIC)
