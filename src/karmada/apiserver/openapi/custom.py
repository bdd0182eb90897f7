"""Custom kinds in OpenAPI documents: the schema of the CRD with the fields that every object has."""

from copy import deepcopy
from typing import Any

from karmada.apiserver.openapi.operations import META, schema_name
from karmada.apiserver.resources import ResourceType

JSONObject = dict[str, Any]
_LOGIC = ("oneOf", "anyOf", "allOf", "not", "nullable", "default", "x-kubernetes-validations")
_OPEN = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"


def object_schema(type_: ResourceType, source: JSONObject, prefix: str, v2: bool = False) -> JSONObject:
    """The definition of a custom kind; `prefix` is that of references in the document."""
    ref = {"$ref": f"{prefix}{META}ObjectMeta"}
    common: JSONObject = {
        "apiVersion": {
            "description": "APIVersion defines the group and version that the object is written in.",
            "type": "string",
        },
        "kind": {"description": "Kind of the object.", "type": "string"},
        "metadata": {
            "description": "Standard object's metadata: name, labels, annotations, owners.",
            **(ref if v2 else {"allOf": [ref]}),
        },
    }
    if v2 and source.get(_OPEN):
        schema: JSONObject = {"type": "object"}  # any property would make kubectl refuse all others
    else:
        schema = _with_embedded(simplified(source) if v2 else deepcopy(source), common, v2)
        schema.setdefault("type", "object")
        schema["properties"] = {**(schema.get("properties") or {}), **common}
    schema["x-kubernetes-group-version-kind"] = [_kind(type_, type_.kind)]
    return schema


def _with_embedded(schema: JSONObject, common: JSONObject, v2: bool) -> JSONObject:
    """The schema, changed: objects embedded in it have what every object has."""
    inner = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for child in inner:
        if isinstance(child, dict):
            _with_embedded(child, common, v2)
    if schema.get(_EMBEDDED) and not (v2 and schema.get(_OPEN)):
        schema["properties"] = {**(schema.get("properties") or {}), **common}
        required = schema.get("required") or []
        schema["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
    return schema


def list_schema(type_: ResourceType, prefix: str) -> JSONObject:
    """The definition of a list of custom objects."""
    item = {"$ref": prefix + schema_name(type_)}
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": item},
            "kind": {"type": "string"},
            "metadata": {"$ref": f"{prefix}{META}ListMeta"},
        },
        "x-kubernetes-group-version-kind": [_kind(type_, type_.list_kind or f"{type_.kind}List")],
    }


def _kind(type_: ResourceType, kind: str) -> JSONObject:
    return {"group": type_.group, "kind": kind, "version": type_.version}


def simplified(schema: Any) -> Any:
    """A schema without what OpenAPI v2 and its readers cannot cope with: of what may be null or hold unknown fields
    neither type nor contents are said."""
    if not isinstance(schema, dict):
        return schema
    result = {key: value for key, value in schema.items() if key not in _LOGIC}
    nullable, is_open = schema.get("nullable"), schema.get(_OPEN)
    if nullable or is_open:
        result.pop("items", None)
        result.pop("properties", None)
    if nullable or schema.get("x-kubernetes-int-or-string") or (is_open and result.get("type") == "object"):
        result.pop("type", None)
    if result.get("type") == "array" and "items" not in result:
        del result["type"]
    properties = result.get("properties") or {}
    required = [name for name in result.pop("required", ()) if not properties.get(name, {}).get("nullable")]
    if required:
        result["required"] = required
    if properties:
        result["properties"] = {name: simplified(child) for name, child in properties.items()}
    for word in ("items", "additionalProperties"):
        if word in result:
            result[word] = simplified(result[word])
    return result
