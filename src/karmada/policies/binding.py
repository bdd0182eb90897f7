"""The binding a policy makes of a resource: what the detector writes, decided without I/O.

`build_spec` gives the fields that follow from policy and template; `merge_spec` keeps in an existing binding what
others own: the scheduler's choice, dependency requirers, eviction tasks, reschedule requests, suspended scheduling.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from karmada.api import annotations, finalizers, names
from karmada.api.feature_gates import FeatureGates
from karmada.api.meta import ObjectMeta, OwnerReference
from karmada.api.policy.v1alpha1 import PropagationSpec, Suspension
from karmada.api.policy.v1alpha1 import SchedulePriority as PolicyPriority
from karmada.api.work.v1alpha2 import (
    BindingSchedulePriority,
    BindingSuspension,
    ClusterResourceBinding,
    Component,
    ObjectReference,
    ReplicaRequirements,
    ResourceBinding,
    ResourceBindingSpec,
    WorkloadAffinityGroups,
)
from karmada.overrides.withheld import is_withheld
from karmada.policies.claims import ClaimMetadata
from karmada.policies.election import Policy
from karmada.policies.legacy_fields import canonical

JSONObject = Mapping[str, Any]
FindPriority = Callable[[str], int]
"""The value of a PriorityClass; raises when it does not exist."""
_BY_CLUSTER_POLICIES_ONLY: Mapping[str, Any] = {
    "conflict_resolution": "Abort",
    "preserve_resources_on_deletion": None,
    "suspension": None,
}
"""What only a cluster-wide policy says of roles, quotas and endpoints, and its value without one."""


class BindingRefused(Exception):
    """The policy asks for something that cannot be had; the message names it."""


class Workload(NamedTuple):
    """What the interpreter reads from a template; a resource without replicas has none of it."""

    replicas: int = 0
    requirements: ReplicaRequirements | None = None
    components: tuple[Component, ...] = ()


def objection(binding: ResourceBinding | ClusterResourceBinding) -> str:
    """Why a binding may not speak for the resource it names, as far as names show; empty when it may.

    Whoever may write bindings in one namespace could otherwise have any object of the control plane brought into any
    member, or taken away there.
    """
    resource = binding.spec.resource
    if isinstance(binding, ResourceBinding):
        if resource.namespace != binding.metadata.namespace:
            return "a ResourceBinding is for namespaced resources of its own namespace only"
    elif resource.namespace:
        return "a ClusterResourceBinding is for cluster-scoped resources only"
    is_namespace = (resource.api_version, resource.kind) == ("v1", "Namespace")
    where = resource.name if is_namespace else resource.namespace
    if names.is_reserved_namespace(where):
        return f"what is in {where} is the control plane's own and is never propagated"
    return ""


def owner_of(template: JSONObject) -> OwnerReference:
    """The reference by which a binding dies with its template."""
    metadata = template["metadata"]
    return OwnerReference(
        api_version=template["apiVersion"],
        kind=template["kind"],
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        controller=True,
        block_owner_deletion=True,
    )


def reference_to(template: JSONObject) -> ObjectReference:
    """The reference by which a binding names its resource, in the state that the resource has now."""
    metadata = template["metadata"]
    return ObjectReference(
        api_version=template["apiVersion"],
        kind=template["kind"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        resource_version=metadata.get("resourceVersion", ""),
    )


def following(binding: ResourceBinding, resource: ObjectReference) -> ResourceBinding:
    """A binding that a policy made, of the present state of its resource and else as it was. That of a dependency is
    its requirers' to keep, and that of an earlier resource of the name goes."""
    if binding.spec.placement is None or binding.spec.resource.uid != resource.uid:
        return binding
    return msgspec.structs.replace(binding, spec=msgspec.structs.replace(binding.spec, resource=resource))


def build_spec(
    template: JSONObject, policy: Policy, workload: Workload, find_priority: FindPriority, gates: FeatureGates
) -> ResourceBindingSpec:
    """The part of a binding's spec that follows from policy and template; raises `BindingRefused`."""
    spec = canonical(policy.spec)
    if policy.metadata.namespace and is_withheld(template["apiVersion"], template["kind"]):
        # Else a grant would outlive its revocation, and a member's own limit give way, on a tenant's word.
        spec = msgspec.structs.replace(spec, **_BY_CLUSTER_POLICIES_ONLY)
    metadata = template["metadata"]
    namespace = metadata.get("namespace", "")
    return ResourceBindingSpec(
        resource=reference_to(template),
        propagate_deps=spec.propagate_deps,
        replicas=workload.replicas,
        replica_requirements=_requirements(workload, namespace, gates),
        components=workload.components,
        placement=spec.placement,
        scheduler_name=spec.scheduler_name,
        failover=spec.failover,
        conflict_resolution=spec.conflict_resolution,
        suspension=_suspension(spec.suspension, None),
        preserve_resources_on_deletion=spec.preserve_resources_on_deletion,
        schedule_priority=_priority(spec.schedule_priority, find_priority, gates) if namespace else None,
        workload_affinity_groups=_affinity_groups(spec, metadata, gates) if namespace else None,
    )


def withheld_fields(spec: PropagationSpec) -> list[str]:
    """Fields of a namespace's policy that are set and have no effect on some of what it selects."""
    kinds = {each.kind for each in spec.resource_selectors if is_withheld(each.api_version, each.kind)}
    given = {
        "conflictResolution": spec.conflict_resolution == "Overwrite",
        "preserveResourcesOnDeletion": spec.preserve_resources_on_deletion,
        "suspension": spec.suspension,
    }
    named = ", ".join(sorted(kinds))
    return [
        f"spec.{field} has no effect on {named}: use a ClusterPropagationPolicy"
        for field, is_set in given.items()
        if is_set and kinds
    ]


def new_binding(
    template: JSONObject, spec: ResourceBindingSpec, marks: ClaimMetadata
) -> ResourceBinding | ClusterResourceBinding:
    """A binding that does not exist yet: owned by its template, marked with the claim."""
    namespace = spec.resource.namespace
    metadata = ObjectMeta(
        name=names.binding_name(spec.resource.kind, spec.resource.name),
        namespace=namespace,
        labels=marks.labels,
        annotations={**marks.annotations, **_trace(template)},
        finalizers=(finalizers.RESOURCE_BINDING if namespace else finalizers.CLUSTER_RESOURCE_BINDING,),
        owner_references=(owner_of(template),),
    )
    if namespace:
        return ResourceBinding(metadata=metadata, spec=spec)
    return ClusterResourceBinding(metadata=metadata, spec=spec)


def _trace(template: JSONObject) -> dict[str, str]:
    """The trace context that a template carries."""
    found = (template["metadata"].get("annotations") or {}).get(annotations.TRACEPARENT)
    return {annotations.TRACEPARENT: found} if found else {}


def merge_spec(existing: ResourceBindingSpec, built: ResourceBindingSpec) -> ResourceBindingSpec:
    """An existing binding's spec brought up to date."""
    return msgspec.structs.replace(
        built,
        clusters=existing.clusters,
        required_by=existing.required_by,
        graceful_eviction_tasks=existing.graceful_eviction_tasks,
        reschedule_triggered_at=existing.reschedule_triggered_at,
        failback_triggered_at=existing.failback_triggered_at,
        suspension=_suspension(built.suspension, existing.suspension),
    )


def _suspension(wanted: Suspension | None, existing: BindingSuspension | None) -> BindingSuspension | None:
    """The policy decides about dispatching; whether scheduling is suspended is kept."""
    scheduling = existing.scheduling if existing else None
    if wanted is None:
        return BindingSuspension(scheduling=scheduling) if scheduling is not None else None
    return BindingSuspension(
        dispatching=wanted.dispatching,
        dispatching_on_clusters=wanted.dispatching_on_clusters,
        scheduling=scheduling,
    )


def _requirements(workload: Workload, namespace: str, gates: FeatureGates) -> ReplicaRequirements | None:
    requirements = workload.requirements
    if requirements is None:
        return None
    if gates.enabled("ResourceQuotaEstimate") or gates.enabled("MultiplePodTemplatesScheduling"):
        return msgspec.structs.replace(requirements, namespace=namespace)
    return msgspec.structs.replace(requirements, namespace="", priority_class_name="")


def _priority(wanted: PolicyPriority | None, find: FindPriority, gates: FeatureGates) -> BindingSchedulePriority | None:
    if wanted is None or not gates.enabled("PriorityBasedScheduling"):
        return None
    source = wanted.priority_class_source
    if source != "KubePriorityClass":
        raise BindingRefused(f"priority class source is {source}, but {source} is not supported yet")
    return BindingSchedulePriority(priority=find(wanted.priority_class_name))


def _affinity_groups(
    spec: PropagationSpec, metadata: Mapping[str, Any], gates: FeatureGates
) -> WorkloadAffinityGroups | None:
    affinity = spec.placement.workload_affinity
    if affinity is None or not gates.enabled("WorkloadAffinity"):
        return None
    present: Mapping[str, str] = metadata.get("labels") or {}
    together = _group(affinity.affinity.group_by_label_key if affinity.affinity else "", present)
    apart = _group(affinity.anti_affinity.group_by_label_key if affinity.anti_affinity else "", present)
    if not together and not apart:
        return None
    return WorkloadAffinityGroups(affinity_group=together, anti_affinity_group=apart)


def _group(key: str, present: Mapping[str, str]) -> str:
    return f"{key}={present[key]}" if key and key in present else ""
