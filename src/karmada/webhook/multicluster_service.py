"""Completes and judges MultiClusterServices."""

from karmada.api import labels
from karmada.api.field_errors import FieldError, duplicate, invalid
from karmada.api.name_rules import dns_1035_label, dns_label
from karmada.api.networking.v1alpha1 import MultiClusterService, MultiClusterServiceSpec
from karmada.webhook.addresses import ingress_errors
from karmada.webhook.metadata import name_errors, update_errors
from karmada.webhook.model import JSONObject, Operation, Review, decoded, refuse_if_any
from karmada.webhook.names import cluster_name_errors

_TYPES = ("CrossCluster", "LoadBalancer")


def mutate_multicluster_service(review: Review) -> None:
    """Complete a MultiClusterService."""
    decoded(review.object, MultiClusterService)
    spec = review.object["spec"] = review.object.get("spec") or {}
    spec.setdefault("range", {})
    spec.setdefault("types", None)
    status = review.object["status"] = review.object.get("status") or {}
    status.setdefault("loadBalancer", {})
    metadata = review.object.setdefault("metadata", {})
    marks = metadata.get("labels") or {}
    if not marks.get(labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID):
        metadata["labels"] = {**marks, labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID: review.new_id()}


async def validate_multicluster_service(review: Review) -> None:
    """Judge a MultiClusterService."""
    service = decoded(review.object, MultiClusterService)
    errors: list[FieldError] = []
    if review.operation is Operation.UPDATE and review.old is not None:
        decoded(review.old, MultiClusterService)
        errors += update_errors(review.object, review.old)
        errors += _changed_types(review.object, review.old)
    errors += name_errors(service.metadata, dns_1035_label)
    errors += _port_errors(service.spec)
    errors += _type_errors(service.spec)
    for index, provider in enumerate(service.spec.provider_clusters):
        errors += cluster_name_errors(provider.name, f"spec.range.providerClusters[{index}]")
    for index, consumer in enumerate(service.spec.consumer_clusters):
        errors += cluster_name_errors(consumer.name, f"spec.range.consumerClusters[{index}]")
    if review.operation is Operation.UPDATE:
        errors += ingress_errors(review.object)
    refuse_if_any(errors)


def _changed_types(new: JSONObject, old: JSONObject) -> list[FieldError]:
    """How a service is exposed is fixed; none at all is something else than an empty list."""
    before = (old.get("spec") or {}).get("types")
    if before == (new.get("spec") or {}).get("types"):
        return []
    return [invalid("spec.types", before, "MultiClusterService types are immutable")]


def _type_errors(spec: MultiClusterServiceSpec) -> list[FieldError]:
    errors = [
        invalid(f"spec.types[{index}]", name, "ExposureType Error")
        for index, name in enumerate(spec.types)
        if name not in _TYPES
    ]
    if len(set(spec.types)) > 1:
        detail = "MultiClusterService types should not contain more than one type"
        errors.append(invalid("spec.types", list(spec.types), detail))
    return errors


def _port_errors(spec: MultiClusterServiceSpec) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, port in enumerate(spec.ports):
        path = f"spec.ports[{index}]"
        if port.name:
            errors += [invalid(f"{path}.name", port.name, why) for why in dns_label(port.name)]
            if port.name in seen:
                errors.append(duplicate(f"{path}.name", port.name))
            seen.add(port.name)
        if not 1 <= port.port <= 65535:
            errors.append(invalid(f"{path}.port", port.port, "must be between 1 and 65535, inclusive"))
    return errors
