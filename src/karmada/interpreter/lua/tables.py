"""Trees as Lua tables, and back.

An argument of a call becomes a table that is empty until the script looks at it; then one level of it is filled in, and
the objects below stay as they are. So a call costs what the script reads, and what it has not touched comes back as the
very object that went in.

Lua has one empty table where JSON has two. An empty table in a result becomes what the arguments have at the same
place if that is empty too; otherwise the field vanishes.
"""

from collections.abc import Callable, Sequence
from typing import Any

_LARGEST_EXACT = 2**53
_DEPTH = 200
_SIZE = 1_000_000
_GONE = object()


class EncodeError(Exception):
    """A result that no JSON can express."""


class Tables:
    """The tables of one call."""

    def __init__(
        self,
        new_table: Callable[[], Any],
        make_lazy: Callable[[int], Any],
        handle_of: Callable[[Any], Any],
        type_of: Callable[[Any], str | None],
    ) -> None:
        self._new_table, self._make_lazy, self._handle_of, self._type_of = new_table, make_lazy, handle_of, type_of
        self._nodes: list[dict[str, Any]] = []
        self._size = 0

    def fetch(self, handle: int, table: Any) -> None:
        """Fill a table that the script has looked at."""
        for key, value in self._nodes[handle].items():
            if value is not None:
                table[key] = self.to_lua(value)

    def to_lua(self, value: Any) -> Any:
        """A value as Lua sees it."""
        match value:
            case dict() if value:
                self._nodes.append(value)
                return self._make_lazy(len(self._nodes) - 1)
            case dict():
                return self._new_table()
            case list():
                table = self._new_table()
                for index, entry in enumerate((entry for entry in value if entry is not None), 1):
                    table[index] = self.to_lua(entry)
                return table
            case int() if not isinstance(value, bool) and not -_LARGEST_EXACT <= value <= _LARGEST_EXACT:
                return float(value)
        return value

    def to_tree(self, value: Any, references: Sequence[Any] = ()) -> Any:
        """A result as a tree; `references` are the arguments that say what an empty table is."""
        self._size = 0
        tree = self._tree(value, list(references), 0)
        return {} if tree is _GONE else tree

    def _tree(self, value: Any, references: list[Any], depth: int) -> Any:
        self._size += 1
        if depth > _DEPTH or self._size > _SIZE:
            raise EncodeError("the result is too large, too deep or refers to itself")
        if isinstance(value, bool | int | str) or value is None:
            return value
        if isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                raise EncodeError(f"unsupported value: {value}")
            return value
        if self._type_of(value) != "table":
            raise EncodeError(f"cannot encode {self._type_of(value) or type(value).__name__} to JSON")
        handle = self._handle_of(value)
        if handle is not None:
            return self._untouched(self._nodes[handle], references)
        items = list(value.items())
        if not items:
            return _empty_like(references)
        if isinstance(items[0][0], str):
            return self._object(items, references, depth)
        return self._array(items, references, depth)

    def _object(self, items: list[tuple[Any, Any]], references: list[Any], depth: int) -> Any:
        tree = {}
        for key, value in items:
            if not isinstance(key, str):
                raise EncodeError("cannot encode mixed or invalid key types")
            below = [reference[key] for reference in references if isinstance(reference, dict) and key in reference]
            child = self._tree(value, below, depth + 1)
            if child is not _GONE:
                tree[key] = child
        return tree

    def _array(self, items: list[tuple[Any, Any]], references: list[Any], depth: int) -> Any:
        entries: list[Any] = [_GONE] * len(items)
        for key, value in items:
            if isinstance(key, bool) or not isinstance(key, int):
                raise EncodeError("cannot encode mixed or invalid key types")
            if not 1 <= key <= len(items):
                raise EncodeError("cannot encode sparse array")
            below = [
                reference[key - 1] for reference in references if isinstance(reference, list) and key <= len(reference)
            ]
            entry = self._tree(value, below, depth + 1)
            entries[key - 1] = _empty_like(_entries(references)) if entry is _GONE else entry
        return [entry for entry in entries if entry is not _GONE]

    def _untouched(self, original: dict[str, Any], references: list[Any]) -> Any:
        """An object that the script has passed on; only one that it has moved needs a look at its empty parts."""
        if any(reference is original for reference in references):
            return original
        return _settled(original, references)


def _settled(value: Any, references: list[Any]) -> Any:
    if isinstance(value, dict) and value:
        tree = {}
        for key, part in value.items():
            below = [reference[key] for reference in references if isinstance(reference, dict) and key in reference]
            child = _settled(part, below)
            if child is not _GONE:
                tree[key] = child
        return tree
    if isinstance(value, list) and value:
        entries = []
        for index, entry in enumerate(value):
            below = [
                reference[index] for reference in references if isinstance(reference, list) and index < len(reference)
            ]
            child = _settled(entry, below)
            if child is not _GONE:
                entries.append(child)
        return entries
    return _empty_like(references) if value in ({}, []) else value


def _entries(references: list[Any]) -> list[Any]:
    return [entry for reference in references if isinstance(reference, list) for entry in reference]


def _empty_like(references: list[Any]) -> Any:
    for reference in references:
        if reference == {} and isinstance(reference, dict):
            return {}
        if reference == [] and isinstance(reference, list):
            return []
    return _GONE
