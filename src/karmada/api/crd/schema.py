"""From a struct to its structural OpenAPI v3 schema."""

from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from karmada.api.base import Schema, Struct
from karmada.api.crd.docs import field_docs, type_doc

Json = dict[str, Any]

_API_VERSION = "API group and version of this object, such as policy.karmada.io/v1alpha1."
_KIND = "Kind of this object."
_SCALARS: dict[Any, str] = {str: "string", int: "integer", bool: "boolean"}
_RENAMED = {
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_items": "minItems",
    "max_items": "maxItems",
    "list_type": "x-kubernetes-list-type",
    "map_type": "x-kubernetes-map-type",
}
_SPECIAL = ("enum", "list_map_keys", "open_object", "open_value", "rules")


def root_schema(type_: type[Struct]) -> Json:
    """The schema of a kind."""
    schema = struct_schema(type_)
    schema["properties"] = schema["properties"] | {
        "apiVersion": {"description": _API_VERSION, "type": "string"},
        "kind": {"description": _KIND, "type": "string"},
        "metadata": {"type": "object"},
    }
    required = [name for name in schema.pop("required", ()) if name not in ("apiVersion", "kind")]
    return schema | ({"required": required} if required else {})


def struct_schema(type_: type[Struct]) -> Json:
    """The schema of any struct; what is inside it is shared with other schemas, and read only."""
    return dict(_struct_schema(type_))


@cache
def _struct_schema(type_: type[Struct]) -> Json:
    docs = field_docs(type_)
    fields = msgspec.structs.fields(type_)
    schema: Json = {"description": type_doc(type_), "type": "object", "properties": {}}
    for field in fields:
        described = {"description": docs[field.name]} if field.name in docs else {}
        schema["properties"][field.encode_name] = described | _type_schema(field.type) | described
    if required := sorted(field.encode_name for field in fields if _is_required(field)):
        schema["required"] = required
    _apply(schema, getattr(type_, "SCHEMA", Schema()))
    return schema


def _is_required(field: msgspec.structs.FieldInfo) -> bool:
    """Fields without a default, and those with `always`, whose factory is none of the empty collections."""
    return field.required or field.default_factory not in (msgspec.NODEFAULT, dict)


def _type_schema(type_: Any) -> Json:
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Annotated:
        schema = _type_schema(arguments[0])
        for mark in arguments[1:]:
            _apply(schema, mark)
        return schema
    if origin in (Union, UnionType):
        some = [argument for argument in arguments if argument is not NoneType]
        return _type_schema(some[0]) if len(some) == 1 else _int_or_string()
    if origin is tuple:
        return {"type": "array", "items": _type_schema(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type_schema(arguments[1])}
    if origin is Literal:
        return {"type": "string"}
    if type_ is msgspec.Raw:
        return {"x-kubernetes-preserve-unknown-fields": True}
    if type_ in _SCALARS:
        return {"type": _SCALARS[type_]}
    return struct_schema(type_)


def _int_or_string() -> Json:
    return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}


def _apply(schema: Json, mark: Schema) -> None:
    for name, value in mark._asdict().items():
        if value is not None and name not in _SPECIAL:
            schema[_RENAMED.get(name, name)] = value
    if mark.enum is not None:
        schema["enum"] = [word.value for word in mark.enum]
    if mark.list_map_keys:
        schema["x-kubernetes-list-map-keys"] = list(mark.list_map_keys)
    if mark.open_object:
        schema["type"] = "object"
    if mark.rules:
        schema["x-kubernetes-validations"] = [{"rule": rule, "message": message} for rule, message in mark.rules]
