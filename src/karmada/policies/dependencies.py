"""Bindings of things that other resources need: who requires them, and what follows from that.

A dependency has a binding without a placement of its own: it goes where its requirers go. Conflict resolution and
preservation are the strictest wish of all requirers; when they disagree the caller gets a warning. For kinds with
fields that people of a namespace do not write only a cluster-wide policy has a say, see `karmada.policies.binding`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from karmada.api import finalizers, labels, names
from karmada.api.meta import ObjectMeta
from karmada.api.work.v1alpha2 import BindingSnapshot, ObjectReference, ResourceBinding, ResourceBindingSpec
from karmada.overrides.withheld import is_withheld
from karmada.policies.binding import owner_of, reference_to

FindBinding = Callable[[str, str], ResourceBinding | None]
"""(namespace, name) -> a requirer's binding. One that does not exist has no wishes; who cannot do without raises."""


class AttachedToAnother(Exception):
    """The dependency's binding still belongs to an earlier object of the same name."""


class Attached(NamedTuple):
    """The binding of a dependency, and the disagreements of its requirers."""

    binding: ResourceBinding
    conflicts: tuple[str, ...] = ()

    @property
    def complaint(self) -> str:
        """The message about the disagreements; empty when there are none."""
        return f"Dependency policy conflict detected: {'; '.join(self.conflicts)}." if self.conflicts else ""


def merge_snapshots(existing: Iterable[BindingSnapshot], new: Iterable[BindingSnapshot]) -> tuple[BindingSnapshot, ...]:
    """Existing requirers with their updates, then the new ones."""
    merged = list(existing)
    for snapshot in new:
        which = (snapshot.namespace, snapshot.name)
        place = next((i for i, known in enumerate(merged) if (known.namespace, known.name) == which), None)
        if place is None:
            merged.append(snapshot)
        else:
            merged[place] = snapshot
    return tuple(merged)


def delete_snapshot(existing: Iterable[BindingSnapshot], namespace: str, name: str) -> tuple[BindingSnapshot, ...]:
    """The requirers without one."""
    return tuple(snapshot for snapshot in existing if (snapshot.namespace, snapshot.name) != (namespace, name))


def dependency_label(independent: ResourceBinding) -> tuple[str, str]:
    """The label that ties the binding of a dependency to its requirer."""
    metadata = independent.metadata
    key = labels.DEPENDED_BY_PREFIX + names.binding_reference_key(metadata.namespace, metadata.name)
    return key, metadata.labels.get(labels.RESOURCE_BINDING_PERMANENT_ID, "")


def attach(
    dependency: Mapping[str, Any],
    independent: ResourceBinding,
    existing: ResourceBinding | None,
    find: FindBinding,
) -> Attached:
    """The dependency's binding, required by the independent one (which `find` need not know)."""
    snapshot = BindingSnapshot(
        namespace=independent.metadata.namespace, name=independent.metadata.name, clusters=independent.spec.clusters
    )
    key, value = dependency_label(independent)
    resource = reference_to(dependency)
    if existing is None:
        metadata = ObjectMeta(
            name=names.binding_name(resource.kind, resource.name),
            namespace=independent.metadata.namespace,
            labels={key: value},
            finalizers=(finalizers.RESOURCE_BINDING,),
            owner_references=(owner_of(dependency),),
        )
        spec = ResourceBindingSpec(resource=resource, required_by=(snapshot,))
    else:
        owner = next((ref for ref in existing.metadata.owner_references if ref.controller), None)
        if owner is not None and owner.uid != resource.uid:
            raise AttachedToAnother(
                f"ResourceBinding({existing.metadata.namespace}/{existing.metadata.name}) belongs to a deleted object "
                "of the same name, will try again later after binding is garbage collected"
            )
        if existing.metadata.labels.get(key) == value and _has(existing.spec, resource, snapshot, independent):
            return Attached(existing)
        metadata = msgspec.structs.replace(existing.metadata, labels={**existing.metadata.labels, key: value})
        spec = msgspec.structs.replace(
            existing.spec, resource=resource, required_by=merge_snapshots(existing.spec.required_by, (snapshot,))
        )
    return _settled(ResourceBinding(metadata=metadata, spec=spec), existing, independent, find)


def _has(
    spec: ResourceBindingSpec, resource: ObjectReference, snapshot: BindingSnapshot, independent: ResourceBinding
) -> bool:
    """Whether a dependency's binding is as a requirer wants it, whatever others wish: thousands may require one object,
    and all are looked at when it changes."""
    if spec.resource != resource or snapshot not in spec.required_by:
        return False
    return spec.placement is not None or _wish(independent, resource) == (
        spec.conflict_resolution,
        spec.preserve_resources_on_deletion,
    )


def detach(existing: ResourceBinding, independent: ResourceBinding, find: FindBinding) -> Attached:
    """The dependency's binding once the independent one no longer requires it."""
    key, _ = dependency_label(independent)
    marks = {name: value for name, value in existing.metadata.labels.items() if name != key}
    left = delete_snapshot(existing.spec.required_by, independent.metadata.namespace, independent.metadata.name)
    changed = msgspec.structs.replace(
        existing,
        metadata=msgspec.structs.replace(existing.metadata, labels=marks),
        spec=msgspec.structs.replace(existing.spec, required_by=left),
    )
    return _settled(changed, existing, independent, find)


def _settled(
    binding: ResourceBinding, existing: ResourceBinding | None, independent: ResourceBinding, find: FindBinding
) -> Attached:
    """Conflict resolution and preservation by the wishes of all requirers, unless a policy decides."""
    status = existing.status if existing is not None else binding.status
    binding = msgspec.structs.replace(binding, status=status)
    spec = binding.spec
    if spec.placement is not None:
        return Attached(binding)
    if not spec.required_by:
        spec = msgspec.structs.replace(spec, conflict_resolution="", preserve_resources_on_deletion=None)
        return Attached(msgspec.structs.replace(binding, spec=spec))
    requirers = (_requirer(snapshot, independent, find) for snapshot in spec.required_by)
    wishes = [_wish(requirer, spec.resource) for requirer in requirers if requirer is not None]
    if not wishes:
        return Attached(binding)
    resolutions = {resolution for resolution, _ in wishes}
    preservations = {preserve for _, preserve in wishes}
    conflicts = []
    if len(resolutions) > 1:
        conflicts.append("ConflictResolution conflicted (Overwrite vs Abort)")
    if len(preservations) > 1:
        conflicts.append("PreserveResourcesOnDeletion conflicted (true vs false)")
    spec = msgspec.structs.replace(
        spec,
        conflict_resolution="Overwrite" if "Overwrite" in resolutions else "Abort",
        preserve_resources_on_deletion=True in preservations,
    )
    return Attached(msgspec.structs.replace(binding, spec=spec), tuple(conflicts))


def _requirer(snapshot: BindingSnapshot, independent: ResourceBinding, find: FindBinding) -> ResourceBinding | None:
    own = (snapshot.namespace, snapshot.name) == (independent.metadata.namespace, independent.metadata.name)
    return independent if own else find(snapshot.namespace, snapshot.name)


def _wish(requirer: ResourceBinding, resource: ObjectReference) -> tuple[str, bool]:
    spec = requirer.spec
    # What a namespace's policy said stays in a binding that it let go, or that a MultiClusterService took over.
    is_cluster_wide = labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID in requirer.metadata.labels
    if not is_cluster_wide and is_withheld(resource.api_version, resource.kind):
        return "Abort", False
    resolution = "Overwrite" if spec.conflict_resolution == "Overwrite" else "Abort"
    return resolution, bool(spec.preserve_resources_on_deletion)
