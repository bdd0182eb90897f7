"""OpenAPI schema objects as `Schema` trees; the same translation for built-in definitions and for CRDs."""

from collections.abc import Callable
from typing import Any

from karmada.apiserver.schema.model import MISSING, Schema

JSONObject = dict[str, Any]
Reference = Callable[[str, JSONObject], Schema]
"""Resolves a `$ref`, given the keywords beside it."""

_DIRECT = {
    "type": "type",
    "format": "format",
    "default": "default",
    "nullable": "nullable",
    "x-kubernetes-int-or-string": "int_or_string",
    "x-kubernetes-preserve-unknown-fields": "preserve_unknown",
    "x-kubernetes-embedded-resource": "embedded",
    "x-kubernetes-list-type": "list_type",
    "x-kubernetes-map-type": "map_type",
    "x-kubernetes-patch-merge-key": "merge_key",
}
# Shared by all nodes without rules: trees are immutable.
_NO_RULES: JSONObject = {}
_UNKNOWN = Schema(nullable=True)
"""A value under a key that is known, of which nothing else is."""
_USUAL = (("list_type", "atomic"), ("map_type", "granular"))
_STRUCTURE = {"properties", "additionalProperties", "items", "$ref", "description", "title", "example", "externalDocs"}


def attributes(source: JSONObject) -> JSONObject:
    """The keywords of one schema object as attributes of a `Schema`, leaving out its children."""
    found: JSONObject = {}
    rules: JSONObject = {}
    for keyword, value in source.items():
        if keyword in _DIRECT:
            found[_DIRECT[keyword]] = value
        elif keyword == "required":
            found["required"] = tuple(value)
        elif keyword == "x-kubernetes-list-map-keys":
            found["list_keys"] = tuple(value)
        elif keyword == "x-kubernetes-patch-strategy":
            found["merge_strategies"] = tuple(value.split(","))
        elif keyword not in _STRUCTURE:
            rules[keyword] = value
    found["rules"] = rules or _NO_RULES
    return found


def no_references(ref: str, beside: JSONObject) -> Schema:
    """Custom schemas have no references; CRD validation refuses them."""
    raise ValueError(f"$ref is not supported in custom schemas: {ref}")


def from_openapi(source: JSONObject, reference: Reference) -> Schema:
    """The schema tree of one OpenAPI schema object."""
    ref = source.get("$ref")
    if ref is not None:
        beside = {k: v for k, v in source.items() if k not in ("$ref", "description")}
        return reference(ref, beside)
    schema = Schema(**attributes(source))
    if schema.format == "int-or-string" and reference is not no_references:
        # Custom schemas have a keyword for it; the format alone says nothing there.
        schema.int_or_string = True
        schema.type = ""
    properties = source.get("properties")
    if properties is not None:
        schema.properties = {name: from_openapi(child, reference) for name, child in properties.items()}
    additional = source.get("additionalProperties")
    if isinstance(additional, dict):
        schema.additional = from_openapi(additional, reference)
    elif additional is not None:
        schema.additional = _UNKNOWN
        schema.closed = not additional
    items = source.get("items")
    if isinstance(items, dict):
        schema.items = from_openapi(items, reference)
    return schema


_WORDS = {attribute: keyword for keyword, attribute in _DIRECT.items()}


def to_openapi(schema: Schema) -> JSONObject:
    """The OpenAPI schema object of a custom schema tree; metadata and other built-in parts are left out."""
    result: JSONObject = {}
    for attribute, keyword in _WORDS.items():
        value = getattr(schema, attribute)
        if value is not MISSING and value not in ("", False) and (attribute, value) not in _USUAL:
            result[keyword] = value
    if schema.required:
        result["required"] = list(schema.required)
    if schema.list_keys:
        result["x-kubernetes-list-map-keys"] = list(schema.list_keys)
    if schema.properties:
        own = {name: to_openapi(child) for name, child in schema.properties.items() if not child.name}
        result["properties"] = own
    if schema.items is not None:
        result["items"] = to_openapi(schema.items)
    if schema.additional is _UNKNOWN:
        result["additionalProperties"] = not schema.closed
    elif schema.additional is not None:
        result["additionalProperties"] = to_openapi(schema.additional)
    return {**result, **schema.rules}
