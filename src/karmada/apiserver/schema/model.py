"""The one in-memory form of a schema, shared by pruning, defaulting, validation, patches, apply and OpenAPI.

Built-in schemas come from a generated table, custom ones from CRDs; both become `Schema` trees. Trees are
immutable after construction and may be shared and recursive (a built-in type refers to itself by `ref`).
"""

from dataclasses import dataclass, field
from typing import Any, Final, Literal


class _Missing:
    """The absence of a default, as null is a possible default."""


MISSING: Final = _Missing()
COMPILED: Final = 8_192
"""Nodes whose compiled functions are kept: every change of a CRD brings new ones, and the old must go some day."""

ListType = Literal["atomic", "set", "map"]
MapType = Literal["granular", "atomic"]


@dataclass(slots=True, eq=False)
class Schema:
    """One node. `type` is empty where any JSON value is allowed."""

    type: Literal["object", "array", "string", "integer", "number", "boolean", ""] = ""
    format: str = ""
    properties: "dict[str, Schema] | None" = None
    additional: "Schema | None" = None
    """Schema of map values, or of fields beside the properties (additionalProperties)."""
    closed: bool = False
    """Whether a map may hold nothing at all (additionalProperties: false)."""
    items: "Schema | None" = None
    required: tuple[str, ...] = ()
    default: Any = MISSING
    nullable: bool = False
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded: bool = False
    """An embedded object with apiVersion, kind and metadata of its own."""
    list_type: ListType = "atomic"
    list_keys: tuple[str, ...] = ()
    map_type: MapType = "granular"
    merge_key: str = ""
    """Key of strategic merge patches for this list; empty when the list is replaced."""
    merge_strategies: tuple[str, ...] = ()
    """Strategic merge strategies: merge, replace, retainKeys."""
    rules: dict[str, Any] = field(default_factory=dict)
    """Validation keywords by their OpenAPI names: enum, pattern, minimum, allOf, x-kubernetes-validations ..."""
    name: str = ""
    """Definition name of a built-in type, e.g. io.k8s.api.apps.v1.Deployment."""
    wire: dict[str, str] | None = None
    """How the encoders of a built-in type treat a field's absent and zero values, see `schema.wire`."""

    def field(self, name: str) -> "Schema | None":
        """Schema of a field of this object, or of the values of this map, for strategic merge patches."""
        return (self.properties or {}).get(name) or self.additional

    def element(self) -> "Schema | None":
        """Schema of the elements of this list, for strategic merge patches."""
        return self.items
