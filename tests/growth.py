"""How work grows with the entries of a list: counted, never timed.

`excess` measures a function at some size, at twice and at four times of it. Counts that grow as `a + bn + cn²` give
`c` exactly: what every further pair of entries costs. Linear work has none. Counted are calls, comparisons of texts and
numbers (`counted` makes values that count theirs), and characters of what is said.
"""

import copy
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, ClassVar, NamedTuple

from karmada.apiserver.schema.model import Schema
from karmada.testing.collection import no_collection

JSONObject = dict[str, Any]
Path = tuple[str | int, ...]
"""Steps from an object to a field: names, 0 for the only entry of a list."""
SMALL, LARGE = 8, 64
"""Sizes of the first look, and of the second: work on pairs that is bounded no longer grows there."""
MOST = 0.2
"""What of a count is noise: positions have more digits, and texts of a first time are not yet cached."""
_DEEPEST = 14


class Work(NamedTuple):
    """What a function did."""

    calls: float
    comparisons: float
    characters: float


class _Comparisons:
    made: ClassVar[int] = 0


class _Text(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        _Comparisons.made += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        _Comparisons.made += 1
        return str.__ne__(self, other)

    __hash__ = str.__hash__


class _Number(int):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        _Comparisons.made += 1
        return int.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        _Comparisons.made += 1
        return int.__ne__(self, other)

    __hash__ = int.__hash__


def counted(value: Any) -> Any:
    """A copy of a tree whose texts and numbers count comparisons."""
    if isinstance(value, dict):
        return {key: counted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [counted(item) for item in value]
    if value.__class__ is str:
        return _Text(value)
    return _Number(value) if value.__class__ is int else value


def work(said: Callable[[], int]) -> Work:
    """What a function does, which returns the characters it says."""
    calls = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    _Comparisons.made = 0
    before = sys.getprofile()
    with no_collection():  # what earlier tests left ends with calls of its own
        sys.setprofile(profile)
        try:
            characters = said()
        finally:
            sys.setprofile(before)
    return Work(calls, _Comparisons.made, characters)


def excess(measure: Callable[[int], Work | None]) -> Work | None:
    """What a pair of entries costs; None where there is nothing to measure.

    Growth with the square of small numbers is looked at again at a larger size, where a bound would show.
    """
    found = _excess(measure, SMALL)
    return found if found is None or _is_fine(found) else _excess(measure, LARGE)


def _is_fine(found: Work) -> bool:
    return found.calls < MOST and found.comparisons < MOST and found.characters < 1


def grows(found: Work) -> bool:
    """Whether work grows faster than the number of entries."""
    return not _is_fine(found)


def _excess(measure: Callable[[int], Work | None], size: int) -> Work | None:
    measure(4 * size)  # fills caches
    results = [measure(times * size) for times in (1, 2, 4)]
    one, two, four = results
    if one is None or two is None or four is None:
        return None
    return Work(*((c - 3 * b + 2 * a) / (6 * size * size) for a, b, c in zip(one, two, four, strict=True)))


class Case(NamedTuple):
    """Which entries an object has many of."""

    path: Path
    """Of a list or map."""
    alike: bool
    """Whether entries of a list are all the same."""
    together: bool
    """Whether the lists beside it, in the same object, have as many."""

    def __str__(self) -> str:
        beside = " and those beside it" if self.together else ""
        return f"{'.'.join(map(str, self.path))}{beside}, {'alike' if self.alike else 'different'}"


def cases(schema: Schema, chosen: Callable[[Path], bool]) -> Iterator[Case]:
    """Every list and map of a kind alone, and those of an object together."""
    paths = list(filter(chosen, _lists(schema)))
    beside = Counter(path[:-1] for path in paths)
    for path in paths:
        together = beside.pop(path[:-1], 0) > 1 and len(path) > 1
        for alike in (True, False):
            yield Case(path, alike, False)
            if together:
                yield Case(path, alike, True)


def _lists(schema: Schema, at: Path = (), above: tuple[str, ...] = ()) -> Iterator[Path]:
    """Those that are reached without going through a type twice."""
    if len(at) > _DEEPEST or schema.name in above:
        return
    above = (*above, schema.name) if schema.name else above
    if schema.properties:
        for name, inner in schema.properties.items():
            yield from _lists(inner, (*at, name), above)
    elif schema.additional is not None:
        yield at
    elif schema.type == "array" and schema.items is not None:
        yield at
        yield from _lists(schema.items, (*at, 0), above)


def with_entries(schema: Schema, base: JSONObject, case: Case, count: int) -> JSONObject | None:
    """A copy of an object with so many entries; None where no object has that list."""
    path = case.path
    obj = copy.deepcopy(base)
    here: Any = obj
    holder = schema
    for step, following in zip(path, (*path[1:], None), strict=True):
        if isinstance(step, int):
            inner = holder.items
        else:
            inner = (holder.properties or {}).get(step) or holder.additional
        if inner is None:
            return None
        if following is None:
            break
        wanted = list if inner.type == "array" else dict
        if isinstance(step, int):
            here[:] = here or [_value(inner, 0, "")]
        elif not isinstance(here.get(step), wanted):
            made = _value(inner, 0, step)
            here[step] = made if isinstance(made, wanted) else wanted()
        here, holder = here[step], inner
        if not isinstance(here, wanted):
            return None
    for name, beside in (holder.properties or {}).items():
        if _is_list(beside) and (case.together or name == path[-1]):
            here[name] = _entries(beside, name, count, case.alike)
    return obj if path[-1] in here else None


def _is_list(schema: Schema) -> bool:
    return schema.items is not None or (schema.additional is not None and not schema.properties)


def _entries(schema: Schema, name: str, count: int, alike: bool) -> Any:
    if schema.items is not None:
        return [_value(schema.items, 0 if alike else n, name.removesuffix("s"), fill=True) for n in range(count)]
    assert schema.additional is not None
    return {f"a{n}": _value(schema.additional, n, name) for n in range(count)}


_FIXED = {
    "protocol": "TCP",
    "operator": "In",
    "effect": "NoSchedule",
    "apiVersion": "apps/v1",
    "restartPolicy": "Always",
    "schedule": "0 * * * *",
    "status": "True",
    "fieldPath": "metadata.name",
    "expression": "true",
    "type": "a",
}


def _value(schema: Schema, number: int, name: str, fill: bool = False, depth: int = 0) -> Any:
    """A small value of a type; `fill` sets fields of an object that need not be there."""
    if schema.type == "array":
        return [_value(schema.items, number, name, depth=depth + 1)] if schema.items is not None else []
    if schema.properties is not None:
        needed = {*schema.required, *schema.list_keys, "name", "key"}
        return {
            key: _value(inner, number, key, depth=depth + 1)
            for key, inner in schema.properties.items()
            if depth < 6
            and (key in needed or (fill and inner.type not in ("object", "array") and not inner.properties))
        }
    if schema.additional is not None:
        return {f"a{number}": _value(schema.additional, number, name, depth=depth + 1)} if depth < 5 else {}
    return _scalar(schema, number, name, inside=depth > 0)


def _scalar(schema: Schema, number: int, name: str, inside: bool) -> Any:
    if inside and schema.rules.get("enum"):
        return schema.rules["enum"][number % len(schema.rules["enum"])]
    if schema.name.endswith("resource.Quantity"):
        return "1"
    if schema.int_or_string or schema.type in ("integer", "number"):
        return 1 + number
    if schema.type == "boolean":
        return True
    if schema.format == "date-time":
        return "2024-01-01T00:00:00.000000Z" if schema.name.endswith("MicroTime") else "2024-01-01T00:00:00Z"
    if schema.format == "byte":
        return "YQ=="
    if schema.type == "string":
        if name.lower().endswith("ip"):
            return f"10.1.{number // 256 % 256}.{number % 256}"
        return _FIXED.get(name) or f"a{number}"
    return {"a": number}
