"""ClusterTaintPolicy: taints that come and go with the conditions of a cluster."""

from typing import Annotated, Literal

from karmada.api.base import Schema, Struct, always
from karmada.api.meta import ObjectMeta
from karmada.api.policy.v1alpha1.placement import ClusterAffinity


class MatchCondition(Struct, frozen=True, kw_only=True):
    """One test of a cluster condition."""

    condition_type: str
    """The condition to look at; a cluster without it fails the test."""
    operator: str
    """How to compare: In or NotIn."""
    status_values: tuple[str, ...]
    """The statuses to compare with."""


class PolicyTaint(Struct, frozen=True, kw_only=True):
    """The taint to put on a cluster."""

    key: str
    """Key of the taint."""
    value: str = ""
    """Value of the taint."""
    effect: str
    """NoSchedule or NoExecute."""


class ClusterTaintPolicySpec(Struct, frozen=True, kw_only=True):
    """Which taints, on which clusters, and when."""

    target_clusters: ClusterAffinity | None = None
    """The clusters; all if absent."""
    add_on_conditions: tuple[MatchCondition, ...] = ()
    """Add the taints when all of these hold; never if empty."""
    remove_on_conditions: tuple[MatchCondition, ...] = ()
    """Remove the taints when all of these hold; never if empty."""
    taints: Annotated[tuple[PolicyTaint, ...], Schema(min_items=1)]
    """The taints."""


class ClusterTaintPolicy(Struct, frozen=True, kw_only=True):
    """Taints clusters according to their conditions. When it is deleted, taints that it added stay."""

    api_version: Literal["policy.karmada.io/v1alpha1"] = always("policy.karmada.io/v1alpha1")
    kind: Literal["ClusterTaintPolicy"] = always("ClusterTaintPolicy")
    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterTaintPolicySpec
    """Which taints, on which clusters, and when."""
