"""Schemas of the built-in kinds, decoded from the generated table when they are first looked at.

The table (`definitions.bin`, made by `builtin.generate`) holds one OpenAPI v2 definition per line. In memory a
definition stays encoded until someone reads an attribute of its `Schema`; references to other definitions are
again undecoded nodes. A server that only ever sees Deployments pays for the Deployment's tree alone.

Nodes are shared: every reference to a definition without overrides is the same object.
"""

import zlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from karmada.apiserver.schema.model import Schema
from karmada.apiserver.schema.openapi import attributes, from_openapi

PREFIX = "#/definitions/"
# OpenAPI cannot express these types of CRDs: a schema, or else a boolean or a list.
_SCHEMA_OR = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOr"


@cache
def _table() -> dict[str, tuple[bytes, bytes]]:
    packed = files(__package__).joinpath("definitions.bin").read_bytes()
    table = {}
    for line in zlib.decompress(packed).splitlines():
        name, body, wire = line.split(b"\t")
        table[name.decode()] = (body, wire)
    return table


def names() -> Iterator[str]:
    """Names of all definitions in order."""
    yield from _table()


def encoded(name: str) -> bytes:
    """A definition as OpenAPI v2 JSON."""
    return _table()[name][0]


class Definition(Schema):
    """A schema whose attributes are filled in at the first access of any of them.

    Until then its slots are unset, which is what makes `__getattr__` run; afterwards access costs nothing extra.
    """

    __slots__ = ("_name", "_overrides")

    def __init__(self, name: str, overrides: dict[str, Any]) -> None:
        self._name = name
        self._overrides = overrides

    def __getattr__(self, attribute: str) -> Any:
        if attribute in ("_name", "_overrides"):
            raise AttributeError(attribute)
        base = definition(self._name) if self._overrides else _decode(self._name)
        for field in Schema.__slots__:
            setattr(self, field, getattr(base, field))
        for field, value in attributes(self._overrides).items():
            setattr(self, field, value)
        return getattr(self, attribute)


@cache
def definition(name: str) -> Schema:
    """The schema of a definition, e.g. io.k8s.api.apps.v1.Deployment; decoded when first used."""
    if name not in _table():
        raise KeyError(f"no built-in definition named {name}")
    return Definition(name, {})


def _reference(ref: str, overrides: dict[str, Any]) -> Schema:
    name = ref.removeprefix(PREFIX)
    return Definition(name, overrides) if overrides else definition(name)


def _decode(name: str) -> Schema:
    body, wire = _table()[name]
    schema = from_openapi(orjson.loads(body), _reference)
    schema.name = name
    if wire:
        schema.wire = orjson.loads(wire)
    if name.startswith(_SCHEMA_OR):
        schema.items = definition(_SCHEMA_OR.removesuffix("Or"))
    return schema
