"""Which fields an endpoint does not write: the main resource leaves out the status, the status subresource the rest."""

from karmada.apiserver.managedfields.fieldset import EMPTY, Fields
from karmada.apiserver.resources import ResourceType

_STATUS: Fields = {"f:status": EMPTY}
_SPEC: Fields = {"f:spec": EMPTY}
_SPEC_AND_METADATA: Fields = {"f:spec": EMPTY, "f:metadata": EMPTY}
_NOT_BY_OBJECT: dict[tuple[str, str], Fields] = {
    ("certificates.k8s.io", "certificatesigningrequests"): {"f:spec": EMPTY, "f:status": EMPTY},
}
_NOT_BY_STATUS: dict[tuple[str, str], Fields] = {
    ("certificates.k8s.io", "certificatesigningrequests"): {"f:spec": EMPTY, "f:status": {"f:conditions": EMPTY}},
    ("apiextensions.k8s.io", "customresourcedefinitions"): _SPEC_AND_METADATA,
    ("apps", "deployments"): {"f:spec": EMPTY, "f:metadata": {"f:labels": EMPTY}},
    ("", "pods"): {"f:spec": EMPTY, "f:metadata": {"f:deletionTimestamp": EMPTY, "f:ownerReferences": EMPTY}},
}


def reset_fields(resource: ResourceType, subresource: str) -> Fields:
    """What writes through a subresource never own, as a set whose members stand for all below them."""
    if subresource == "status":
        usual = _SPEC_AND_METADATA if resource.custom else _SPEC
        return _NOT_BY_STATUS.get((resource.group, resource.plural), usual)
    if not subresource and resource.has_status and any(sub.name == "status" for sub in resource.subresources):
        return _NOT_BY_OBJECT.get((resource.group, resource.plural), _STATUS)
    return EMPTY
