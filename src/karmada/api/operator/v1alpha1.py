"""Karmada: a control plane that the operator installs and keeps in a host cluster."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from msgspec import field

from karmada.api.base import ABSENT, Int32, Int64, IntOrString, OpenObject, ResourceList, Schema, Struct, always
from karmada.api.meta import Condition, ObjectMeta, Toleration


class CRDDownloadPolicy(StrEnum):
    """When the archive with the CRDs is fetched."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"


class ServiceType(StrEnum):
    """How a Service is reached."""

    CLUSTER_IP = "ClusterIP"
    NODE_PORT = "NodePort"
    LOAD_BALANCER = "LoadBalancer"


class LocalSecretReference(Struct, frozen=True, kw_only=True):
    """A Secret of the host cluster."""

    namespace: str = ""
    """Its namespace."""
    name: str = ""
    """Its name."""


class Networking(Struct, frozen=True, kw_only=True):
    """Network of the host cluster."""

    dns_domain: str | None = None
    """Its DNS domain; cluster.local if absent."""


class HostCluster(Struct, frozen=True, kw_only=True):
    """The cluster the control plane runs in; that of the operator if nothing is given."""

    api_endpoint: str = ""
    """Address of its API server."""
    secret_ref: LocalSecretReference | None = None
    """Secret with a kubeconfig for it."""
    networking: Networking | None = None
    """Its network."""


class ImageRegistry(Struct, frozen=True, kw_only=True):
    """A registry of images."""

    registry: str
    """Its address."""


class ResourceRequirements(Struct, frozen=True, kw_only=True):
    """Amounts a container asks for and may not exceed."""

    limits: ResourceList = field(default_factory=dict)
    """Upper bounds."""
    requests: ResourceList = field(default_factory=dict)
    """Amounts that are set aside."""


class PodDisruptionBudgetConfig(Struct, frozen=True, kw_only=True):
    """How many pods must stay while nodes are drained. Exactly one field is given."""

    SCHEMA: ClassVar[Schema] = Schema(
        rules=(("has(self.minAvailable) != has(self.maxUnavailable)", "give one of minAvailable and maxUnavailable"),)
    )

    min_available: IntOrString | None = None
    """Number or share of pods that must stay."""
    max_unavailable: IntOrString | None = None
    """Number or share of pods that may go."""


class CommonSettings(Struct, frozen=True, kw_only=True):
    """What all components have in common."""

    image_repository: str = ""
    """Image without its tag."""
    image_tag: str = ""
    """Tag of the image."""
    image_pull_policy: str = ""
    """When the image is pulled: Always, IfNotPresent or Never."""
    replicas: Int32 | None = None
    """Number of pods."""
    labels: dict[str, str] = field(default_factory=dict)
    """Labels of the pods."""
    annotations: dict[str, str] = field(default_factory=dict)
    """Annotations of the pods."""
    resources: ResourceRequirements = ResourceRequirements()
    """Amounts each pod asks for and may not exceed."""
    priority_class_name: Annotated[str, Schema(default="system-node-critical")] = ""
    """Priority class of the pods."""
    pod_disruption_budget_config: PodDisruptionBudgetConfig | None = None
    """How many pods must stay while nodes are drained."""
    tolerations: tuple[Toleration, ...] = ()
    """Node taints the pods put up with."""
    affinity: OpenObject = ABSENT
    """Nodes and pods to be near to or away from, in the form of a pod's affinity."""


class VolumeData(Struct, frozen=True, kw_only=True):
    """Where etcd keeps its data. One field is given."""

    volume_claim: OpenObject = ABSENT
    """Template of a persistent volume claim."""
    host_path: OpenObject = ABSENT
    """Directory of the node."""
    empty_dir: OpenObject = ABSENT
    """Directory that lives as long as the pod."""


class LocalEtcd(CommonSettings, frozen=True, kw_only=True):
    """An etcd that the operator runs."""

    volume_data: VolumeData | None = None
    """Where it keeps its data."""
    server_cert_sans: tuple[str, ...] = field(default=(), name="serverCertSANs")
    """Further names in its serving certificate."""
    peer_cert_sans: tuple[str, ...] = field(default=(), name="peerCertSANs")
    """Further names in its peer certificate."""


class ExternalEtcd(Struct, frozen=True, kw_only=True):
    """An etcd that is there already."""

    endpoints: tuple[str, ...]
    """Its addresses."""
    secret_ref: LocalSecretReference
    """Secret with ca.crt, tls.crt and tls.key for it."""


class Etcd(Struct, frozen=True, kw_only=True):
    """The store. One field is given."""

    local: LocalEtcd | None = None
    """An etcd that the operator runs."""
    external: ExternalEtcd | None = None
    """An etcd that is there already."""


class ComponentSettings(CommonSettings, frozen=True, kw_only=True):
    """Settings of a component that takes flags."""

    extra_args: dict[str, str] = field(default_factory=dict)
    """Further flags, without leading dashes; they replace flags of the operator."""


class GatedComponentSettings(ComponentSettings, frozen=True, kw_only=True):
    """Settings of a component that has feature gates."""

    feature_gates: dict[str, bool] = field(default_factory=dict)
    """Feature gates by name."""


class KarmadaAPIServer(GatedComponentSettings, frozen=True, kw_only=True):
    """The API server."""

    service_subnet: str | None = None
    """Range of service addresses."""
    service_type: Annotated[str, Schema(enum=ServiceType, default="ClusterIP")] = ""
    """How it is reached."""
    load_balancer_class: str | None = None
    """Class of its load balancer."""
    service_annotations: dict[str, str] = field(default_factory=dict)
    """Annotations of its Service."""
    extra_volumes: tuple[OpenObject, ...] = ()
    """Further volumes of its pods."""
    extra_volume_mounts: tuple[OpenObject, ...] = ()
    """Where they are mounted."""
    cert_sans: tuple[str, ...] = field(default=(), name="certSANs")
    """Further names in its serving certificate."""
    sidecar_containers: tuple[OpenObject, ...] = ()
    """Further containers of its pods."""


class KarmadaAggregatedAPIServer(GatedComponentSettings, frozen=True, kw_only=True):
    """The aggregated API server."""

    cert_sans: tuple[str, ...] = field(default=(), name="certSANs")
    """Further names in its serving certificate."""


class ControllerManager(GatedComponentSettings, frozen=True, kw_only=True):
    """A process that runs controllers."""

    controllers: tuple[str, ...] = ()
    """Controllers to run; a leading minus leaves one out, * means those that run by default."""


class KarmadaComponents(Struct, frozen=True, kw_only=True):
    """The parts of the control plane."""

    etcd: Etcd
    """The store."""
    karmada_api_server: KarmadaAPIServer | None = field(default=None, name="karmadaAPIServer")
    """The API server."""
    karmada_aggregated_api_server: KarmadaAggregatedAPIServer | None = field(
        default=None, name="karmadaAggregatedAPIServer"
    )
    """The aggregated API server."""
    kube_controller_manager: ControllerManager | None = None
    """Controllers of Kubernetes itself."""
    karmada_controller_manager: ControllerManager | None = None
    """Controllers of Karmada."""
    karmada_scheduler: GatedComponentSettings | None = None
    """The scheduler."""
    karmada_webhook: ComponentSettings | None = None
    """The admission webhook."""
    karmada_descheduler: ComponentSettings | None = None
    """The descheduler; not installed if absent."""
    karmada_search: ComponentSettings | None = None
    """The cache over all clusters; not installed if absent."""
    karmada_metrics_adapter: ComponentSettings | None = None
    """The metrics adapter; not installed if absent."""


class ProxyConfig(Struct, frozen=True, kw_only=True):
    """A proxy."""

    proxy_url: str = field(name="proxyURL")
    """Its address."""


class HTTPSource(Struct, frozen=True, kw_only=True):
    """A file to fetch."""

    url: str
    """Its address."""
    proxy: ProxyConfig | None = None
    """Proxy through which it is fetched."""


class CRDTarball(Struct, frozen=True, kw_only=True):
    """The archive with the CRDs."""

    http_source: HTTPSource | None = None
    """Where it is fetched."""
    crd_download_policy: Annotated[str, Schema(enum=CRDDownloadPolicy, default="IfNotPresent")] = ""
    """When it is fetched."""


class CustomCertificate(Struct, frozen=True, kw_only=True):
    """Certificates that are not the operator's own."""

    api_server_ca_cert: LocalSecretReference | None = field(default=None, name="apiServerCACert")
    """Secret with tls.crt and tls.key of the authority that signs."""
    leaf_cert_validity_days: Annotated[Int32, Schema(minimum=1)] | None = None
    """How long certificates that it signs are valid."""


class KarmadaSpec(Struct, frozen=True, kw_only=True):
    """The control plane that is wanted."""

    host_cluster: HostCluster | None = None
    """The cluster it runs in."""
    private_registry: ImageRegistry | None = None
    """Registry that all images come from."""
    components: KarmadaComponents | None = None
    """Its parts."""
    feature_gates: dict[str, bool] = field(default_factory=dict)
    """Feature gates for all parts."""
    crd_tarball: CRDTarball | None = None
    """The archive with the CRDs."""
    custom_certificate: CustomCertificate | None = None
    """Certificates that are not the operator's own."""
    suspend: bool | None = None
    """Leave the control plane as it is."""


class APIServerService(Struct, frozen=True, kw_only=True):
    """The Service of the API server."""

    name: str
    """Its name."""


class KarmadaStatus(Struct, frozen=True, kw_only=True):
    """The control plane that is there."""

    observed_generation: Int64 = 0
    """The generation that was looked at."""
    secret_ref: LocalSecretReference | None = None
    """Secret with a kubeconfig of its administrator."""
    karmada_version: str = ""
    """Its version."""
    kubernetes_version: str = ""
    """Version of its API server."""
    conditions: tuple[Condition, ...] = ()
    """Whether it is ready."""
    api_server_service: APIServerService | None = None
    """The Service of its API server."""


class Karmada(Struct, frozen=True, kw_only=True):
    """A control plane."""

    api_version: Literal["operator.karmada.io/v1alpha1"] = always("operator.karmada.io/v1alpha1")
    kind: Literal["Karmada"] = always("Karmada")
    metadata: ObjectMeta = ObjectMeta()
    spec: KarmadaSpec = KarmadaSpec()
    """The control plane that is wanted."""
    status: KarmadaStatus = KarmadaStatus()
    """The control plane that is there."""
