"""Decodes objects of built-in kinds: checks types, prunes unknown fields, brings values into their canonical form.

The result is what the API's typed encoders would print after reading the same document, because clients compare it:
quantities and times are normalised, nulls vanish, and absent or zero values are written or left out depending on the
field. `Schema.wire` has a code per field:

    z  left out when zero ("" 0 false [] {})           s  always written: zero value, null for lists and maps
    v  an object that is always written, with its own zero values       q, i  a quantity, an integer-or-string: "0", 0
    n  null when it is absent
    (none)  written exactly when it is present

Decoding changes the tree in place and returns the paths of the first `MAX_UNKNOWN` unknown fields in document order.
Every definition is compiled to one closure when its first object arrives; children are compiled when first met.
"""

import base64
import binascii
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from karmada.apiserver.protobuf.fields import origin
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.schema.paths import MAX_UNKNOWN, below, shown
from karmada.apiserver.schema.scalars import Mismatch, described, micro_time, quantity, time

JSONObject = dict[str, Any]
Unknown = list[str] | None
Check = Callable[[Any, Any, Any], Unknown]
"""Called with a value, its holder and its key there; scalars put their canonical form into the holder."""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_RAW = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_KEPT_EMPTY = (
    ("io.k8s.api.autoscaling.v2.HPAScalingRules", "policies"),
    ("io.k8s.api.core.v1.EphemeralContainer", "ports"),
    ("io.k8s.api.core.v1.EphemeralContainer", "resizePolicy"),
    ("io.k8s.api.core.v1.EphemeralContainer", "restartPolicyRules"),
    ("io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration", "webhooks"),
    ("io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration", "webhooks"),
)
"""Lists that count when they are given, be they empty."""
_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)
_ZERO: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}


def decode(schema: Schema, obj: JSONObject) -> list[str]:
    """Decode an object in place; returns the paths of unknown fields, which are removed. Raises `Mismatch`."""
    holder = [obj]
    return _check(schema)(obj, holder, 0) or []


@cache
def _check(schema: Schema) -> Check:
    special = _SPECIAL.get(schema.name)
    if special is not None:
        return special(schema)
    if schema.int_or_string:
        return _int_or_string
    if schema.properties is not None:
        return _object(schema)
    if schema.additional is not None:
        return _map(schema)
    if schema.items is not None:
        return _list(schema)
    match schema.type:
        case "string":
            return _bytes if schema.format == "byte" else _plain(str, "string")
        case "boolean":
            return _plain(bool, "bool")
        case "integer":
            return _integer(schema.format or "int64")
        case "number":
            return _number
    return _opaque


def _go_type(schema: Schema) -> str:
    if schema.name:
        package, kind = schema.name.rsplit(".", 2)[-2:]
        return f"{package}.{kind}"
    if schema.additional is not None:
        return f"map[string]{_go_type(schema.additional)}"
    if schema.items is not None:
        return f"[]{_go_type(schema.items)}"
    if schema.format == "byte":
        return "[]uint8"
    return {"integer": schema.format, "boolean": "bool", "number": "float64"}.get(schema.type, schema.type)


def _zero_of(schema: Schema, code: str) -> Callable[[], Any]:
    """Makes the value that is written where the field is absent."""
    if code == "v":

        def filled() -> JSONObject:
            obj: JSONObject = {}
            _check(schema)(obj, [obj], 0)
            return obj

        return filled
    if code in ("q", "i"):
        zero: Any = "0" if code == "q" else 0
    else:
        zero = None if code == "n" or schema.name or schema.format == "byte" else _ZERO.get(schema.type)
    return lambda: zero


def _object(schema: Schema) -> Check:
    properties = schema.properties or {}
    wire = schema.wire or {}
    checks: dict[str, Any] = {}
    for key, child in properties.items():
        plain = not child.name and child.type in ("string", "boolean") and child.format != "byte"
        checks[key] = (str if child.type == "string" else bool) if plain else child
    # An empty object of any kind is not the same as none.
    typed = {k: code for k, code in wire.items() if properties[k].name != _RAW and (schema.name, k) not in _KEPT_EMPTY}
    omitted = frozenset(key for key, code in typed.items() if code == "z")
    nulled = frozenset(k for k, c in typed.items() if c == "s" and _zero_of(properties[k], c)() is None)
    may_be_null = nulled | {key for key, code in wire.items() if code == "n"}
    always = tuple((k, _zero_of(properties[k], code)) for k, code in wire.items() if code in "svqin")
    struct = schema.name.rsplit(".", 1)[-1]
    go_type = _go_type(schema)

    def run(obj: Any, holder: Any, at: Any) -> Unknown:
        if obj.__class__ is not dict:
            raise Mismatch(described(obj), go_type)
        unknown: Unknown = None
        drop = None
        key = ""
        try:
            for key, value in obj.items():
                check = checks.get(key)
                if value.__class__ is check:
                    if value or key not in omitted:
                        continue
                elif check is None:
                    if unknown is None:
                        unknown = [shown(key)]
                    elif len(unknown) < MAX_UNKNOWN:
                        unknown.append(shown(key))
                elif value is not None:
                    if check.__class__ is not FunctionType:
                        if check is str or check is bool:
                            raise Mismatch(described(value), "string" if check is str else "bool")
                        check = checks[key] = _check(check)
                    found = check(value, obj, key)
                    if found is not None:
                        unknown = below(key, found, unknown)
                    if obj[key]:
                        continue
                    if key in nulled:
                        obj[key] = None
                        continue
                    if key not in omitted:
                        continue
                elif key in may_be_null:
                    continue
                if drop is None:
                    drop = [key]
                else:
                    drop.append(key)
        except Mismatch as mismatch:
            mismatch.locate(struct, origin(schema.name, key))
            raise
        if drop is not None:
            for key in drop:
                del obj[key]
        for key, make in always:
            if key not in obj:
                obj[key] = make()
        return unknown

    return run


def _map(schema: Schema) -> Check:
    assert schema.additional is not None
    child = schema.additional
    go_type = _go_type(schema)
    if not child.name and child.type == "string" and child.format != "byte":

        def run_strings(obj: Any, holder: Any, at: Any) -> Unknown:
            if obj.__class__ is not dict:
                raise Mismatch(described(obj), go_type)
            for key, value in obj.items():
                if value.__class__ is not str:
                    if value is not None:
                        raise Mismatch(described(value), "string")
                    obj[key] = ""
            return None

        return run_strings

    def run(obj: Any, holder: Any, at: Any) -> Unknown:
        if obj.__class__ is not dict:
            raise Mismatch(described(obj), go_type)
        check = _check(child)
        unknown: Unknown = None
        for key, value in obj.items():
            if value is None:
                if child.properties is not None and child.name not in _SPECIAL:
                    obj[key] = value = _zero_of(child, "v")()
                elif child.items is not None:
                    continue
            found = check(value, obj, key)
            if found is not None:
                unknown = below(key, found, unknown)
        return unknown

    return run


def _list(schema: Schema) -> Check:
    assert schema.items is not None
    child = schema.items
    go_type = _go_type(schema)

    def run(items: Any, holder: Any, at: Any) -> Unknown:
        if items.__class__ is not list:
            raise Mismatch(described(items), go_type)
        check = _check(child)
        unknown: Unknown = None
        for index, value in enumerate(items):
            if value is None:
                items[index] = value = _zero_of(child, "v" if child.properties is not None else "s")()
            found = check(value, items, index)
            if found is not None:
                unknown = below(f"[{index}]", found, unknown)
        return unknown

    return run


def _plain(kind: type, go_type: str) -> Check:
    def run(value: Any, holder: Any, at: Any) -> Unknown:
        if value.__class__ is not kind:
            raise Mismatch(described(value), go_type)
        return None

    return run


def _integer(size: str) -> Check:
    allowed = _INT32 if size == "int32" else _INT64

    def run(value: Any, holder: Any, at: Any) -> Unknown:
        if value.__class__ is not int:
            number = f"number {value}" if value.__class__ is float else described(value)
            raise Mismatch(number, size)
        if value not in allowed:
            raise Mismatch(f"number {value}", size)
        return None

    return run


def _number(value: Any, holder: Any, at: Any) -> Unknown:
    if value.__class__ is not float and value.__class__ is not int:
        raise Mismatch(described(value), "float64")
    return None


def _int_or_string(value: Any, holder: Any, at: Any) -> Unknown:
    if value.__class__ is not int and value.__class__ is not str:
        number = f"number {value}" if value.__class__ is float else described(value)
        raise Mismatch(number, "int32" if value.__class__ is float else "string")
    return None


def _opaque(value: Any, holder: Any, at: Any) -> Unknown:
    return None


def _bytes(value: Any, holder: Any, at: Any) -> Unknown:
    if value is None:
        holder[at] = None
        return None
    if value.__class__ is not str:
        raise Mismatch(described(value), "[]uint8")
    try:
        decoded = base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)  # Tools break long lines.
    except (binascii.Error, ValueError):
        raise Mismatch.because(f"illegal base64 data at input byte {_bad_base64(value)}") from None
    holder[at] = base64.b64encode(decoded).decode()
    return None


_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _bad_base64(text: str) -> int:
    """Where a value stops to be base64: at a foreign letter, behind the padding, or where letters are missing."""
    places = [index for index, letter in enumerate(text) if letter not in "\r\n"]
    wrong = next((number for number, index in enumerate(places) if text[index] not in _ALPHABET), None)
    if wrong is None:
        return len(text) - len(places) % 4
    if text[places[wrong]] != "=" or wrong % 4 < 2:
        return places[wrong]
    end = wrong + 1
    if wrong % 4 == 2 and end < len(places) and text[places[end]] == "=":
        end += 1
    return places[end] if end < len(places) else len(text)


def _replacing(convert: Callable[[Any], Any]) -> Callable[[Schema], Check]:
    def run(value: Any, holder: Any, at: Any) -> Unknown:
        holder[at] = convert(value)
        return None

    return lambda schema: run


def _schema_or(*others: type) -> Callable[[Schema], Check]:
    """A CRD schema where a boolean or a list may stand as well: unknown fields are pruned there without a word."""

    def make(schema: Schema) -> Check:
        assert schema.items is not None
        props = schema.items

        def run(value: Any, holder: Any, at: Any) -> Unknown:
            if value.__class__ not in others:
                _check(props)(value, holder, at)
            return None

        return run

    return make


_SPECIAL: dict[str, Callable[[Schema], Check]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _replacing(quantity),
    _META + "Time": _replacing(time),
    _META + "MicroTime": _replacing(micro_time),
    _META + "FieldsV1": lambda schema: _opaque,
    # An object without fields is unlike others without any, which hold whatever there is.
    _EXTENSIONS + "CustomResourceSubresourceStatus": _object,
    _EXTENSIONS + "JSONSchemaPropsOrBool": _schema_or(bool),
    _EXTENSIONS + "JSONSchemaPropsOrArray": _schema_or(list),
    _EXTENSIONS + "JSONSchemaPropsOrStringArray": _schema_or(list),
}
