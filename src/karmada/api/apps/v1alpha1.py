"""WorkloadRebalancer: asks once for workloads to be placed as if they were new."""

from enum import StrEnum
from typing import Annotated, Literal

from karmada.api.base import Int32, Int64, Schema, Struct, Time, always
from karmada.api.meta import ObjectMeta


class RebalanceResult(StrEnum):
    """What became of one request."""

    SUCCESSFUL = "Successful"
    FAILED = "Failed"


class ObjectReference(Struct, frozen=True, kw_only=True):
    """A workload."""

    api_version: str
    """Its API version."""
    kind: str
    """Its kind."""
    namespace: str = ""
    """Its namespace; empty if it has none."""
    name: str
    """Its name."""


class WorkloadRebalancerSpec(Struct, frozen=True, kw_only=True):
    """The request."""

    workloads: Annotated[tuple[ObjectReference, ...], Schema(min_items=1)]
    """The workloads to place anew."""
    ttl_seconds_after_finished: Int32 | None = None
    """Delete the object this long after it is done; never if absent."""


class ObservedWorkload(Struct, frozen=True, kw_only=True):
    """What became of the request for one workload."""

    workload: ObjectReference
    """The workload."""
    result: str = ""
    """Successful or Failed; empty while it is not done."""
    reason: str = ""
    """Why it failed."""


class WorkloadRebalancerStatus(Struct, frozen=True, kw_only=True):
    """How far the request is."""

    observed_workloads: tuple[ObservedWorkload, ...] = ()
    """Per workload."""
    observed_generation: Int64 = 0
    """The generation that was looked at."""
    finish_time: Time | None = None
    """When everything was done."""


class WorkloadRebalancer(Struct, frozen=True, kw_only=True):
    """Asks for workloads to be placed anew."""

    api_version: Literal["apps.karmada.io/v1alpha1"] = always("apps.karmada.io/v1alpha1")
    kind: Literal["WorkloadRebalancer"] = always("WorkloadRebalancer")
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadRebalancerSpec
    """The request."""
    status: WorkloadRebalancerStatus = WorkloadRebalancerStatus()
    """How far it is."""
