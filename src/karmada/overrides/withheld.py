"""What those who may edit a namespace may not write there: policies of the namespace do no more.

The control plane lets nobody grant what they do not hold, raise the quota that limits them, or send requests for a
Service to addresses of their choice. An override that could rewrite these fields of a copy would do so in every member;
so would one that has the copy replace what the member itself has under its name. A propagation policy of the namespace
says where such copies are, and not how long: see `karmada.policies.binding`.
"""

from typing import NamedTuple

import orjson

from karmada.api import annotations
from karmada.overrides.effort import Effort
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


_WEIGHT = 16
"""Bytes that are compared in the time of a step."""


class Withheld(NamedTuple):
    """What an override policy of a namespace leaves as it is."""

    fields: JSONObject
    weight: int
    """Steps of a comparison."""

    def changed_in(self, resource: JSONObject, effort: Effort) -> str:
        """The first of the fields that is another in `resource`; empty if none is."""
        effort.spend(self.weight)
        return next((field for field, value in self.fields.items() if _value(resource, field) != value), "")


def withheld(resource: JSONObject) -> Withheld | None:
    """The fields of a resource that are withheld, as they are now; None where there are none."""
    names = _FIELDS.get(_group_and_kind(resource.get("apiVersion"), resource.get("kind")))
    if not names:
        return None
    encoded = orjson.dumps({field: _value(resource, field) for field in (*names, _CONFLICTS)})
    return Withheld(orjson.loads(encoded), len(encoded) // _WEIGHT)


def is_withheld(api_version: object, kind: object) -> bool:
    """Whether objects of a kind have fields that are withheld."""
    return _group_and_kind(api_version, kind) in _FIELDS


def _group_and_kind(api_version: object, kind: object) -> tuple[str, str]:
    group, slash, _ = str(api_version).partition("/")
    return group if slash else "", str(kind)


def _value(resource: JSONObject, field: str) -> object:
    if field != _CONFLICTS:
        return resource.get(field)
    return ((resource.get("metadata") or {}).get("annotations") or {}).get(annotations.CONFLICT_RESOLUTION)
