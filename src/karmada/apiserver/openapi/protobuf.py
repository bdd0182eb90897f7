"""The v2 document in the protobuf form that Go clients ask for, and the only one they understand.

Messages and field numbers are those of gnostic's OpenAPIv2 model. Only what the documents here contain is written;
extensions carry their value as YAML, of which JSON is a part.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Any

import orjson

JSONObject = dict[str, Any]
MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_TEXT, _FLAG, _NUMBER, _COUNT = "text", "flag", "number", "count"
_SCHEMA_SCALARS = {
    "$ref": (1, _TEXT),
    "format": (2, _TEXT),
    "title": (3, _TEXT),
    "description": (4, _TEXT),
    "multipleOf": (6, _NUMBER),
    "maximum": (7, _NUMBER),
    "exclusiveMaximum": (8, _FLAG),
    "minimum": (9, _NUMBER),
    "exclusiveMinimum": (10, _FLAG),
    "maxLength": (11, _COUNT),
    "minLength": (12, _COUNT),
    "pattern": (13, _TEXT),
    "maxItems": (14, _COUNT),
    "minItems": (15, _COUNT),
    "uniqueItems": (16, _FLAG),
    "maxProperties": (17, _COUNT),
    "minProperties": (18, _COUNT),
}
_QUERY = {"required": (1, _FLAG), "in": (2, _TEXT), "name": (4, _TEXT), "type": (6, _TEXT), "uniqueItems": (20, _FLAG)}
_PATH = {"required": (1, _FLAG), "in": (2, _TEXT), "name": (4, _TEXT), "type": (5, _TEXT), "uniqueItems": (19, _FLAG)}
_BODY = {"name": (2, _TEXT), "in": (3, _TEXT), "required": (4, _FLAG)}
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}


def encode(head: JSONObject, paths: Iterable[JSONObject], definitions: Iterable[tuple[str, JSONObject]]) -> bytes:
    """A v2 document as bytes, given in parts so that it need not be in memory as a whole."""
    info = _text(1, head["info"]["title"]) + _text(2, head["info"]["version"])
    items = b"".join(_message(2, _named(path, _path_item(item))) for chunk in paths for path, item in chunk.items())
    schemas = b"".join(_message(1, _named(name, _schema(schema))) for name, schema in definitions)
    security = b"".join(
        _message(12, b"".join(_message(1, _named(name, _texts(1, scopes))) for name, scopes in item.items()))
        for item in head.get("security") or ()
    )
    keys = _map(head.get("securityDefinitions") or {}, _api_key)
    return b"".join(
        (
            _text(1, head["swagger"]),
            _message(2, info),
            _message(8, items),
            _message(9, schemas),
            _message(10, _map(head.get("parameters") or {}, _parameter)),
            security,
            _message(13, keys),
        )
    )


def _varint(value: int) -> bytes:
    result = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def _message(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(body)) + body


def _text(number: int, value: str) -> bytes:
    return _message(number, value.encode()) if value else b""


def _texts(number: int, values: Iterable[str]) -> bytes:
    return b"".join(_message(number, value.encode()) for value in values)


def _scalar(number: int, kind: str, value: Any) -> bytes:
    match kind:
        case "text":
            return _text(number, value)
        case "number":
            return _varint(number << 3 | 1) + struct.pack("<d", value)
    return _varint(number << 3) + _varint(int(value)) if value else b""


def _scalars(source: JSONObject, fields: dict[str, tuple[int, str]]) -> bytes:
    return b"".join(_scalar(*fields[word], value) for word, value in source.items() if word in fields)


def _named(name: str, body: bytes) -> bytes:
    return _message(1, name.encode()) + _message(2, body)


def _map(items: JSONObject, encode_item: Callable[[Any], bytes]) -> bytes:
    return b"".join(_message(1, _named(name, encode_item(item))) for name, item in items.items())


def _any(value: Any) -> bytes:
    return _message(2, orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))


def _extensions(number: int, source: JSONObject) -> bytes:
    return b"".join(
        _message(number, _named(word, _any(value))) for word, value in source.items() if word.startswith("x-")
    )


def _schema(schema: JSONObject) -> bytes:
    parts = [_scalars(schema, _SCHEMA_SCALARS)]
    if "default" in schema:
        parts.append(_message(5, _any(schema["default"])))
    parts.append(_texts(19, schema.get("required") or ()))
    parts += [_message(20, _any(choice)) for choice in schema.get("enum") or ()]
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        parts.append(_message(21, _message(1, _schema(additional))))
    elif additional is not None:
        parts.append(_message(21, _scalar(2, _FLAG, additional)))
    if schema.get("type"):
        parts.append(_message(22, _texts(1, (schema["type"],))))
    if isinstance(schema.get("items"), dict):
        parts.append(_message(23, _message(1, _schema(schema["items"]))))
    parts += [_message(24, _schema(part)) for part in schema.get("allOf") or ()]
    if schema.get("properties"):
        parts.append(_message(25, _map(schema["properties"], _schema)))
    parts.append(_extensions(31, schema))
    return b"".join(parts)


def _parameter(parameter: JSONObject) -> bytes:
    if parameter["in"] == "body":
        return _message(1, _scalars(parameter, _BODY) + _message(5, _schema(parameter["schema"])))
    if parameter["in"] == "path":
        return _message(2, _message(4, _scalars(parameter, _PATH)))
    return _message(2, _message(3, _scalars(parameter, _QUERY)))


def _parameters(number: int, source: JSONObject) -> bytes:
    found = []
    for parameter in source.get("parameters") or ():
        ref = parameter.get("$ref")
        found.append(_message(number, _message(2, _text(1, ref)) if ref else _message(1, _parameter(parameter))))
    return b"".join(found)


def _path_item(item: JSONObject) -> bytes:
    methods = b"".join(_message(number, _operation(item[word])) for word, number in _METHODS.items() if word in item)
    return methods + _parameters(9, item)


def _operation(operation: JSONObject) -> bytes:
    responses = b"".join(
        _message(1, _named(code, _message(1, _response(answer)))) for code, answer in operation["responses"].items()
    )
    return b"".join(
        (
            _texts(1, operation.get("tags") or ()),
            _text(5, operation.get("operationId") or ""),
            _texts(6, operation.get("produces") or ()),
            _texts(7, operation.get("consumes") or ()),
            _parameters(8, operation),
            _message(9, responses),
            _texts(10, operation.get("schemes") or ()),
            _extensions(13, operation),
        )
    )


def _response(answer: JSONObject) -> bytes:
    schema = _message(2, _message(1, _schema(answer["schema"]))) if "schema" in answer else b""
    return _text(1, answer["description"]) + schema


def _api_key(key: JSONObject) -> bytes:
    return _message(2, _text(1, key["type"]) + _text(2, key["name"]) + _text(3, key["in"]))
