"""What Deployments, ReplicaSets and StatefulSets share: replicas of one pod template."""

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.interpreter.model import JSONObject, ReplicaNeeds
from karmada.interpreter.native.counters import int32
from karmada.interpreter.pods.references import pod_dependencies
from karmada.interpreter.pods.requirements import replica_requirements
from karmada.interpreter.pods.template import PodTemplate
from karmada.interpreter.shape import Metadata, View, mapping, view, whole


class WorkloadSpec(View, frozen=True, kw_only=True):
    """Replicas of a pod template."""

    replicas: int | None = None
    template: PodTemplate = PodTemplate()


class ReplicasStatus(View, frozen=True, kw_only=True):
    """How many replicas there are."""

    observed_generation: int = 0
    replicas: int = 0
    available_replicas: int = 0


class WorkloadStatus(ReplicasStatus, frozen=True, kw_only=True):
    """How far the replicas are."""

    updated_replicas: int = 0


class Workload(View, frozen=True, kw_only=True):
    """A workload."""

    metadata: Metadata = Metadata()
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()


class Replicas(View, frozen=True, kw_only=True):
    """A workload whose replicas are never updated."""

    metadata: Metadata = Metadata()
    spec: WorkloadSpec = WorkloadSpec()
    status: ReplicasStatus = ReplicasStatus()


def workload_needs(
    resource: JSONObject, with_priority: bool, kind: type[Workload] | type[Replicas] = Workload
) -> ReplicaNeeds:
    """Replicas and what one needs."""
    spec = view(resource, kind).spec
    return ReplicaNeeds(
        int32(spec.replicas or 0), replica_requirements(spec.template.spec, with_priority=with_priority)
    )


def workload_dependencies(
    resource: JSONObject, kind: type[Workload] | type[Replicas] = Workload
) -> tuple[DependentObjectReference, ...]:
    """What the pod template refers to."""
    found = view(resource, kind)
    return pod_dependencies(found.spec.template.spec, found.metadata.namespace)


def revise(resource: JSONObject, field: str, replicas: int) -> JSONObject:
    """Set a number in the spec that the resource already has."""
    spec = mapping(resource, "spec")
    if spec is not None and whole(spec, field) is not None:
        spec[field] = replicas
    return resource


def revise_replicas(resource: JSONObject, replicas: int) -> JSONObject:
    """Set the replicas, if the resource has any."""
    return revise(resource, "replicas", replicas)


def is_updated(workload: Workload) -> bool:
    """All replicas run the latest template and are available."""
    status = workload.status
    return (
        status.observed_generation == workload.metadata.generation
        and reaches(status.updated_replicas, workload.spec.replicas)
        and int32(status.available_replicas) >= int32(status.updated_replicas)
    )


def reaches(count: int, wanted: int | None) -> bool:
    """Whether as many are counted as are wanted, if anybody says how many."""
    return wanted is None or int32(count) >= int32(wanted)
