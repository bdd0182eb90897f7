"""OpenAPI v3: one document per group version, which kubectl explain and validation read."""

from collections.abc import Callable, Iterable
from typing import Any

import orjson

from karmada.apiserver.openapi.descriptions import Descriptions
from karmada.apiserver.openapi.operations import META, Operation, Paths, description
from karmada.apiserver.openapi.v2 import parameter_type, split_parameters
from karmada.apiserver.schema import definitions

JSONObject = dict[str, Any]
REF = "#/components/schemas/"
_JSON = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")
_STREAMS = (
    *("application/json", "application/json;stream=watch", "application/vnd.kubernetes.protobuf"),
    *("application/vnd.kubernetes.protobuf;stream=watch", "application/yaml"),
)
_PATCHES = (
    *("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"),
    "application/strategic-merge-patch+json",
)
_ZERO: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}


def _parameter(name: str) -> JSONObject:
    if name == "path-of-proxy":
        name = "path"
        place: JSONObject = {"in": "path", "required": True}
    else:
        place = {"in": "path", "required": True} if name in ("name", "namespace") else {"in": "query"}
    return {"name": name, **place, "schema": {"type": parameter_type(name), "uniqueItems": True}}


def _content(name: str, media: Iterable[str]) -> JSONObject:
    schema = {"$ref": REF + name} if name else {"type": "string"}
    return {"content": {kind: {"schema": schema} for kind in media}}


def _operation(operation: Operation, left: list[str], tags: list[str]) -> JSONObject:
    result: JSONObject = {"tags": tags, "operationId": operation.id}
    if left:
        result["parameters"] = [_parameter(name) for name in left]
    patch = operation.method == "patch" and operation.action == "patch"
    media: tuple[str, ...]
    if operation.body:
        media = _PATCHES if patch else ("*/*",)
        if operation.custom:
            media = (
                tuple(m for m in media if "strategic" not in m) if patch else ("application/json", "application/yaml")
            )
        body = _content(operation.body, media)
        result["requestBody"] = {**body, "required": True} if operation.body_required else body
    media = _STREAMS if operation.streams else _JSON
    if operation.custom:
        media = ("application/json", "application/yaml")
    if operation.action == "connect":
        media = ("*/*",)
    if operation.json_only:
        media = ("application/json",)
    if operation.id.endswith("PodLog"):
        media = (*_JSON, "text/plain")
    result["responses"] = {
        code: {"description": description(code)} | ({} if code == "401" else _content(name, media))
        for code, name in operation.returns
    }
    if operation.kind is not None:
        group, version, kind = operation.kind
        result["x-kubernetes-action"] = operation.action
        result["x-kubernetes-group-version-kind"] = {"group": group, "version": version, "kind": kind}
    return result


def document(
    version: str,
    paths: Paths,
    tags: list[str],
    group: str,
    custom: Callable[[str], JSONObject | None],
    descriptions: Descriptions,
) -> JSONObject:
    """The document of some paths, with the schemas they need; `custom` finds schemas that are not built in."""
    items: JSONObject = {}
    for path, operations in paths.items():
        shared, left = split_parameters(operations)
        item: JSONObject = {o.method: _operation(o, own, tags) for o, own in zip(operations, left, strict=True)}
        if shared:
            item["parameters"] = [_parameter(name) for name in shared]
        items[path] = item
    needed = {name for ops in paths.values() for o in ops for name in (o.body, *(n for _, n in o.returns)) if name}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": items,
        "components": {
            "schemas": _schemas(needed, group, custom, descriptions),
            "securitySchemes": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        },
    }


def _schemas(
    needed: set[str], group: str, custom: Callable[[str], JSONObject | None], descriptions: Descriptions
) -> JSONObject:
    """The schemas of these names and all they refer to."""
    found: JSONObject = {}
    built_in: JSONObject = {}
    waiting = sorted(needed)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        own = custom(name)
        if own is None:
            own = built_in[name] = builtin_schema(name, group)
        found[name] = own
        waiting += _references(own)
    descriptions.describe(built_in.items())
    return dict(sorted(found.items()))


def _references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [name for item in node for name in _references(item)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"].removeprefix(REF)] if isinstance(node.get("$ref"), str) else []
    return own + [name for value in node.values() for name in _references(value)]


def builtin_schema(name: str, group: str) -> JSONObject:
    """A built-in definition in the form of v3: references are wrapped, values that are never absent have defaults."""
    source = orjson.loads(definitions.encoded(name))
    wire = definitions.definition(name).wire or {}
    kinds = source.get("x-kubernetes-group-version-kind")
    if kinds and name in (META + "DeleteOptions", META + "WatchEvent"):
        source["x-kubernetes-group-version-kind"] = [
            kind for kind in kinds if kind["group"] in ("", group) and kind["version"] == "v1"
        ]
    for field, child in (source.get("properties") or {}).items():
        source["properties"][field] = _field(child, wire.get(field, ""))
    if isinstance(source.get("additionalProperties"), dict):
        source["additionalProperties"] = _element(source["additionalProperties"])
    return dict(source)


def _field(schema: JSONObject, code: str) -> JSONObject:
    ref = schema.pop("$ref", None)
    if ref is not None:
        wrapped = {"allOf": [{"$ref": ref.replace(definitions.PREFIX, REF)}]}
        return {**({"default": {}} if code == "v" else {}), **wrapped, **schema}
    if code == "s" and schema.get("type") in _ZERO and schema.get("format") != "byte":
        schema = {"type": schema["type"], "default": _ZERO[schema["type"]], **schema}
    return _inner(schema)


def _inner(schema: JSONObject) -> JSONObject:
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            schema[word] = _element(schema[word])
    return schema


def _element(schema: JSONObject) -> JSONObject:
    """An item of a list or a value of a map: never absent."""
    ref = schema.pop("$ref", None)
    if ref is not None:
        name = ref.removeprefix(definitions.PREFIX)
        target = {"$ref": REF + name}
        return {"default": {}, "allOf": [target]} if definitions.definition(name).properties else target
    if schema.get("type") in _ZERO and schema.get("format") != "byte" and "default" not in schema:
        schema = {"type": schema["type"], "default": _ZERO[schema["type"]], **schema}
    return _inner(schema)
