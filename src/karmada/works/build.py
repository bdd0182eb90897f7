"""From a binding to the Works of its clusters, decided without I/O.

For each target: copy the template, revise its replicas (the caller does, through the interpreter), divide a Job's
completions, apply overrides, stamp it. What fails for one cluster fails only that cluster.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import orjson

from karmada.api import annotations, finalizers, labels, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import tree
from karmada.api.feature_gates import FeatureGates
from karmada.api.meta import ObjectMeta
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy, Placement
from karmada.api.work.v1alpha1 import Work, WorkloadTemplate, WorkSpec
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding, ResourceBindingSpec, TargetCluster
from karmada.overrides.apply import AppliedRule, apply_overrides, overridden_replicas, record
from karmada.overrides.errors import OverrideError
from karmada.overrides.identity import Identity
from karmada.policies.webster import divide, ties_ascend
from karmada.works.manifest import merge_annotations, merge_labels, record_managed, stamp
from karmada.works.owner import made_for, recorded, require_own
from karmada.works.prune import prune

JSONObject = dict[str, Any]
Binding = ResourceBinding | ClusterResourceBinding


class Overrides(NamedTuple):
    """The policies that may apply to the template."""

    cluster_policies: Sequence[ClusterOverridePolicy] = ()
    policies: Sequence[OverridePolicy] = ()


def keep_set(spec: ResourceBindingSpec) -> set[str]:
    """The clusters whose Works stay: chosen ones, those of requirers, and those being left gracefully."""
    kept = {target.name for target in spec.clusters}
    for requirer in spec.required_by:
        kept.update(target.name for target in requirer.clusters)
    kept.update(t.from_cluster for t in spec.graceful_eviction_tasks if t.purge_mode != "Directly")
    return kept


def targets(spec: ResourceBindingSpec) -> list[TargetCluster]:
    """The clusters that get a Work: the chosen ones, then those of requirers that are not yet among them."""
    merged = {target.name: target for target in spec.clusters}
    for requirer in spec.required_by:
        for target in requirer.clusters:
            merged.setdefault(target.name, target)
    return list(merged.values())


def work_name(spec: ResourceBindingSpec) -> str:
    """The name of every Work of a binding; each lies in the namespace of its cluster."""
    return names.work_name(spec.resource.kind, spec.resource.name, spec.resource.namespace)


def is_workload(spec: ResourceBindingSpec) -> bool:
    """Whether replicas mean anything for the resource."""
    return spec.replicas > 0 or spec.replica_requirements is not None or bool(spec.components)


def conflict_resolution(copy: Mapping[str, Any], spec: ResourceBindingSpec) -> str:
    """The word of a cluster's copy, be it the template's or that of an override policy, else the binding's."""
    own = ((copy.get("metadata") or {}).get("annotations") or {}).get(annotations.CONFLICT_RESOLUTION)
    if own in (annotations.CONFLICT_OVERWRITE, annotations.CONFLICT_ABORT):
        return str(own)
    return annotations.CONFLICT_OVERWRITE if spec.conflict_resolution == "Overwrite" else annotations.CONFLICT_ABORT


def job_completions(
    template: Mapping[str, Any], spec: ResourceBindingSpec, chosen: list[TargetCluster]
) -> dict[str, int]:
    """The share of a divided Job's completions per cluster; empty when they are not divided."""
    completions = (template.get("spec") or {}).get("completions")
    if template.get("kind") != "Job" or spec.replicas <= 0 or not is_divided(spec.placement) or not completions:
        return {}
    votes = [(target.name, target.replicas) for target in chosen]
    return {share.name: share.seats for share in divide(completions, votes, ascending=ties_ascend(spec.resource.uid))}


def is_divided(placement: Placement | None) -> bool:
    """Whether clusters share the replicas: all that Works have of a placement, those of Jobs at that."""
    scheduling = placement.replica_scheduling if placement else None
    return scheduling is not None and scheduling.replica_scheduling_type == "Divided"


class WorkBuilder:
    """Builds the Works of one binding."""

    def __init__(self, binding: Binding, template: JSONObject, overrides: Overrides, gates: FeatureGates) -> None:
        self._binding = binding
        self._spec = binding.spec
        self.template = template
        self._which = Identity.of(template)
        self._overrides = overrides
        self._gates = gates
        self._completions = job_completions(template, binding.spec, targets(binding.spec))
        self._identity = _identity(binding)
        self.name = work_name(binding.spec)
        """The name of the binding's Works; each lies in the namespace of its cluster."""
        self.is_overridden = any(overrides)
        """Whether there are policies that may change the copies."""

    def owns(self, body: bytes) -> bool:
        """Whether a Work that cannot be read as a whole says in its metadata that it was made for the binding."""
        return made_for(body) == recorded(ObjectMeta(annotations=self._identity[1]))

    def _trace(self) -> dict[str, str]:
        """The trace context that the binding carries."""
        found = self._binding.metadata.annotations.get(annotations.TRACEPARENT)
        return {annotations.TRACEPARENT: found} if found else {}

    def replicas(self, target: TargetCluster, cluster: Cluster) -> int | None:
        """The replicas the cluster's copy must be revised to; None when it stays as the template is."""
        wanted = overridden_replicas(self.template, cluster, *self._overrides)
        if wanted is not None:
            return wanted
        return target.replicas if is_workload(self._spec) and not self._spec.components else None

    def build(self, copy: JSONObject, target: TargetCluster, cluster: Cluster) -> "Draft":
        """The Work that holds a revised copy; raises `OverrideError`, and `IdentityChanged` when the copy is not the
        object that the template is."""
        self._which.require(copy, "the interpreter's replica revision")
        if target.name in self._completions:
            copy["spec"]["completions"] = self._completions[target.name]
        overridden = apply_overrides(copy, cluster, *self._overrides)
        copy = overridden.resource
        self._inject_state(copy, target)
        self._which.restore(copy)
        conflicts = conflict_resolution(copy, self._spec)
        identity, noted = self._identity
        self._mark(copy, identity, noted)
        metadata = ObjectMeta(
            name=self.name,
            namespace=names.execution_space(target.name),
            finalizers=(finalizers.WORK,),
            labels=dict(identity),
            annotations={
                annotations.CONFLICT_RESOLUTION: conflicts,
                **self._trace(),
                **noted,
                **self._fenced(),
                **records(overridden.by_cluster_policies, overridden.by_policies),
            },
        )
        return Draft(
            metadata,
            copy,
            suspend_dispatching=_suspended(self._spec, target.name),
            preserve_resources_on_deletion=bool(self._spec.preserve_resources_on_deletion),
            applied=[
                *(("cluster override policy", rule.policy_name) for rule in overridden.by_cluster_policies),
                *(
                    ("override policy", f"{self._spec.resource.namespace}/{r.policy_name}")
                    for r in overridden.by_policies
                ),
            ],
            left_out=overridden.left_out,
        )

    def _mark(self, copy: JSONObject, identity: dict[str, str], noted: dict[str, str]) -> None:
        merge_labels(copy, identity)
        generation = (copy.get("metadata") or {}).get("generation") or 0
        if generation > 0:
            noted = {**noted, annotations.TEMPLATE_GENERATION: str(generation)}
        merge_annotations(copy, noted)

    def _fenced(self) -> dict[str, str]:
        failover = self._spec.failover
        is_fenced = failover is not None and failover.fencing is not None and self._gates.enabled("ControlledMoves")
        return {annotations.FENCED: "true"} if is_fenced else {}

    def _inject_state(self, copy: JSONObject, target: TargetCluster) -> None:
        """Hand the state saved by a failover to the one cluster that replaces the failed one."""
        spec = self._spec
        if not self._gates.enabled("StatefulFailoverInjection") or len(targets(spec)) != 1:
            return
        if not spec.graceful_eviction_tasks:
            return
        task = spec.graceful_eviction_tasks[-1]
        if task.purge_mode == "Directly" and target.name not in task.clusters_before_failover:
            merge_labels(copy, task.preserved_label_state)


def _identity(binding: Binding) -> tuple[dict[str, str], dict[str, str]]:
    """Labels and annotations that lead from a Work or a member's object back to the binding."""
    metadata = binding.metadata
    if isinstance(binding, ResourceBinding):
        key = labels.RESOURCE_BINDING_PERMANENT_ID
        noted = {
            annotations.RESOURCE_BINDING_NAMESPACE: metadata.namespace,
            annotations.RESOURCE_BINDING_NAME: metadata.name,
        }
    else:
        key = labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID
        noted = {annotations.CLUSTER_RESOURCE_BINDING_NAME: metadata.name}
    return {key: metadata.labels.get(key, "")}, noted


class WorkTerminating(Exception):
    """The Work is still being deleted; a new one can be written after that."""


class Draft:
    """A Work to be written: decided once, merged into whatever is there.

    In an existing Work labels, annotations and finalizers are merged, never removed, but for a fence that was given up;
    its spec is replaced. One that is being deleted is left alone: what is written into it would go with it.
    """

    def __init__(
        self,
        metadata: ObjectMeta,
        manifest: JSONObject,
        suspend_dispatching: bool | None,
        preserve_resources_on_deletion: bool | None,
        applied: list[tuple[str, str]] | None = None,
        left_out: OverrideError | None = None,
    ) -> None:
        self.metadata = metadata
        self.applied = applied or []
        """The override policies that took effect: how events call the kind, and which one."""
        self.left_out = left_out
        """Why the policies of the namespace did not, though the copy was made."""
        uid = (manifest.get("metadata") or {}).get("uid", "")
        strategy = metadata.annotations.get(annotations.CONFLICT_RESOLUTION, "")
        stamp(manifest, metadata.namespace, metadata.name, uid, strategy)
        prune(manifest)
        record_managed(manifest)
        self._manifest = manifest
        self._suspend_dispatching = suspend_dispatching
        self._preserve_resources_on_deletion = preserve_resources_on_deletion

    def merged(self, existing: Work | None) -> Work:
        """The Work as it should be; raises `WorkTerminating`, and `WorkOfAnother` when the name is taken."""
        if existing is None:
            return Work(metadata=self.metadata, spec=self._spec(self._manifest))
        require_own(existing, self.metadata, self._manifest)
        if existing.metadata.deletion_timestamp is not None:
            raise WorkTerminating(f"work {self.metadata.namespace}/{self.metadata.name} is being deleted")
        manifest = self._manifest
        permanent_id = existing.metadata.labels.get(labels.WORK_PERMANENT_ID)
        if permanent_id:
            manifest = {**manifest, "metadata": dict(manifest["metadata"])}
            merge_labels(manifest, {labels.WORK_PERMANENT_ID: permanent_id})
            record_managed(manifest)
        noted = {key: value for key, value in existing.metadata.annotations.items() if key != annotations.FENCED}
        metadata = msgspec.structs.replace(
            existing.metadata,
            labels={**existing.metadata.labels, **self.metadata.labels},
            annotations={**noted, **self.metadata.annotations},
            finalizers=tuple(dict.fromkeys((*existing.metadata.finalizers, *self.metadata.finalizers))),
        )
        return Work(metadata=metadata, spec=self._spec(manifest), status=existing.status)

    def _spec(self, manifest: JSONObject) -> WorkSpec:
        return WorkSpec(
            workload=WorkloadTemplate(manifests=(msgspec.Raw(orjson.dumps(manifest)),)),
            suspend_dispatching=self._suspend_dispatching,
            preserve_resources_on_deletion=self._preserve_resources_on_deletion,
        )


def manifest_of(work: Work, ordinal: int = 0) -> JSONObject:
    """A Work's manifest as a tree."""
    parsed: JSONObject = tree(work.spec.workload.manifests[ordinal])
    return parsed


def records(by_cluster_policies: Sequence[AppliedRule], by_policies: Sequence[AppliedRule]) -> dict[str, str]:
    """The annotations of a Work that list the override rules that took effect."""
    noted: dict[str, str] = {}
    if by_cluster_policies:
        noted[annotations.APPLIED_CLUSTER_OVERRIDES] = record(by_cluster_policies)
    if by_policies:
        noted[annotations.APPLIED_OVERRIDES] = record(by_policies)
    return noted


def _suspended(spec: ResourceBindingSpec, cluster: str) -> bool:
    suspension = spec.suspension
    if suspension is None:
        return False
    if suspension.dispatching:
        return True
    named = suspension.dispatching_on_clusters
    return named is not None and cluster in named.cluster_names
