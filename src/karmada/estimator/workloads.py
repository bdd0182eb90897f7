"""Deployments, their ReplicaSets and pods, as far as unschedulable replicas are concerned."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import field

from karmada.api.base import OpenObject, Struct
from karmada.api.codec import tree
from karmada.api.label_selector import matches
from karmada.api.meta import LabelSelector, ObjectMeta
from karmada.api.native import Pod

_HASH = "pod-template-hash"


class WorkloadSpec(Struct, frozen=True, kw_only=True):
    """The part of a Deployment or ReplicaSet that is read."""

    selector: LabelSelector | None = None
    template: OpenObject = field(default_factory=msgspec.Raw)


class Workload(Struct, frozen=True, kw_only=True):
    """A Deployment or a ReplicaSet."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


def current_pods(deployment: Workload, replica_sets: Iterable[Workload], pods: Iterable[Pod]) -> list[Pod]:
    """The pods of the ReplicaSet that has the Deployment's present template."""
    current = _current(deployment, replica_sets)
    if current is None:
        return []
    selector = deployment.spec.selector
    return [
        pod
        for pod in pods
        if _controller(pod.metadata) == current.metadata.uid
        and (selector is None or matches(selector, pod.metadata.labels))
    ]


def _current(deployment: Workload, replica_sets: Iterable[Workload]) -> Workload | None:
    """The oldest of the Deployment's ReplicaSets with its template; the hash Kubernetes adds is no difference."""
    owned = [found for found in replica_sets if _controller(found.metadata) == deployment.metadata.uid]
    wanted = _template(deployment)
    by_age = sorted(owned, key=lambda found: (found.metadata.creation_timestamp or "", found.metadata.name))
    return next((found for found in by_age if _template(found) == wanted), None)


def _template(workload: Workload) -> Any:
    template = tree(workload.spec.template) if workload.spec.template else {}
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != _HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _controller(metadata: ObjectMeta) -> str:
    return next((owner.uid for owner in metadata.owner_references if owner.controller), "")
