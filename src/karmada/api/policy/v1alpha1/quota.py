"""FederatedResourceQuota: how much the workloads of a namespace may use across all clusters."""

from typing import Literal

from msgspec import field

from karmada.api.base import ResourceList, Struct, always
from karmada.api.meta import ObjectMeta


class StaticClusterAssignment(Struct, frozen=True, kw_only=True):
    """A part of the quota that is handed to one cluster."""

    cluster_name: str
    """The cluster."""
    hard: ResourceList
    """The amounts that become a ResourceQuota in the cluster."""


class FederatedResourceQuotaSpec(Struct, frozen=True, kw_only=True):
    """The limits."""

    overall: ResourceList
    """Amounts all clusters together may use."""
    static_assignments: tuple[StaticClusterAssignment, ...] = ()
    """Amounts set aside per cluster; their sum stays within overall."""


class ClusterQuotaStatus(Struct, frozen=True, kw_only=True):
    """Limit and use in one cluster."""

    cluster_name: str
    """The cluster."""
    hard: ResourceList = field(default_factory=dict)
    """The limits in force there."""
    used: ResourceList = field(default_factory=dict)
    """The amounts in use there."""


class FederatedResourceQuotaStatus(Struct, frozen=True, kw_only=True):
    """Limits in force and amounts in use."""

    overall: ResourceList = field(default_factory=dict)
    """The limits in force."""
    overall_used: ResourceList = field(default_factory=dict)
    """The amounts in use in all clusters together."""
    aggregated_status: tuple[ClusterQuotaStatus, ...] = ()
    """Limit and use per cluster."""


class FederatedResourceQuota(Struct, frozen=True, kw_only=True):
    """Limits what the workloads of a namespace may use across all clusters."""

    api_version: Literal["policy.karmada.io/v1alpha1"] = always("policy.karmada.io/v1alpha1")
    kind: Literal["FederatedResourceQuota"] = always("FederatedResourceQuota")
    metadata: ObjectMeta = ObjectMeta()
    spec: FederatedResourceQuotaSpec
    """The limits."""
    status: FederatedResourceQuotaStatus = FederatedResourceQuotaStatus()
    """Limits in force and amounts in use."""
