"""Rules of the status that says which claim serves the extended resources of a pod."""

from karmada.api.field_errors import duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, dns_label, dns_subdomain

_PATH = "status.extendedResourceClaimStatus"


def extended_claim(status: JSONObject | None, spec: JSONObject) -> Errors:
    """What is wrong with the claim and with its mappings of requests to containers."""
    if status is None:
        return []
    mappings = status.get("requestMappings") or []
    errors: Errors = []
    if not mappings:
        errors.append(required(f"{_PATH}.requestMappings", "at least one request mapping is required"))
    requests = {
        container.get("name") or "": (container.get("resources") or {}).get("requests") or {}
        for field in ("initContainers", "containers")
        for container in spec.get(field) or ()
    }
    seen: set[tuple[str, str, str]] = set()
    for index, mapping in enumerate(mappings):
        errors += _mapping(mapping, f"{_PATH}.requestMappings[{index}]", requests, seen)
    name = status.get("resourceClaimName") or ""
    return errors + (dns_subdomain(f"{_PATH}.resourceClaimName", name) if name else [required(_CLAIM)])


_CLAIM = f"{_PATH}.resourceClaimName"


def _mapping(
    mapping: JSONObject, path: str, requests: dict[str, JSONObject], seen: set[tuple[str, str, str]]
) -> Errors:
    container, resource = mapping.get("containerName") or "", mapping.get("resourceName") or ""
    request = mapping.get("requestName") or ""
    errors: Errors = []
    if container not in requests:
        text = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
        errors.append(invalid(f"{path}.containerName", container, text))
    elif "/" not in resource or resource not in requests[container]:
        text = (
            "must match the extended resource name of an entry in spec.initContainers.resources.requests "
            "or spec.containers.resources.requests"
        )
        errors.append(invalid(f"{path}.resourceName", resource, text))
    errors += dns_label(f"{_PATH}.requestName", request)
    if (container, resource, request) in seen:
        errors.append(duplicate(f"{path}.containerName", container))
        errors.append(duplicate(f"{path}.resourceName", resource))
        errors.append(duplicate(f"{path}.requestName", request))
    seen.add((container, resource, request))
    return errors
