"""Typed views of trees: decode only the part of a resource a rule reads, and fail clearly when it has another shape.

A view is a struct whose fields all have defaults. Null counts as absent, as in Kubernetes; objects that use it cost a
second, slower pass.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import msgspec

from karmada.api.codec import DecodeError, decode, from_tree
from karmada.api.codec import tree as tree_of
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import InterpretError, JSONObject
from karmada.interpreter.types import fit

T = TypeVar("T", bound=msgspec.Struct)
S = TypeVar("S", bound="View")


class View(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    """Base of views."""

    TYPE: ClassVar[str] = ""
    """Of a member's status the type of Kubernetes that all of it has to fit, see `types`."""


class Metadata(View, frozen=True, kw_only=True):
    """The part of an object's metadata that rules read."""

    name: str = ""
    namespace: str = ""
    generation: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


def view(tree: Any, type_: type[T]) -> T:
    """A tree as a view."""
    try:
        return msgspec.convert(tree, type_)
    except msgspec.ValidationError:
        pass
    try:
        return from_tree(tree, type_)
    except DecodeError as error:
        kind = tree.get("kind") if isinstance(tree, dict) else None
        raise InterpretError(f"{kind or 'value'} does not have the shape of its kind: {error}") from error


def statuses(items: Sequence[AggregatedStatusItem], type_: type[S]) -> list[S]:
    """The statuses of the members that report one."""
    return [found for item in items if (found := status_of(item, type_)) is not None]


def status_of(item: AggregatedStatusItem, type_: type[S]) -> S | None:
    """A member's status as a view; None when it reports none."""
    if not memoryview(item.status):
        return None
    try:
        if type_.TYPE:
            fit(tree_of(item.status), type_.TYPE, exact=True)
        return decode(item.status, type_)
    except DecodeError as error:
        raise InterpretError(f"status of {item.cluster_name} does not have the shape of its kind: {error}") from error


def mapping(tree: JSONObject, *path: str) -> JSONObject | None:
    """The object at a path; None when a step is absent, an error when something else is there."""
    node: Any = tree
    for index, step in enumerate(path):
        node = node.get(step)
        if node is None:
            return None
        if not isinstance(node, dict):
            raise InterpretError(f"{'.'.join(path[: index + 1])} is {type(node).__name__}, not an object")
    return node if isinstance(node, dict) else None


def texts(tree: JSONObject, *path: str) -> dict[str, str] | None:
    """The object at a path whose values are all text; None when there is none, an error when that is null."""
    holder = mapping(tree, *path[:-1]) or {}
    if path[-1] in holder and holder[path[-1]] is None:
        raise InterpretError(f"{'.'.join(path)} is null, not an object")
    found = mapping(tree, *path)
    if found is not None and not all(isinstance(value, str) for value in found.values()):
        raise InterpretError(f"{'.'.join(path)} has a value that is not text")
    return found


def status_map(observed: JSONObject) -> JSONObject | None:
    """The status of an object; None when it has none, an error when that is null."""
    if "status" in observed and observed["status"] is None:
        raise InterpretError("status is null, not an object")
    return mapping(observed, "status")


def ensure(tree: JSONObject, *path: str) -> JSONObject:
    """The object at a path, made where it is absent."""
    node = tree
    for index, step in enumerate(path):
        inner = node.setdefault(step, {})
        if not isinstance(inner, dict):
            raise InterpretError(f"{'.'.join(path[: index + 1])} is {type(inner).__name__}, not an object")
        node = inner
    return node


def text(tree: JSONObject, field: str) -> str:
    """A text field; absent counts as empty, null is an error."""
    if field not in tree:
        return ""
    value = tree[field]
    if not isinstance(value, str):
        raise InterpretError(f"{field} is {type(value).__name__}, not text")
    return value


def whole(tree: JSONObject, field: str) -> int | None:
    """A whole number; None when absent, null is an error."""
    if field not in tree:
        return None
    value = tree[field]
    if isinstance(value, bool) or not isinstance(value, int):
        raise InterpretError(f"{field} is {value!r}, not a whole number")
    return value


def objects(tree: JSONObject, field: str) -> list[JSONObject] | None:
    """A list of objects; None when absent."""
    value = tree.get(field)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise InterpretError(f"{field} is not a list of objects")
    return value
