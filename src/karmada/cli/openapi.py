"""What a server says about the fields of its kinds: how lists merge, and what fields mean."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import orjson

from karmada.machinery.discovery import ApiResource
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import Transport

JSONObject = dict[str, Any]
_GVK = "x-kubernetes-group-version-kind"


class Schema:
    """The schema of a value. Also says how it merges (`karmada.api.strategic_merge.MergeSchema`)."""

    def __init__(self, document: JSONObject, node: JSONObject) -> None:
        self._document = document
        self._outer = node
        self.node = _followed(document, node)

    @property
    def merge_key(self) -> str:
        """The field that identifies an element of this list."""
        return str(self._outer.get("x-kubernetes-patch-merge-key") or "")

    @property
    def merge_strategies(self) -> Sequence[str]:
        """How it is patched."""
        return [word for word in str(self._outer.get("x-kubernetes-patch-strategy") or "").split(",") if word]

    def field(self, name: str) -> "Schema | None":
        """A field of this object, or the values of this map."""
        found = self.fields.get(name)
        if found is not None:
            return found
        values = self.node.get("additionalProperties")
        return Schema(self._document, values) if isinstance(values, dict) else None

    def element(self) -> "Schema | None":
        """The elements of this list."""
        items = self.node.get("items")
        return Schema(self._document, items) if isinstance(items, dict) else None

    @cached_property
    def fields(self) -> "dict[str, Schema]":
        """The fields of this object."""
        properties = self.node.get("properties") or {}
        return {name: Schema(self._document, node) for name, node in properties.items()}

    @property
    def required(self) -> Sequence[str]:
        """Fields that must be there."""
        return list(self.node.get("required") or ())

    @property
    def description(self) -> str:
        """What it is for here."""
        return str(self._outer.get("description") or "")

    @property
    def descriptions(self) -> Sequence[str]:
        """What it is for here, and what its type is for anywhere."""
        reference = self._document["components"]["schemas"].get(_reference(self._outer)) or {}
        found = (self._outer.get("description"), reference.get("description"))
        return [str(text) for text in dict.fromkeys(found) if text]

    @property
    def enum(self) -> Sequence[Any]:
        """The values it may have; empty: any."""
        return list(self.node.get("enum") or ())

    @property
    def type_name(self) -> str:
        """As people say it: `[]Container`, `map[string]string`, `integer`."""
        if (inner := self.element()) is not None:
            return f"[]{inner.type_name}"
        values = self.node.get("additionalProperties")
        if isinstance(values, dict):
            return f"map[string]{Schema(self._document, values).type_name}"
        reference = _reference(self._outer).rpartition(".")[2]
        kind = str(self.node.get("type") or "object")
        return kind if kind != "object" else reference or "Object"

    @property
    def inner(self) -> "Schema":
        """What remains after lists and maps are opened: the thing itself."""
        found: Schema = self
        while True:
            values = found.node.get("additionalProperties")
            below = found.element() or (Schema(self._document, values) if isinstance(values, dict) else None)
            if below is None:
                return found
            found = below


async def schema_of(transport: Transport, kind: ApiResource) -> Schema | None:
    """The schema of a kind; None where the server publishes none."""
    group, version, _ = kind.type
    path = f"/openapi/v3/apis/{group}/{version}" if group else f"/openapi/v3/api/{version}"
    try:
        document = orjson.loads(await transport.raw("GET", path))
    except NotFound:
        return None
    wanted = {"group": group, "version": version, "kind": kind.kind}
    for node in (document.get("components") or {}).get("schemas", {}).values():
        if wanted in (node.get(_GVK) or ()):
            return Schema(document, node)
    return None


def merges(schema: Schema | None, kind: ApiResource) -> Schema | None:
    """The schema by which clients make strategic patches: custom kinds have none."""
    return schema if schema is not None and is_builtin(kind) else None


def is_builtin(kind: ApiResource) -> bool:
    """Whether a kind is Kubernetes' own, which is what strategic patches work on."""
    group = kind.type.group
    return "." not in group or (group.endswith(".k8s.io") and not group.endswith(".x-k8s.io"))


def _reference(node: JSONObject) -> str:
    if "$ref" in node:
        return str(node["$ref"]).rpartition("/")[2]
    parts = node.get("allOf") or ()
    return str(parts[0].get("$ref", "")).rpartition("/")[2] if parts else ""


def _followed(document: JSONObject, node: JSONObject) -> JSONObject:
    reference = _reference(node)
    if not reference:
        return node
    found: JSONObject = document["components"]["schemas"].get(reference) or {}
    return {**found, **{key: value for key, value in node.items() if key not in ("$ref", "allOf", "default")}}
