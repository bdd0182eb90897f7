"""What those who may edit a namespace may not write there: an override policy of the namespace does no more.

The control plane lets nobody grant what they do not hold, raise the quota that limits them, or send requests for a
Service to addresses of their choice. An override that could rewrite these fields of a copy would do so in every member;
so would one that has the copy replace what the member itself has under its name.
"""

import copy

from karmada.api import annotations
from karmada.overrides.pods import JSONObject

_FIELDS = {
    ("", "Endpoints"): ("subsets",),
    ("", "LimitRange"): ("spec",),
    ("", "ResourceQuota"): ("spec",),
    ("discovery.k8s.io", "EndpointSlice"): ("endpoints", "ports"),
    ("rbac.authorization.k8s.io", "Role"): ("rules",),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef", "subjects"),
}
_CONFLICTS = f"metadata.annotations[{annotations.CONFLICT_RESOLUTION}]"


def withheld(resource: JSONObject) -> JSONObject | None:
    """The fields of a resource that are withheld, as they are now; None where there are none."""
    group, slash, _ = str(resource.get("apiVersion")).partition("/")
    fields = _FIELDS.get((group if slash else "", str(resource.get("kind"))))
    return copy.deepcopy({field: _value(resource, field) for field in (*fields, _CONFLICTS)}) if fields else None


def changed(before: JSONObject, resource: JSONObject) -> str:
    """The first of the fields that is another in `resource`; empty if none is."""
    return next((field for field, value in before.items() if _value(resource, field) != value), "")


def _value(resource: JSONObject, field: str) -> object:
    if field != _CONFLICTS:
        return resource.get(field)
    return ((resource.get("metadata") or {}).get("annotations") or {}).get(annotations.CONFLICT_RESOLUTION)
