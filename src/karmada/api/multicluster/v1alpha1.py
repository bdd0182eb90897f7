"""ServiceExport and ServiceImport."""

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import field

from karmada.api.base import Int32, Schema, Struct, always
from karmada.api.meta import Condition, ObjectMeta


class ServiceImportType(StrEnum):
    """How an imported service is reached."""

    CLUSTER_SET_IP = "ClusterSetIP"
    HEADLESS = "Headless"


class ServiceExportStatus(Struct, frozen=True, kw_only=True):
    """Whether the export is in force."""

    conditions: Annotated[tuple[Condition, ...], Schema(list_type="map", list_map_keys=("type",))] = ()
    """Whether the export is valid and free of conflicts."""


class ServiceExport(Struct, frozen=True, kw_only=True):
    """Offers the Service of the same name to other clusters."""

    api_version: Literal["multicluster.x-k8s.io/v1alpha1"] = always("multicluster.x-k8s.io/v1alpha1")
    kind: Literal["ServiceExport"] = always("ServiceExport")
    metadata: ObjectMeta = ObjectMeta()
    status: ServiceExportStatus = ServiceExportStatus()
    """Whether the export is in force."""


class ServicePort(Struct, frozen=True, kw_only=True):
    """A port of the service."""

    name: str = ""
    """Its name."""
    protocol: str = ""
    """TCP, UDP or SCTP; TCP if empty."""
    app_protocol: str | None = None
    """What is spoken on it."""
    port: Int32
    """Its number."""


class ClientIPConfig(Struct, frozen=True, kw_only=True):
    """Stickiness by address of the caller."""

    timeout_seconds: Int32 | None = None
    """How long it lasts."""


class SessionAffinityConfig(Struct, frozen=True, kw_only=True):
    """Details of stickiness."""

    client_ip: ClientIPConfig | None = field(default=None, name="clientIP")
    """By address of the caller."""


class ServiceImportSpec(Struct, frozen=True, kw_only=True):
    """The service as callers see it."""

    ports: Annotated[tuple[ServicePort, ...], Schema(list_type="atomic")]
    """Its ports."""
    ips: Annotated[tuple[str, ...], Schema(max_items=1)] = ()
    """Its address."""
    type: Annotated[str, Schema(enum=ServiceImportType)]
    """How it is reached."""
    session_affinity: str = ""
    """Stickiness: ClientIP or None."""
    session_affinity_config: SessionAffinityConfig | None = None
    """Details of stickiness."""


class ClusterStatus(Struct, frozen=True, kw_only=True):
    """A cluster that offers the service."""

    cluster: str
    """Its name."""


class ServiceImportStatus(Struct, frozen=True, kw_only=True):
    """Where the service comes from."""

    clusters: Annotated[tuple[ClusterStatus, ...], Schema(list_type="map", list_map_keys=("cluster",))] = ()
    """The clusters that offer it."""


class ServiceImport(Struct, frozen=True, kw_only=True):
    """Brings a service that other clusters offer into this one."""

    api_version: Literal["multicluster.x-k8s.io/v1alpha1"] = always("multicluster.x-k8s.io/v1alpha1")
    kind: Literal["ServiceImport"] = always("ServiceImport")
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceImportSpec | None = None
    """The service as callers see it."""
    status: ServiceImportStatus = ServiceImportStatus()
    """Where it comes from."""
