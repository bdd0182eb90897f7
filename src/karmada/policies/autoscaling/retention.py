"""Whether the replicas that members chose for a Deployment may become the template's.

Deployments labelled `retain-replicas` are scaled by members. Their template follows once everything it asked for has
taken effect and every member's answer is part of its status: anything earlier would undo a change of the user's.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from karmada.api import labels
from karmada.api.codec import DecodeError, decode
from karmada.api.work.v1alpha2 import ResourceBinding

RETAINED = "true"
"""The value of the label `retain-replicas` that counts."""


class _Status(msgspec.Struct, frozen=True):
    replicas: int = 0


def is_retained(deployment: Mapping[str, Any]) -> bool:
    """Whether members decide how many replicas a Deployment has."""
    marks = deployment["metadata"].get("labels") or {}
    return marks.get(labels.RETAIN_REPLICAS) == RETAINED


def replicas_to_adopt(deployment: Mapping[str, Any], binding: ResourceBinding) -> int | None:
    """The replicas the template should ask for; None while they are not certain, and when it asks for them already."""
    wanted, status = (deployment.get("spec") or {}).get("replicas"), deployment.get("status") or {}
    present = status.get("replicas") or 0
    if not is_retained(deployment) or not _is_of(binding, deployment) or not _is_divided(binding):
        return None
    if wanted is None or wanted == present or wanted != binding.spec.replicas:
        return None
    if status.get("observedGeneration") != deployment["metadata"].get("generation"):
        return None
    if binding.status.scheduler_observed_generation != binding.metadata.generation:
        return None
    return present if _sum_of_members(binding) == present else None


def _is_of(binding: ResourceBinding, deployment: Mapping[str, Any]) -> bool:
    resource, metadata = binding.spec.resource, deployment["metadata"]
    return (resource.kind, resource.namespace, resource.name) == (
        "Deployment",
        metadata["namespace"],
        metadata["name"],
    ) and resource.uid in ("", metadata.get("uid"))


def _is_divided(binding: ResourceBinding) -> bool:
    scheduling = binding.spec.placement.replica_scheduling if binding.spec.placement else None
    return scheduling is not None and scheduling.replica_scheduling_type == "Divided"


def _sum_of_members(binding: ResourceBinding) -> int | None:
    """The replicas members have together; None until each of them has said that it has some."""
    items = binding.status.aggregated_status
    if len(items) != len(binding.spec.clusters):
        return None
    total = 0
    for item in items:
        try:
            replicas = decode(item.status, _Status).replicas if item.status else 0
        except DecodeError:
            return None
        if replicas <= 0:
            return None
        total += replicas
    return total
