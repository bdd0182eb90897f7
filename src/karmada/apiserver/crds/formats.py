"""Formats in the schemas of a definition that nobody checks: worth a warning, as they are often spelt wrong."""

from collections.abc import Iterator
from typing import Any

JSONObject = dict[str, Any]
_KNOWN: dict[str, frozenset[str]] = {
    "integer": frozenset(("int32", "int64")),
    "number": frozenset(("float", "double")),
    "string": frozenset(
        (
            *("bsonobjectid", "byte", "cidr", "creditcard", "date", "date-time", "datetime", "duration", "email"),
            *("hexcolor", "hostname", "ipv4", "ipv6", "isbn", "isbn10", "isbn13", "k8s-long-name", "k8s-short-name"),
            *("mac", "password", "rgbcolor", "ssn", "uri", "uuid", "uuid3", "uuid4", "uuid5"),
        )
    ),
}
_NONE: frozenset[str] = frozenset()


def format_warnings(crd: JSONObject, old: JSONObject | None) -> list[str]:
    """A sentence about each format that means nothing and was not there before."""
    said = {name for found in _by_version(old or {}) for name in found}
    warnings = []
    for found in _by_version(crd):
        warnings += [f'unrecognized format "{name}"' for name in sorted(found - said)]
        said |= found
    return warnings


def _by_version(crd: JSONObject) -> Iterator[set[str]]:
    for version in (crd.get("spec") or {}).get("versions") or ():
        yield set(_unknown((version.get("schema") or {}).get("openAPIV3Schema")))


def _unknown(schema: Any) -> Iterator[str]:
    """The formats that mean nothing in a schema, be it a list of schemas or none at all."""
    if isinstance(schema, list):
        for one in schema:
            yield from _unknown(one)
    if not isinstance(schema, dict):
        return
    name = schema.get("format")
    if name and name not in _KNOWN.get(schema.get("type") or "", _NONE):
        yield name
    for word in ("items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"):
        yield from _unknown(schema.get(word))
    yield from _unknown(list((schema.get("properties") or {}).values()))
