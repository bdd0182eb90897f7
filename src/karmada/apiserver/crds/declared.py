"""The types that validation rules see: what a schema declares, whether it may be null or not."""

from typing import Any

from karmada.apiserver.cel.types import BOOL, DYN, INT, OBJECT, STRING, Type, list_of, map_of
from karmada.apiserver.crds.names import expressible

JSONObject = dict[str, Any]
_SCALARS = {"integer": INT, "number": Type("double"), "boolean": BOOL}
_FORMATS = {"date": "timestamp", "date-time": "timestamp", "duration": "duration", "byte": "bytes"}
_TEXT: JSONObject = {"type": "string"}
_META: JSONObject = {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}}
_OF_OBJECTS: JSONObject = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _META}


def declared(schema: JSONObject, root: bool, path: str = OBJECT) -> Type | None:
    """The type of values of a schema, None where it declares none; the root of an object has type and metadata."""
    if schema.get("x-kubernetes-int-or-string"):
        return DYN
    match schema.get("type"):
        case "array":
            element = _inside(schema.get("items"), f"{path}.@idx")
            return list_of(element) if element is not None else None
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            value = _inside(schema["additionalProperties"], f"{path}.@elem")
            return map_of(STRING, value) if value is not None else None
        case "object":
            return _object(schema, root, path)
        case "string":
            return Type(_FORMATS.get(schema.get("format") or "", "string"))
    return _SCALARS.get(schema.get("type") or "")


def _object(schema: JSONObject, root: bool, path: str) -> Type:
    children = schema.get("properties") or {}
    if root:
        children = {**children, **_OF_OBJECTS}
    fields: dict[str, Type] = {}
    for name, child in children.items():
        written = expressible(name)
        kind = _inside(child, f"{path}.{name}") if written else None
        if kind is not None:
            fields[written] = kind
    return Type(path, fields=fields)


def _inside(schema: Any, path: str) -> Type | None:
    if not isinstance(schema, dict):
        return None
    return declared(schema, bool(schema.get("x-kubernetes-embedded-resource")), path)
