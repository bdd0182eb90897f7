"""Remedy: actions that are asked for while conditions of a cluster hold."""

from enum import StrEnum
from typing import Annotated, Literal

from karmada.api.base import Schema, Struct, always
from karmada.api.meta import ObjectMeta


class ConditionMatchOperator(StrEnum):
    """How a condition's status is compared."""

    EQUAL = "Equal"
    NOT_EQUAL = "NotEqual"


class RemedyAction(StrEnum):
    """What can be asked for."""

    TRAFFIC_CONTROL = "TrafficControl"


class ClusterAffinity(Struct, frozen=True, kw_only=True):
    """A set of clusters."""

    cluster_names: tuple[str, ...] = ()
    """Names of the clusters."""


class ClusterConditionRequirement(Struct, frozen=True, kw_only=True):
    """One test of a cluster condition."""

    condition_type: str
    """The condition to look at."""
    operator: Annotated[str, Schema(enum=ConditionMatchOperator)]
    """How to compare."""
    condition_status: str
    """The status to compare with."""


class DecisionMatch(Struct, frozen=True, kw_only=True):
    """When to act."""

    cluster_condition_match: ClusterConditionRequirement | None = None
    """A test of a cluster condition."""


class RemedySpec(Struct, frozen=True, kw_only=True):
    """When to do what about which clusters."""

    cluster_affinity: ClusterAffinity | None = None
    """The clusters; all if absent."""
    decision_matches: tuple[DecisionMatch, ...] = ()
    """Act when one of these holds; always if empty."""
    actions: tuple[str, ...] = ()
    """What to do: TrafficControl."""


class Remedy(Struct, frozen=True, kw_only=True):
    """Asks for actions while conditions of a cluster hold."""

    api_version: Literal["remedy.karmada.io/v1alpha1"] = always("remedy.karmada.io/v1alpha1")
    kind: Literal["Remedy"] = always("Remedy")
    metadata: ObjectMeta = ObjectMeta()
    spec: RemedySpec
    """When to do what about which clusters."""
