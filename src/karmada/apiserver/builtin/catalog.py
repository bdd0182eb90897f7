"""Which resources a Kubernetes 1.36 API server serves, as discovery shows them, in discovery's order.

One line per resource. Schemas are undecoded until used (see `definitions`); rules are in `strategies`.
"""

from dataclasses import replace
from functools import cache

from karmada.apiserver.builtin.strategies import strategy_of
from karmada.apiserver.resources import ALL_VERBS, JSONObject, ResourceType, Strategy, Subresource
from karmada.apiserver.schema.decoding import decode
from karmada.apiserver.schema.definitions import definition
from karmada.apiserver.schema.model import Schema

_READ_WRITE = ("get", "patch", "update")
_CONNECT = ("create", "get")
_PROXY = ("create", "delete", "get", "patch", "update")
_CREATE = ("create",)

_PACKAGES = {
    "": "core",
    "admissionregistration.k8s.io": "admissionregistration",
    "apps": "apps",
    "authentication.k8s.io": "authentication",
    "authorization.k8s.io": "authorization",
    "autoscaling": "autoscaling",
    "batch": "batch",
    "certificates.k8s.io": "certificates",
    "coordination.k8s.io": "coordination",
    "discovery.k8s.io": "discovery",
    "events.k8s.io": "events",
    "flowcontrol.apiserver.k8s.io": "flowcontrol",
    "networking.k8s.io": "networking",
    "node.k8s.io": "node",
    "policy": "policy",
    "rbac.authorization.k8s.io": "rbac",
    "resource.k8s.io": "resource",
    "scheduling.k8s.io": "scheduling",
    "storage.k8s.io": "storage",
}
_ELSEWHERE = {
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
}


def is_builtin_group(group: str) -> bool:
    """Whether the kinds of a group are in the table of definitions."""
    return group in _PACKAGES or group in _ELSEWHERE


def definition_name(group: str, version: str, kind: str) -> str:
    """Name of a kind's definition in the table and in OpenAPI documents."""
    package = _ELSEWHERE.get(group) or f"io.k8s.api.{_PACKAGES[group]}"
    return f"{package}.{version}.{kind}"


class _Group:
    """Declares the resources of one group version."""

    def __init__(self, group: str, version: str, types: list[ResourceType]) -> None:
        self.group = group
        self.version = version
        self.types = types

    def add(
        self,
        plural: str,
        kind: str,
        short: str = "",
        scope: str = "Namespaced",
        verbs: tuple[str, ...] = ALL_VERBS,
        categories: str = "",
        status: bool = False,
        scale: bool = False,
        subresources: tuple[Subresource, ...] = (),
        storage_version: str = "",
        stored_in: str | None = None,
        deprecation: str = "",
    ) -> None:
        """Declare a resource; `status` and `scale` add these subresources."""
        more = list(subresources)
        if status:
            more.append(Subresource("status", _READ_WRITE, kind))
        if scale:
            more.append(Subresource("scale", _READ_WRITE, "Scale", "autoscaling", "v1"))
        schema = definition(definition_name(self.group, self.version, kind))
        self.types.append(
            ResourceType(
                group=self.group,
                version=self.version,
                plural=plural,
                kind=kind,
                namespaced=scope == "Namespaced",
                schema=schema,
                singular=kind.lower(),
                list_kind=kind + "List",
                short_names=tuple(short.split()),
                categories=tuple(categories.split()),
                verbs=verbs,
                subresources=tuple(sorted(more)),
                strategy=_strategy((self.group, self.version, kind), scope == "Namespaced", schema, status),
                storage_version=storage_version,
                has_status=status,
                stored_in=stored_in,
                deprecation=deprecation,
            )
        )


def _strategy(type_: tuple[str, str, str], namespaced: bool, schema: Schema, status: bool) -> Strategy:
    """The rules of a kind; where the status is a subresource, a new object starts with an empty one."""
    found = strategy_of(*type_, namespaced)
    if not status or type_[2] == "Node":
        return found

    def prepare_create(obj: JSONObject) -> None:
        assert schema.properties is not None
        obj["status"] = {}
        decode(schema.properties["status"], obj["status"])
        found.prepare_create(obj)

    return replace(found, prepare_create=prepare_create)


@cache
def _declared() -> tuple[ResourceType, ...]:
    types: list[ResourceType] = []
    _core(_Group("", "v1", types))

    g = _Group("apiregistration.k8s.io", "v1", types)
    g.add("apiservices", "APIService", scope="Cluster", categories="api-extensions", status=True)

    g = _Group("apps", "v1", types)
    g.add("controllerrevisions", "ControllerRevision")
    g.add("daemonsets", "DaemonSet", "ds", categories="all", status=True)
    g.add("deployments", "Deployment", "deploy", categories="all", status=True, scale=True)
    g.add("replicasets", "ReplicaSet", "rs", categories="all", status=True, scale=True)
    g.add("statefulsets", "StatefulSet", "sts", categories="all", status=True, scale=True)

    g = _Group("events.k8s.io", "v1", types)
    g.add("events", "Event", "ev", stored_in="", storage_version="v1")

    g = _Group("authentication.k8s.io", "v1", types)
    g.add("selfsubjectreviews", "SelfSubjectReview", scope="Cluster", verbs=_CREATE)
    g.add("tokenreviews", "TokenReview", scope="Cluster", verbs=_CREATE)

    g = _Group("authorization.k8s.io", "v1", types)
    g.add("localsubjectaccessreviews", "LocalSubjectAccessReview", verbs=_CREATE)
    g.add("selfsubjectaccessreviews", "SelfSubjectAccessReview", scope="Cluster", verbs=_CREATE)
    g.add("selfsubjectrulesreviews", "SelfSubjectRulesReview", scope="Cluster", verbs=_CREATE)
    g.add("subjectaccessreviews", "SubjectAccessReview", scope="Cluster", verbs=_CREATE)

    for version in ("v2", "v1"):
        g = _Group("autoscaling", version, types)
        name, kind = "horizontalpodautoscalers", "HorizontalPodAutoscaler"
        g.add(name, kind, "hpa", categories="all", status=True, storage_version="v2")

    g = _Group("batch", "v1", types)
    g.add("cronjobs", "CronJob", "cj", categories="all", status=True)
    g.add("jobs", "Job", categories="all", status=True)

    g = _Group("certificates.k8s.io", "v1", types)
    approval = Subresource("approval", _READ_WRITE, "CertificateSigningRequest")
    name, kind = "certificatesigningrequests", "CertificateSigningRequest"
    g.add(name, kind, "csr", scope="Cluster", status=True, subresources=(approval,))

    g = _Group("networking.k8s.io", "v1", types)
    g.add("ingressclasses", "IngressClass", scope="Cluster")
    g.add("ingresses", "Ingress", "ing", status=True)
    g.add("ipaddresses", "IPAddress", "ip", scope="Cluster")
    g.add("networkpolicies", "NetworkPolicy", "netpol")
    g.add("servicecidrs", "ServiceCIDR", scope="Cluster", status=True)

    g = _Group("policy", "v1", types)
    g.add("poddisruptionbudgets", "PodDisruptionBudget", "pdb", status=True)

    g = _Group("rbac.authorization.k8s.io", "v1", types)
    g.add("clusterrolebindings", "ClusterRoleBinding", scope="Cluster")
    g.add("clusterroles", "ClusterRole", scope="Cluster")
    g.add("rolebindings", "RoleBinding")
    g.add("roles", "Role")

    g = _Group("storage.k8s.io", "v1", types)
    g.add("csidrivers", "CSIDriver", scope="Cluster")
    g.add("csinodes", "CSINode", scope="Cluster")
    g.add("csistoragecapacities", "CSIStorageCapacity")
    g.add("storageclasses", "StorageClass", "sc", scope="Cluster")
    g.add("volumeattachments", "VolumeAttachment", scope="Cluster", status=True)
    g.add("volumeattributesclasses", "VolumeAttributesClass", "vac", scope="Cluster")

    g = _Group("admissionregistration.k8s.io", "v1", types)
    extension = "api-extensions"
    g.add("mutatingadmissionpolicies", "MutatingAdmissionPolicy", scope="Cluster", categories=extension)
    g.add("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", scope="Cluster", categories=extension)
    g.add("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", scope="Cluster", categories=extension)
    g.add("validatingadmissionpolicies", "ValidatingAdmissionPolicy", "", "Cluster", categories=extension, status=True)
    name, kind = "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"
    g.add(name, kind, scope="Cluster", categories=extension)
    g.add("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", scope="Cluster", categories=extension)

    g = _Group("apiextensions.k8s.io", "v1", types)
    name, kind = "customresourcedefinitions", "CustomResourceDefinition"
    g.add(name, kind, "crd crds", scope="Cluster", categories=extension, status=True)

    g = _Group("scheduling.k8s.io", "v1", types)
    g.add("priorityclasses", "PriorityClass", "pc", scope="Cluster")

    g = _Group("coordination.k8s.io", "v1", types)
    g.add("leases", "Lease")

    g = _Group("node.k8s.io", "v1", types)
    g.add("runtimeclasses", "RuntimeClass", scope="Cluster")

    g = _Group("discovery.k8s.io", "v1", types)
    g.add("endpointslices", "EndpointSlice")

    g = _Group("resource.k8s.io", "v1", types)
    g.add("deviceclasses", "DeviceClass", scope="Cluster")
    g.add("resourceclaims", "ResourceClaim", status=True)
    g.add("resourceclaimtemplates", "ResourceClaimTemplate")
    g.add("resourceslices", "ResourceSlice", scope="Cluster")

    g = _Group("flowcontrol.apiserver.k8s.io", "v1", types)
    g.add("flowschemas", "FlowSchema", scope="Cluster", status=True)
    g.add("prioritylevelconfigurations", "PriorityLevelConfiguration", scope="Cluster", status=True)
    return tuple(types)


def _core(g: _Group) -> None:
    g.add("bindings", "Binding", verbs=_CREATE)
    deprecation = "v1 ComponentStatus is deprecated in v1.19+"
    g.add("componentstatuses", "ComponentStatus", "cs", "Cluster", ("get", "list"), deprecation=deprecation)
    g.add("configmaps", "ConfigMap", "cm")
    deprecation = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    g.add("endpoints", "Endpoints", "ep", deprecation=deprecation)
    g.add("events", "Event", "ev")
    g.add("limitranges", "LimitRange", "limits")
    g.add(
        "namespaces",
        "Namespace",
        "ns",
        scope="Cluster",
        verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
        status=True,
        subresources=(Subresource("finalize", ("update",), "Namespace"),),
    )
    proxy = Subresource("proxy", _PROXY, "NodeProxyOptions")
    g.add("nodes", "Node", "no", scope="Cluster", status=True, subresources=(proxy,))
    g.add("persistentvolumeclaims", "PersistentVolumeClaim", "pvc", status=True)
    g.add("persistentvolumes", "PersistentVolume", "pv", scope="Cluster", status=True)
    g.add(
        "pods",
        "Pod",
        "po",
        categories="all",
        status=True,
        subresources=(
            Subresource("attach", _CONNECT, "PodAttachOptions"),
            Subresource("binding", _CREATE, "Binding"),
            Subresource("ephemeralcontainers", _READ_WRITE, "Pod"),
            Subresource("eviction", _CREATE, "Eviction", "policy", "v1"),
            Subresource("exec", _CONNECT, "PodExecOptions"),
            Subresource("log", ("get",), "Pod"),
            Subresource("portforward", _CONNECT, "PodPortForwardOptions"),
            Subresource("proxy", _PROXY, "PodProxyOptions"),
            Subresource("resize", _READ_WRITE, "Pod"),
        ),
    )
    g.add("podtemplates", "PodTemplate")
    g.add("replicationcontrollers", "ReplicationController", "rc", categories="all", status=True, scale=True)
    g.add("resourcequotas", "ResourceQuota", "quota", status=True)
    g.add("secrets", "Secret")
    token = Subresource("token", _CREATE, "TokenRequest", "authentication.k8s.io", "v1")
    g.add("serviceaccounts", "ServiceAccount", "sa", subresources=(token,))
    proxy = Subresource("proxy", _PROXY, "ServiceProxyOptions")
    g.add("services", "Service", "svc", categories="all", status=True, subresources=(proxy,))


def builtin_types() -> list[ResourceType]:
    """All built-in resource types; the first version of a group is the preferred one."""
    return list(_declared())
