"""The Service of a MultiClusterService: its claim, and the binding that brings it to clusters. Without I/O."""

from typing import Any

import msgspec

from karmada.api import annotations, finalizers, labels, names
from karmada.api.meta import ObjectMeta, OwnerReference
from karmada.api.networking.v1alpha1 import MultiClusterService
from karmada.api.policy.v1alpha1 import ClusterAffinity, Placement
from karmada.api.work.v1alpha2 import ObjectReference as Reference
from karmada.api.work.v1alpha2 import ResourceBinding, ResourceBindingSpec
from karmada.policies.claims import claimed

JSONObject = dict[str, Any]
KIND = "MultiClusterService"


class BindingOfAnother(Exception):
    """The binding of that name belongs to an earlier Service of the same name."""


def claimed_service(service: JSONObject, owner: MultiClusterService) -> JSONObject:
    """The Service under the claim of a MultiClusterService, and of nobody else."""
    metadata = service["metadata"]
    free = claimed(metadata.get("labels") or {}, metadata.get("annotations") or {}, None)
    marks = {
        **free.labels,
        labels.CLAIMED_BY: KIND,
        labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID: permanent_id(owner),
    }
    return {**service, "metadata": {**metadata, "labels": marks, "annotations": free.annotations | _noted(owner)}}


def binding_of(service: JSONObject, owner: MultiClusterService, targets: list[str]) -> ResourceBinding:
    """The binding that brings a claimed Service to clusters."""
    metadata = service["metadata"]
    reference = OwnerReference(api_version="v1", kind="Service", name=metadata["name"], uid=metadata["uid"])
    return ResourceBinding(
        metadata=ObjectMeta(
            name=names.binding_name("Service", metadata["name"]),
            namespace=metadata["namespace"],
            labels={
                labels.BINDING_MANAGED_BY: KIND,
                labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID: permanent_id(owner),
            },
            annotations=_noted(owner),
            owner_references=(reference,),
            finalizers=(finalizers.RESOURCE_BINDING,),
        ),
        spec=ResourceBindingSpec(
            resource=Reference(
                api_version="v1",
                kind="Service",
                namespace=metadata["namespace"],
                name=metadata["name"],
                uid=metadata["uid"],
                resource_version=metadata["resourceVersion"],
            ),
            placement=Placement(cluster_affinity=ClusterAffinity(cluster_names=tuple(targets))),
            conflict_resolution="Overwrite",
        ),
    )


def merged(current: ResourceBinding | None, fresh: ResourceBinding) -> ResourceBinding:
    """The binding as it should be; what others decide in it stays. Raises `BindingOfAnother`."""
    if current is None:
        return fresh
    mine = current.metadata
    controller = next((ref for ref in mine.owner_references if ref.controller), None)
    if controller is not None and controller.uid != fresh.spec.resource.uid:
        raise BindingOfAnother(
            f"ResourceBinding {mine.name} belongs to a deleted resource of the same name, "
            "try again later after binding is garbage collected"
        )
    free = claimed(mine.labels, mine.annotations, None)
    metadata = msgspec.structs.replace(
        mine,
        labels=free.labels | fresh.metadata.labels,
        annotations=free.annotations | fresh.metadata.annotations,
        owner_references=fresh.metadata.owner_references,
        finalizers=tuple(dict.fromkeys((*mine.finalizers, *fresh.metadata.finalizers))),
    )
    spec = msgspec.structs.replace(
        current.spec,
        resource=fresh.spec.resource,
        placement=fresh.spec.placement,
        conflict_resolution=fresh.spec.conflict_resolution,
    )
    return msgspec.structs.replace(current, metadata=metadata, spec=spec)


def released_service(service: JSONObject, owner: MultiClusterService) -> JSONObject:
    """The Service without the claim of a MultiClusterService."""
    marks = service["metadata"].get("labels") or {}
    if marks.get(labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID) != permanent_id(owner):
        return service
    gone = (labels.CLAIMED_BY, labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID)
    kept = {key: value for key, value in marks.items() if key not in gone}
    return {**service, "metadata": {**service["metadata"], "labels": kept}}


def released_binding(binding: ResourceBinding, owner: MultiClusterService) -> ResourceBinding:
    """The binding without the marks of a MultiClusterService; what it has brought to clusters stays there."""
    metadata = binding.metadata
    if metadata.labels.get(labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID) != permanent_id(owner):
        return binding
    gone = (labels.BINDING_MANAGED_BY, labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID)
    marks = {key: value for key, value in metadata.labels.items() if key not in gone}
    noted = {key: value for key, value in metadata.annotations.items() if key not in _noted(owner)}
    return msgspec.structs.replace(binding, metadata=msgspec.structs.replace(metadata, labels=marks, annotations=noted))


def _noted(owner: MultiClusterService) -> dict[str, str]:
    return {
        annotations.MULTI_CLUSTER_SERVICE_NAME: owner.metadata.name,
        annotations.MULTI_CLUSTER_SERVICE_NAMESPACE: owner.metadata.namespace,
    }


def permanent_id(owner: MultiClusterService) -> str:
    """The identity repeated on everything made for a MultiClusterService."""
    return owner.metadata.labels.get(labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID, "")
