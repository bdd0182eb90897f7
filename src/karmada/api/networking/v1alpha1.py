"""MultiClusterService and MultiClusterIngress."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from karmada.api.base import NAME_PATTERN, AtomicStrings, Int32, IntOrString, Schema, Struct, always
from karmada.api.meta import Condition, ObjectMeta


class ExposureType(StrEnum):
    """How a service is reachable from other clusters."""

    CROSS_CLUSTER = "CrossCluster"
    LOAD_BALANCER = "LoadBalancer"


class ExposurePort(Struct, frozen=True, kw_only=True):
    """A port that is exposed."""

    name: str = ""
    """Its name in the Service."""
    port: Int32
    """Its number in the Service."""
    target_port: IntOrString | None = None
    """Port of the pods, by number or name; used when the Service has to be made."""


class ExposureRange(Struct, frozen=True, kw_only=True):
    """A set of clusters."""

    cluster_names: tuple[str, ...] = ()
    """Names of the clusters; all if empty."""


class ClusterSelector(Struct, frozen=True, kw_only=True):
    """A cluster."""

    name: str
    """Its name."""


class MultiClusterServiceSpec(Struct, frozen=True, kw_only=True):
    """What is exposed, from where, and to where."""

    types: tuple[str, ...] = always(())
    """How it is reachable: CrossCluster or LoadBalancer. Cannot be changed."""
    ports: tuple[ExposurePort, ...] = ()
    """The ports; all if empty."""
    range: ExposureRange | None = None
    """Old form of the clusters; use providerClusters and consumerClusters."""
    service_provision_clusters: tuple[str, ...] = ()
    """Old form of providerClusters."""
    service_consumption_clusters: tuple[str, ...] = ()
    """Old form of consumerClusters."""
    provider_clusters: tuple[ClusterSelector, ...] = ()
    """Clusters whose pods answer; all if empty."""
    consumer_clusters: tuple[ClusterSelector, ...] = ()
    """Clusters that can call; all if empty."""


class PortStatus(Struct, frozen=True, kw_only=True):
    """State of one port of a load balancer."""

    port: Int32
    """Its number."""
    protocol: str
    """TCP, UDP or SCTP."""
    error: Annotated[str, Schema(max_length=316, pattern=NAME_PATTERN)]
    """What is wrong with it."""


class ServiceLoadBalancerIngress(Struct, frozen=True, kw_only=True):
    """One point of entry."""

    ip: str = ""
    """Its address."""
    hostname: str = ""
    """Its DNS name."""
    ip_mode: str | None = None
    """How traffic to the address is treated: VIP or Proxy."""
    ports: Annotated[tuple[PortStatus, ...], Schema(list_type="atomic")] = ()
    """State of its ports."""


class ServiceLoadBalancerStatus(Struct, frozen=True, kw_only=True):
    """Points of entry."""

    ingress: Annotated[tuple[ServiceLoadBalancerIngress, ...], Schema(list_type="atomic")] = ()
    """The points."""


class MultiClusterServiceStatus(Struct, frozen=True, kw_only=True):
    """How the service is exposed, in the form of a Service's status."""

    load_balancer: ServiceLoadBalancerStatus = ServiceLoadBalancerStatus()
    """Points of entry."""
    conditions: Annotated[tuple[Condition, ...], Schema(list_type="map", list_map_keys=("type",))] = ()
    """Whether the endpoints were collected and distributed."""


class MultiClusterService(Struct, frozen=True, kw_only=True):
    """Makes the Service of the same name reachable across clusters."""

    api_version: Literal["networking.karmada.io/v1alpha1"] = always("networking.karmada.io/v1alpha1")
    kind: Literal["MultiClusterService"] = always("MultiClusterService")
    metadata: ObjectMeta = ObjectMeta()
    spec: MultiClusterServiceSpec
    """What is exposed, from where, and to where."""
    status: MultiClusterServiceStatus = MultiClusterServiceStatus()
    """How it is exposed."""


class TypedLocalObjectReference(Struct, frozen=True, kw_only=True):
    """An object of the same namespace."""

    SCHEMA: ClassVar[Schema] = Schema(map_type="atomic")

    api_group: str | None = None
    """Its API group; the core group if absent."""
    kind: str
    """Its kind."""
    name: str
    """Its name."""


class ServiceBackendPort(Struct, frozen=True, kw_only=True):
    """A port of a Service, by name or by number."""

    SCHEMA: ClassVar[Schema] = Schema(map_type="atomic")

    name: str = ""
    """Its name."""
    number: Int32 = 0
    """Its number."""


class IngressServiceBackend(Struct, frozen=True, kw_only=True):
    """A Service that answers."""

    name: str
    """Its name."""
    port: ServiceBackendPort = ServiceBackendPort()
    """Its port."""


class IngressBackend(Struct, frozen=True, kw_only=True):
    """Who answers: a Service or another object."""

    service: IngressServiceBackend | None = None
    """A Service."""
    resource: TypedLocalObjectReference | None = None
    """Another object."""


class HTTPIngressPath(Struct, frozen=True, kw_only=True):
    """Requests with a path, and who answers them."""

    path: str = ""
    """The path."""
    path_type: str
    """How paths are compared: Exact, Prefix or ImplementationSpecific."""
    backend: IngressBackend
    """Who answers."""


class HTTPIngressRuleValue(Struct, frozen=True, kw_only=True):
    """HTTP requests by path."""

    paths: Annotated[tuple[HTTPIngressPath, ...], Schema(list_type="atomic")]
    """The paths."""


class IngressRule(Struct, frozen=True, kw_only=True):
    """Requests to a host."""

    host: str = ""
    """The host; any if empty."""
    http: HTTPIngressRuleValue | None = None
    """Who answers them."""


class IngressTLS(Struct, frozen=True, kw_only=True):
    """A certificate for some hosts."""

    hosts: AtomicStrings = ()
    """The hosts."""
    secret_name: str = ""
    """Secret that holds the certificate."""


class IngressSpec(Struct, frozen=True, kw_only=True):
    """Which requests go where, in the form of an Ingress."""

    ingress_class_name: str | None = None
    """Class of the ingress."""
    default_backend: IngressBackend | None = None
    """Who answers requests that no rule is for."""
    tls: Annotated[tuple[IngressTLS, ...], Schema(list_type="atomic")] = ()
    """Certificates."""
    rules: Annotated[tuple[IngressRule, ...], Schema(list_type="atomic")] = ()
    """Who answers which requests."""


class IngressTemplate(Struct, frozen=True, kw_only=True):
    """Wraps the rules one level deeper."""

    spec: IngressSpec
    """The rules."""


class MultiClusterIngressSpec(IngressSpec, frozen=True, kw_only=True):
    """Which requests go where. The rules stand here, or under template.spec."""

    template: IngressTemplate | None = None
    """Another place for the rules. Excludes all other fields."""


class IngressLoadBalancerIngress(Struct, frozen=True, kw_only=True):
    """One point of entry."""

    ip: str = ""
    """Its address."""
    hostname: str = ""
    """Its DNS name."""
    ports: Annotated[tuple[PortStatus, ...], Schema(list_type="atomic")] = ()
    """State of its ports."""


class IngressLoadBalancerStatus(Struct, frozen=True, kw_only=True):
    """Points of entry."""

    ingress: Annotated[tuple[IngressLoadBalancerIngress, ...], Schema(list_type="atomic")] = ()
    """The points."""


class ServiceLocation(Struct, frozen=True, kw_only=True):
    """Where a Service that the rules name is."""

    name: str
    """The Service."""
    clusters: tuple[str, ...] = ()
    """The clusters that have it."""


class MultiClusterIngressStatus(Struct, frozen=True, kw_only=True):
    """How requests come in."""

    load_balancer: IngressLoadBalancerStatus = IngressLoadBalancerStatus()
    """Points of entry."""
    traffic_block_clusters: tuple[str, ...] = ()
    """Clusters that get no requests at the moment."""
    service_locations: tuple[ServiceLocation, ...] = ()
    """Where the Services of the rules are."""
    conditions: Annotated[tuple[Condition, ...], Schema(list_type="map", list_map_keys=("type",))] = ()
    """Whether rules, Services and certificates can be served by the gateway, and why not."""


class MultiClusterIngress(Struct, frozen=True, kw_only=True):
    """Routes requests from outside to Services in several clusters."""

    api_version: Literal["networking.karmada.io/v1alpha1"] = always("networking.karmada.io/v1alpha1")
    kind: Literal["MultiClusterIngress"] = always("MultiClusterIngress")
    metadata: ObjectMeta = ObjectMeta()
    spec: MultiClusterIngressSpec = MultiClusterIngressSpec()
    """Which requests go where."""
    status: MultiClusterIngressStatus = MultiClusterIngressStatus()
    """How requests come in."""
