"""Kubernetes' protobuf to trees: what a Go client encodes as protobuf becomes what it would have sent as JSON.

A body is the magic number, then an envelope with apiVersion, kind and the encoded object. Unknown fields are skipped,
as protobuf demands. Anything malformed is a `ProtobufError`; depth and size are bounded by the body's limit and
`MAX_DEPTH`.
"""

import base64
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import orjson

from karmada.api import duration
from karmada.api.protobuf_wire import BYTES, ProtobufError, as_bytes, entries, packed
from karmada.apiserver.protobuf.fields import fields

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
MAX_DEPTH = 100

_META = "apimachinery.pkg.apis.meta.v1"
_PACKAGES = {
    "": "api.core",
    "apiextensions.k8s.io": "apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "kube-aggregator.pkg.apis.apiregistration",
}
_EVERYWHERE = ("DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "Status")


def decode(body: bytes) -> dict[str, Any]:
    """The tree of an encoded object."""
    if not body.startswith(MAGIC):
        raise ProtobufError("the body does not begin with the protobuf magic number")
    envelope = {number: value for number, _, value in entries(body[len(MAGIC) :])}
    try:
        header = {number: value for number, _, value in entries(as_bytes(envelope.get(1, b"")))}
        api_version, kind = (as_bytes(header.get(number, b"")).decode() for number in (1, 2))
        tree: dict[str, Any] = {"kind": kind, "apiVersion": api_version}
        tree.update(_message(_name(api_version, kind), as_bytes(envelope.get(2, b"")), 0))
    except UnicodeDecodeError as error:
        raise ProtobufError("a string is not UTF-8") from error
    return tree


def _name(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    if kind in _EVERYWHERE:
        return f"{_META}.{kind}"
    package = _PACKAGES.get(group) or f"api.{group.partition('.')[0]}"
    return f"{package}.{version}.{kind}"


def _message(name: str, data: bytes, depth: int) -> dict[str, Any]:
    if depth > MAX_DEPTH:
        raise ProtobufError("messages are nested too deeply")
    known = fields(name)
    if known is None:
        raise ProtobufError(f"{name} has no protobuf form here; send JSON")
    tree: dict[str, Any] = {}
    for number, wire, raw in entries(data):
        field = known.get(number)
        if field is None:
            continue
        if field.shape == "%":
            key, value = _entry(field.type, as_bytes(raw), depth)
            tree.setdefault(field.name, {})[key] = value
        elif field.shape == "*":
            values = tree.setdefault(field.name, [])
            if wire == BYTES and field.type in ("i", "b"):
                values.extend(_scalar(field.type, number) for number in packed(as_bytes(raw)))
            else:
                values.append(_value(field.type, raw, depth))
        elif field.shape == "^":
            tree.update(_message(field.type, as_bytes(raw), depth + 1))
        else:
            tree[field.name] = _value(field.type, raw, depth)
    return tree


def _value(type_: str, raw: int | bytes, depth: int) -> Any:
    if len(type_) == 1:
        return _scalar(type_, raw)
    special = _SPECIAL.get(type_)
    if special is not None:
        return special(as_bytes(raw), depth + 1)
    return _message(type_, as_bytes(raw), depth + 1)


def _scalar(type_: str, raw: int | bytes) -> Any:
    if type_ == "s":
        return as_bytes(raw).decode()
    if type_ == "y":
        return base64.b64encode(as_bytes(raw)).decode()
    if type_ == "d":
        return _double(as_bytes(raw))
    if not isinstance(raw, int):
        raise ProtobufError("a number is expected")
    if type_ == "b":
        return bool(raw)
    return raw - (1 << 64) if raw >= 1 << 63 else raw


def _double(raw: bytes) -> float:
    if len(raw) != 8:
        raise ProtobufError("a double has eight bytes")
    number: float = struct.unpack("<d", raw)[0]
    if not isfinite(number):
        raise ProtobufError(f"{number} cannot be written as JSON")
    return number


def _entry(type_: str, data: bytes, depth: int) -> tuple[str, Any]:
    parts = {number: value for number, _, value in entries(data)}
    key = as_bytes(parts.get(1, b"")).decode()
    return key, _value(type_, parts.get(2, b""), depth)


# Messages that JSON writes in a form of their own.


def _parts(data: bytes) -> dict[int, int | bytes]:
    return {number: value for number, _, value in entries(data)}


def _quantity(data: bytes, depth: int) -> str:
    return as_bytes(_parts(data).get(1, b"")).decode() or "0"


def _time(data: bytes, depth: int) -> str | None:
    seconds, _ = _moment(data)
    return None if not data or not seconds else _at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(data: bytes, depth: int) -> str | None:
    seconds, nanos = _moment(data)
    if not seconds and not nanos:
        return None
    return f"{_at(seconds).strftime('%Y-%m-%dT%H:%M:%S')}.{nanos // 1000:06d}Z"


def _moment(data: bytes) -> tuple[int, int]:
    parts = _parts(data)
    return _scalar("i", parts.get(1, 0)), _scalar("i", parts.get(2, 0))


def _at(seconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError) as error:
        raise ProtobufError(f"{seconds} is no time") from error


def _duration(data: bytes, depth: int) -> str:
    return duration.spell(_scalar("i", _parts(data).get(1, 0)))


def _int_or_string(data: bytes, depth: int) -> int | str:
    parts = _parts(data)
    if _scalar("i", parts.get(1, 0)):
        return as_bytes(parts.get(3, b"")).decode()
    number: int = _scalar("i", parts.get(2, 0))
    return number


def _json(data: bytes, depth: int) -> Any:
    raw = as_bytes(_parts(data).get(1, b""))
    try:
        return orjson.loads(raw) if raw else None
    except orjson.JSONDecodeError as error:
        raise ProtobufError("an embedded object is not JSON") from error


def _items(data: bytes, depth: int) -> list[str]:
    return [as_bytes(value).decode() for number, _, value in entries(data) if number == 1]


def _schema_or_array(data: bytes, depth: int) -> Any:
    parts = entries(data)
    schemas = [_message(_SCHEMA, as_bytes(value), depth) for number, _, value in parts if number == 2]
    one = [_message(_SCHEMA, as_bytes(value), depth) for number, _, value in parts if number == 1]
    return schemas if schemas else one[0] if one else {}


def _schema_or_bool(data: bytes, depth: int) -> Any:
    parts = _parts(data)
    return _message(_SCHEMA, as_bytes(parts[2]), depth) if 2 in parts else bool(parts.get(1, 0))


def _schema_or_strings(data: bytes, depth: int) -> Any:
    parts = entries(data)
    one = [_message(_SCHEMA, as_bytes(value), depth) for number, _, value in parts if number == 1]
    return one[0] if one else [as_bytes(value).decode() for number, _, value in parts if number == 2]


_EXTENSIONS = "apiextensions-apiserver.pkg.apis.apiextensions.v1"
_SCHEMA = f"{_EXTENSIONS}.JSONSchemaProps"
_SPECIAL: dict[str, Callable[[bytes, int], Any]] = {
    "apimachinery.pkg.api.resource.Quantity": _quantity,
    "apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "apimachinery.pkg.runtime.RawExtension": _json,
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.Duration": _duration,
    f"{_META}.FieldsV1": _json,
    "api.authentication.v1.ExtraValue": _items,
    "api.authorization.v1.ExtraValue": _items,
    "api.certificates.v1.ExtraValue": _items,
    f"{_EXTENSIONS}.JSON": _json,
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": _schema_or_array,
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": _schema_or_strings,
}
