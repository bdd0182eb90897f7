"""Custom kinds in OpenAPI documents: the schema of the CRD with the fields that every object has."""

from copy import deepcopy
from typing import Any

from karmada.apiserver.openapi.operations import META, schema_name
from karmada.apiserver.resources import ResourceType

JSONObject = dict[str, Any]
_LOGIC = ("oneOf", "anyOf", "allOf", "not", "nullable", "default", "x-kubernetes-validations")


def object_schema(type_: ResourceType, source: JSONObject, prefix: str, v2: bool = False) -> JSONObject:
    """The definition of a custom kind; `prefix` is that of references in the document."""
    schema = simplified(deepcopy(source)) if v2 else deepcopy(source)
    ref = {"$ref": f"{prefix}{META}ObjectMeta"}
    metadata: JSONObject = ref if v2 else {"allOf": [ref]}
    schema.setdefault("type", "object")
    schema["properties"] = {
        **(schema.get("properties") or {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": metadata,
    }
    schema["x-kubernetes-group-version-kind"] = [_kind(type_, type_.kind)]
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
    """A schema without what OpenAPI v2 cannot say; where a value may be anything, nothing is said about it."""
    if not isinstance(schema, dict):
        return schema
    if schema.get("nullable") or schema.get("x-kubernetes-int-or-string"):
        kept = {key: value for key, value in schema.items() if key == "description" or key.startswith("x-kubernetes-")}
        return {key: value for key, value in kept.items() if key not in _LOGIC}
    result = {key: value for key, value in schema.items() if key not in _LOGIC}
    if result.get("x-kubernetes-preserve-unknown-fields") and not result.get("properties"):
        result.pop("items", None)
    if "properties" in result:
        result["properties"] = {name: simplified(child) for name, child in result["properties"].items()}
    for word in ("items", "additionalProperties"):
        if word in result:
            result[word] = simplified(result[word])
    return result
