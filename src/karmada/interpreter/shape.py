"""Typed views of trees: decode only the part of a resource a rule reads, and fail clearly when it has another shape.

A view is a msgspec Struct whose fields all have defaults; null counts as absent, as in Kubernetes.
"""

from typing import Any, TypeVar

import msgspec

from karmada.interpreter.model import InterpretError

T = TypeVar("T", bound=msgspec.Struct)


class View(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True, omit_defaults=True):
    """Base of views."""


def view(tree: Any, type_: type[T], what: str) -> T:
    """A tree as a view; `what` names it in errors."""
    if tree is None:
        return type_()
    try:
        return msgspec.convert(tree, type_)
    except msgspec.ValidationError as error:
        raise InterpretError(f"{what} does not have the shape of its kind: {error}") from error


def whole(number: Any, what: str) -> int:
    """An integer field; absent counts as 0."""
    if number is None:
        return 0
    if isinstance(number, bool) or not isinstance(number, int):
        raise InterpretError(f"{what} is {number!r}, not a whole number")
    return number


def child(tree: Any, *path: str) -> Any:
    """The value at a path; None when a step is absent or no object."""
    for step in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(step)
    return tree


def section(tree: Any, *path: str) -> dict[str, Any]:
    """The object at a path, empty when absent; an error when something else is there."""
    found: dict[str, Any] = tree
    for step in path:
        inner = found.get(step)
        if inner is None:
            return {}
        if not isinstance(inner, dict):
            raise InterpretError(f"{'.'.join(path)} is {type(inner).__name__}, not an object")
        found = inner
    return found
