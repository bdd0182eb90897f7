"""Reading resources of other projects, whose schemas nobody here checks.

`get` reads what must be there and `find` what may be absent; a section that can have no fields at all (a number, a
boolean) fails the rule in both. A list has no fields, and an empty one is the same as an empty object.
"""

from collections.abc import Iterable
from typing import Any

from karmada.interpreter.model import InterpretError

_LARGEST_EXACT = 2**53
_SMALLEST, _LARGEST = -(2**31), 2**31 - 1
_PLACES = 1 << 26
"""Scripts keep positive whole numbers below this as places of a list."""


def plain(tree: Any) -> Any:
    """A copy without nulls, which count as absent."""
    if isinstance(tree, dict):
        return {key: plain(part) for key, part in tree.items() if part is not None}
    if isinstance(tree, list):
        return [plain(entry) for entry in tree if entry is not None]
    return tree


def get(value: Any, *path: str) -> Any:
    """The value at a path, None when only the last step is absent; an error when a section on the way is."""
    for index, step in enumerate(path):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list | str):
            value = None
        else:
            where = ".".join(path[:index]) or "the value"
            raise InterpretError(f"cannot read {'.'.join(path)}: {where} is {value!r}, not an object")
    return value


def find(value: Any, *path: str) -> Any:
    """The value at a path, None when anything on the way is absent."""
    for step in path:
        if value is None:
            return None
        value = get(value, step)
    return value


def entries(value: Any) -> list[Any]:
    """The entries of a list; none when it is absent."""
    if isinstance(value, list):
        return value
    if value is None or isinstance(value, dict) or value == "":
        return []
    raise InterpretError(f"{value!r} is not a list")


def fields(value: Any) -> dict[Any, Any]:
    """The parts of an object or list by key; none when it is absent."""
    if isinstance(value, dict):
        return value
    return dict(enumerate(entries(value), 1))


def given(value: Any, default: Any) -> Any:
    """A value, or the default where it is absent or false."""
    return default if value is None or value is False else value


def number(value: Any) -> int | float:
    """A number to calculate with; text that spells one will do."""
    if isinstance(value, str):
        value = _spelled(value.strip(" \t\n"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InterpretError(f"{value!r} is not a number")
    return value if abs(value) <= _LARGEST_EXACT else float(value)


def _spelled(text: str) -> Any:
    for read in (lambda: int(text, 0), lambda: float(text)):
        try:
            return read()
        except ValueError:
            continue
    return text


def parsed(value: Any) -> int | float | None:
    """The number that a value is or spells, None for anything else."""
    if isinstance(value, str):
        text = value.strip(" \t\n")
        try:
            if "." in text:
                return float(text)
            return int(text[2:], 16) if text[:2].lower() == "0x" else int(text)
        except ValueError:
            return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def same(one: Any, other: Any) -> bool:
    """Equality without the kinship of numbers and booleans."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def before(one: Any, other: Any) -> bool:
    """Whether one of two texts, or of two numbers, comes first."""
    if isinstance(one, str) and isinstance(other, str):
        return one.encode() < other.encode()
    if isinstance(one, str) or isinstance(other, str):
        raise InterpretError(f"{one!r} cannot be compared with {other!r}")
    return number(one) < number(other)


def text(value: Any) -> str:
    """Text or a number, as part of a message."""
    if isinstance(value, str):
        return value
    found = number(value)
    return str(int(found)) if found == int(found) else repr(found)


class Table:
    """Values by keys of any sort, as a script has them: places of a list come first, then the others as they came."""

    def __init__(self) -> None:
        self._values: dict[tuple[type, Any], Any] = {}

    def get(self, key: Any) -> Any:
        """The value of a key, None without any."""
        return self._values.get(_identity(key))

    def set(self, key: Any, value: Any) -> None:
        """Keep a value."""
        if key is None:
            raise InterpretError("nothing is kept without a key")
        self._values[_identity(key)] = value

    def values(self) -> list[Any]:
        """All values."""
        return [value for _, value in sorted(self._values.items(), key=_place)]


def _identity(key: Any) -> tuple[type, Any]:
    """A key that is no plain value is like no other."""
    if isinstance(key, dict | list):
        return object, id(key)
    return (float, key) if isinstance(key, int | float) and not isinstance(key, bool) else (type(key), key)


def _place(entry: tuple[tuple[type, Any], Any]) -> float:
    kind, key = entry[0]
    return key if kind is float and 0 < key < _PLACES and key == int(key) else _PLACES


def whole(value: Any) -> int:
    """A number of replicas in an answer: whole, and not too large."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not _SMALLEST <= value <= _LARGEST:
        raise InterpretError(f"{value!r} is no number of replicas")
    if value != int(value):
        raise InterpretError(f"{value!r} is not a whole number")
    return int(value)


def truncated(value: Any) -> int:
    """The same for the count of a resource as a whole, where the reference rounds and lets numbers overflow."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InterpretError(f"{value!r} is no number of replicas")
    return int(value) if _SMALLEST - 1 < value < _LARGEST + 1 else _SMALLEST


def union(parts: Iterable[Any]) -> dict[Any, Any]:
    """Objects put together; of equal keys the last counts."""
    return {key: value for part in parts for key, value in fields(part).items()}
