"""Rules of the built-in kinds beyond their schemas: one table from kind to strategy."""

from karmada.apiserver.builtin.strategies import (
    admission,
    autoscaling,
    classes,
    cluster,
    config,
    deployment,
    disruption,
    endpoints,
    extensions,
    jobs,
    networking,
    pod,
    quotas,
    rbac,
    service,
    volumes,
    webhooks,
    workloads,
)
from karmada.apiserver.builtin.strategies.common import strategy
from karmada.apiserver.resources import Strategy

_STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "ConfigMap"): config.CONFIG_MAP,
    ("", "Endpoints"): endpoints.ENDPOINTS,
    ("", "Event"): cluster.EVENT,
    ("", "LimitRange"): quotas.LIMIT_RANGE,
    ("", "Namespace"): cluster.NAMESPACE,
    ("", "Node"): cluster.NODE,
    ("", "PersistentVolume"): volumes.PERSISTENT_VOLUME,
    ("", "PersistentVolumeClaim"): volumes.PERSISTENT_VOLUME_CLAIM,
    ("", "Pod"): pod.STRATEGY,
    ("", "PodTemplate"): workloads.POD_TEMPLATE,
    ("", "ReplicationController"): workloads.REPLICATION_CONTROLLER,
    ("", "ResourceQuota"): quotas.RESOURCE_QUOTA,
    ("", "Secret"): config.SECRET,
    ("", "Service"): service.STRATEGY,
    ("", "ServiceAccount"): config.SERVICE_ACCOUNT,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): admission.MUTATING_POLICY,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): admission.MUTATING_BINDING,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): webhooks.MUTATING_WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): admission.VALIDATING_POLICY,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): admission.VALIDATING_BINDING,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): webhooks.VALIDATING_WEBHOOKS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): extensions.CUSTOM_RESOURCE_DEFINITION,
    ("apiregistration.k8s.io", "APIService"): extensions.API_SERVICE,
    ("apps", "ControllerRevision"): workloads.CONTROLLER_REVISION,
    ("apps", "DaemonSet"): workloads.DAEMON_SET,
    ("apps", "Deployment"): deployment.STRATEGY,
    ("apps", "ReplicaSet"): workloads.REPLICA_SET,
    ("apps", "StatefulSet"): workloads.STATEFUL_SET,
    ("batch", "CronJob"): jobs.CRON_JOB,
    ("batch", "Job"): jobs.JOB,
    ("certificates.k8s.io", "CertificateSigningRequest"): extensions.CERTIFICATE_SIGNING_REQUEST,
    ("coordination.k8s.io", "Lease"): cluster.LEASE,
    ("discovery.k8s.io", "EndpointSlice"): endpoints.ENDPOINT_SLICE,
    ("events.k8s.io", "Event"): cluster.NEW_EVENT,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): extensions.FLOW_SCHEMA,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): extensions.PRIORITY_LEVEL,
    ("networking.k8s.io", "IPAddress"): networking.IP_ADDRESS,
    ("networking.k8s.io", "Ingress"): networking.INGRESS,
    ("networking.k8s.io", "IngressClass"): networking.INGRESS_CLASS,
    ("networking.k8s.io", "NetworkPolicy"): networking.NETWORK_POLICY,
    ("networking.k8s.io", "ServiceCIDR"): networking.SERVICE_CIDR,
    ("node.k8s.io", "RuntimeClass"): classes.RUNTIME_CLASS,
    ("policy", "PodDisruptionBudget"): disruption.POD_DISRUPTION_BUDGET,
    ("rbac.authorization.k8s.io", "ClusterRole"): rbac.CLUSTER_ROLE,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): rbac.CLUSTER_ROLE_BINDING,
    ("rbac.authorization.k8s.io", "Role"): rbac.ROLE,
    ("rbac.authorization.k8s.io", "RoleBinding"): rbac.ROLE_BINDING,
    ("resource.k8s.io", "DeviceClass"): extensions.DEVICE_CLASS,
    ("resource.k8s.io", "ResourceClaim"): extensions.RESOURCE_CLAIM,
    ("resource.k8s.io", "ResourceClaimTemplate"): extensions.RESOURCE_CLAIM_TEMPLATE,
    ("resource.k8s.io", "ResourceSlice"): extensions.RESOURCE_SLICE,
    ("scheduling.k8s.io", "PriorityClass"): classes.PRIORITY_CLASS,
    ("storage.k8s.io", "CSIDriver"): volumes.CSI_DRIVER,
    ("storage.k8s.io", "CSINode"): volumes.CSI_NODE,
    ("storage.k8s.io", "CSIStorageCapacity"): volumes.CSI_STORAGE_CAPACITY,
    ("storage.k8s.io", "StorageClass"): volumes.STORAGE_CLASS,
    ("storage.k8s.io", "VolumeAttachment"): volumes.VOLUME_ATTACHMENT,
    ("storage.k8s.io", "VolumeAttributesClass"): volumes.VOLUME_ATTRIBUTES_CLASS,
}
_PLAIN = strategy()
_PLAIN_CLUSTER = strategy(namespaced=False)
_VERSIONED = {("autoscaling", "v1"): autoscaling.V1, ("autoscaling", "v2"): autoscaling.V2}


def strategy_of(group: str, version: str, kind: str, namespaced: bool) -> Strategy:
    """The rules of a built-in kind; kinds without an entry have those of metadata only."""
    found = _VERSIONED.get((group, version)) or _STRATEGIES.get((group, kind))
    return found or (_PLAIN if namespaced else _PLAIN_CLUSTER)
