"""Objects against their types: decoding of built-in kinds, pruning and validation of custom ones, server-side apply."""

from random import Random
from typing import Any

import orjson
from tests.fuzz.shapes import clean, mutated, scalar, tree, word
from tests.fuzz.target import Target

from karmada.apiserver.managedfields import apply, track_update
from karmada.apiserver.requests import bodies
from karmada.apiserver.schema.decoding import decode
from karmada.apiserver.schema.defaulting import filler
from karmada.apiserver.schema.definitions import definition
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.schema.openapi import from_openapi, no_references
from karmada.apiserver.schema.pruning import pruner
from karmada.apiserver.schema.scalars import Mismatch
from karmada.apiserver.schema.validation import validate
from karmada.machinery.httpserver.failure import Failure

_TYPES = {
    name: definition(f"io.k8s.api.{name}")
    for name in ("core.v1.Pod", "core.v1.ConfigMap", "apps.v1.Deployment", "autoscaling.v2.HorizontalPodAutoscaler")
}
_TYPES["crd"] = definition("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition")


def fitting(r: Random, schema: Schema, depth: int) -> Any:
    """A value that fits a schema mostly."""
    if r.random() < 0.05:
        return tree(r, 2)
    if schema.properties and depth > 0:
        names = [*schema.properties]
        chosen = [r.choice(names) for _ in range(r.randint(0, 5))]
        made = {name: fitting(r, schema.properties[name], depth - 1) for name in chosen}
        if r.random() < 0.1:
            made[word(r).replace("\ud800", "")] = scalar(r)
        return made
    if schema.additional is not None:
        return {clean(r): fitting(r, schema.additional, depth - 1) for _ in range(r.randint(0, 3))}
    if schema.items is not None:
        return [fitting(r, schema.items, depth - 1) for _ in range(r.randint(0, 3))]
    usual: dict[str, Any] = {"string": clean(r), "integer": r.randint(-5, 2**33), "boolean": True, "number": 0.5}
    if r.random() < 0.3:
        return r.choice(("1Gi", "100m", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000000Z", 80, "", "aGk=", None))
    return usual.get(schema.type, {})


def _typed(r: Random) -> tuple[str, Any]:
    name = r.choice([*_TYPES])
    return name, fitting(r, _TYPES[name], 8)


def _run_typed(case: tuple[str, Any]) -> None:
    name, obj = case
    given = orjson.loads(orjson.dumps(obj))
    unknown = decode(_TYPES[name], given)
    assert len(unknown) <= 100
    once = orjson.dumps(given)
    assert decode(_TYPES[name], given) == [], "a decoded object has nothing unknown"
    assert orjson.dumps(given) == once, "decoding twice changes nothing"


_SCHEMA_WORDS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("maxLength", (0, 3, 10)),
    ("pattern", ("^a+$", "(a|b)*c", "[", "(?=x)", "\\d{1,1000}")),
    ("enum", (["a", 1], [])),
    ("minimum", (0, -5)),
    ("maxItems", (1,)),
    ("nullable", (True,)),
    ("default", ("a", 1, {}, [])),
    ("format", ("date-time", "byte", "int32", "uuid", "x")),
    ("x-kubernetes-list-type", ("set", "map", "atomic")),
    ("x-kubernetes-preserve-unknown-fields", (True,)),
    ("x-kubernetes-int-or-string", (True,)),
    ("uniqueItems", (False,)),
    ("multipleOf", (2, 0.5)),
    ("required", (["a"], ["a", "b"])),
)


def _openapi(r: Random, depth: int = 4) -> dict[str, Any]:
    kind = r.choice(("object", "array", "string", "integer", "number", "boolean", "object"))
    made: dict[str, Any] = {"type": kind}
    if kind == "object" and depth > 0:
        if r.random() < 0.8:
            made["properties"] = {r.choice("abcd"): _openapi(r, depth - 1) for _ in range(r.randint(0, 3))}
        else:
            made["additionalProperties"] = _openapi(r, depth - 1)
    if kind == "array":
        made["items"] = _openapi(r, depth - 1)
    for keyword, values in _SCHEMA_WORDS:
        if r.random() < 0.06:
            made[keyword] = r.choice(values)
    for logic in ("anyOf", "oneOf", "allOf"):
        if depth > 0 and r.random() < 0.04:
            made[logic] = [_openapi(r, depth - 1) for _ in range(r.randint(1, 2))]
    return made


def _custom(r: Random) -> tuple[Any, Any]:
    source = _openapi(r)
    return source, fitting(r, from_openapi(source, no_references), 5)


def _run_custom(case: tuple[Any, Any]) -> None:
    source, given = case
    schema = from_openapi(source, no_references)
    value = orjson.loads(orjson.dumps(given))
    pruner(schema)(value)
    fill = filler(schema)
    if fill is not None:
        fill(value)
    for error in validate(schema, value):
        str(error)
    validate(schema, value, given)


def _configurations(r: Random) -> list[tuple[str, bool, Any]]:
    made = []
    for _ in range(r.randint(1, 4)):
        config = fitting(r, _TYPES["apps.v1.Deployment"], 7)
        config = config if isinstance(config, dict) else {}
        config.update(apiVersion="apps/v1", kind="Deployment", metadata={"name": "a", "uid": "u", "labels": {"a": "b"}})
        made.append((r.choice("mn"), r.random() < 0.7, config))
    return made


def _run_apply(case: list[tuple[str, bool, Any]]) -> None:
    schema = _TYPES["apps.v1.Deployment"]
    live: Any = None
    for manager, force, config in case:
        new = apply(live, config, schema, manager, force, "apps/v1", "", "t")
        decode(schema, new)
        if live is not None:
            track_update(live, new, schema, "other", "apps/v1", "", "t")
        live = new


def _body(r: Random) -> bytes:
    try:
        data = orjson.dumps(tree(r, 4))
    except orjson.JSONEncodeError:
        data = b"[" * 2000
    if r.random() < 0.3:
        data = data.replace(b'"a":', b'"a" :"x","a":')
    return mutated(r, data)


def _run_body(data: bytes) -> None:
    bodies.configuration(data)
    decoded = orjson.loads(data)
    assert len(bodies._duplicates(data, decoded)) <= 100
    bodies.in_order(data, ["a"], ["b"])


TARGETS = (
    Target("typed-object", _typed, _run_typed, (Mismatch, orjson.JSONEncodeError)),
    Target("custom-object", _custom, _run_custom, (Mismatch, orjson.JSONEncodeError, ValueError)),
    Target("apply", _configurations, _run_apply, (Failure, Mismatch, orjson.JSONEncodeError)),
    Target("json-body", _body, _run_body, (ValueError, RecursionError)),
)
