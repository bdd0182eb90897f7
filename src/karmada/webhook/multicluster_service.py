"""Completes and judges MultiClusterServices."""

from karmada.api import labels
from karmada.api.field_errors import FieldError, duplicate, invalid
from karmada.api.name_rules import dns_1035_label, dns_label
from karmada.api.networking.v1alpha1 import MultiClusterService, MultiClusterServiceSpec
from karmada.webhook.addresses import ingress_errors
from karmada.webhook.model import Operation, Review, decoded, refuse_if_any
from karmada.webhook.names import cluster_name_errors

_TYPES = ("CrossCluster", "LoadBalancer")


def mutate_multicluster_service(review: Review) -> None:
    """Complete a MultiClusterService."""
    decoded(review.object, MultiClusterService)
    spec = review.object.setdefault("spec", {})
    spec.setdefault("range", {})
    spec.setdefault("types", None)
    review.object.setdefault("status", {}).setdefault("loadBalancer", {})
    if review.operation is not Operation.CREATE:
        return
    metadata = review.object.setdefault("metadata", {})
    marks = metadata.get("labels") or {}
    if not marks.get(labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID):
        metadata["labels"] = {**marks, labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID: review.new_id()}


async def validate_multicluster_service(review: Review) -> None:
    """Judge a MultiClusterService."""
    service = decoded(review.object, MultiClusterService)
    errors = [invalid("metadata.name", service.metadata.name, why) for why in dns_1035_label(service.metadata.name)]
    errors += _type_errors(service.spec)
    if review.operation is Operation.UPDATE and review.old is not None:
        old = decoded(review.old, MultiClusterService)
        if old.spec.types != service.spec.types:
            detail = "MultiClusterService types are immutable"
            errors.append(invalid("spec.types", list(service.spec.types), detail))
        errors += ingress_errors(review.object)
    errors += _port_errors(service.spec)
    for index, provider in enumerate(service.spec.provider_clusters):
        errors += cluster_name_errors(provider.name, f"spec.range.providerClusters[{index}]")
    for index, consumer in enumerate(service.spec.consumer_clusters):
        errors += cluster_name_errors(consumer.name, f"spec.range.consumerClusters[{index}]")
    refuse_if_any(errors)


def _type_errors(spec: MultiClusterServiceSpec) -> list[FieldError]:
    if len(set(spec.types)) > 1:
        detail = "MultiClusterService types should not contain more than one type"
        return [invalid("spec.types", list(spec.types), detail)]
    return [
        invalid(f"spec.types[{index}]", name, "ExposureType Error")
        for index, name in enumerate(spec.types)
        if name not in _TYPES
    ]


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
