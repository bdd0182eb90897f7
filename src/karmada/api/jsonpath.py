"""Kubernetes' JSONPath: printer columns, `-o jsonpath` templates, sorting and state preservation.

A template is text with actions in braces: `{.items[*].metadata.name}`, `{range .items[*]}{.kind}{"\\n"}{end}`. Paths
have fields (dots in a name are escaped: `.labels.kubernetes\\.io/os`), indexes, slices, unions, wildcards, recursive
descent and filters: `.status.conditions[?(@.type=="Ready")].status`. Data is decoded JSON. Missing fields are no
results by default; with `allow_missing=False` they are errors, in the words kubectl uses.
"""

import operator
import re
from collections.abc import Callable
from typing import Any

import orjson

from karmada.api.caching import text_cache
from karmada.api.go_text import escape_html, format_float, type_name
from karmada.api.jsonpath_parser import (
    Field,
    Filter,
    JSONPathError,
    Literal,
    Node,
    Part,
    Range,
    Recursive,
    Slice,
    Text,
    Union,
    Wildcard,
    parse_template,
)

__all__ = ["JSONPath", "JSONPathError", "parse", "parse_path", "parse_relaxed"]

Values = list[Any]
MAX_RESULTS = 200_000
"""How many values a second descent may select: what is inside of each other is found again and again."""


class JSONPath:
    """A parsed template. Immutable and reusable."""

    __slots__ = ("parts", "text")

    def __init__(self, text: str, parts: tuple[Part, ...]) -> None:
        self.text = text
        self.parts = parts

    def render(self, data: Any, *, allow_missing: bool = True) -> str:
        """The template with its actions replaced by what they select."""
        return "".join(self._printed(result) for result in self.results(data, allow_missing=allow_missing))

    def results(self, data: Any, *, allow_missing: bool = True) -> list[Values]:
        """What each part of the template selects, in order; text selects itself."""
        return _Evaluation(self.text, allow_missing).parts(self.parts, data)

    def find(self, data: Any, *, allow_missing: bool = True) -> Values:
        """Everything selected, for templates that are one path."""
        return [value for result in self.results(data, allow_missing=allow_missing) for value in result]

    @staticmethod
    def _printed(values: Values) -> str:
        return " ".join(map(print_value, values))


@text_cache(1024)
def parse(template: str) -> JSONPath:
    """Read a template with its actions in braces, as for `-o jsonpath=`."""
    return JSONPath(template, parse_template(template))


def parse_path(path: str) -> JSONPath:
    """Read a bare path, as in printer columns: `.spec.replicas`."""
    return parse(f"{{{path}}}")


_RELAXED = re.compile(r"\{\.?([^{}]+)\}|\.?([^{}]+)")


def parse_relaxed(text: str) -> JSONPath:
    """Read a path that may lack its dot, its braces or both, as kubectl accepts for `--sort-by` and custom columns."""
    if not text:
        return parse("")
    match = _RELAXED.fullmatch(text)
    if match is None:
        forms = "'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'"
        raise JSONPathError(f"unexpected path string, expected a {forms}", text)
    return parse(f"{{.{match.group(1) or match.group(2)}}}")


def print_value(value: Any) -> str:
    """A result as kubectl prints it: containers as JSON, strings bare."""
    match value:
        case None:
            return "null"
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return format_float(value)
        case dict() | list():
            return escape_html(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode())
    return str(value)


class _Evaluation:
    """One run of a template over data."""

    def __init__(self, text: str, allow_missing: bool) -> None:
        self.text = text
        self.allow_missing = allow_missing

    def error(self, message: str) -> JSONPathError:
        return JSONPathError(message, self.text)

    def parts(self, parts: tuple[Part, ...], data: Any) -> list[Values]:
        results: list[Values] = []
        for part in parts:
            if isinstance(part, Text):
                results.append([part.text])
            elif isinstance(part, Range):
                for item in self.path(part.nodes, [data]):
                    results += self.parts(part.body, item)
            else:
                results.append(self.path(part, [data]))
        return results

    def path(self, nodes: tuple[Node, ...], values: Values) -> Values:
        descended = False
        for node in nodes:
            if isinstance(node, Recursive):
                values = self.descendants(values, descended)
                descended = True
            else:
                values = self.step(node, values)
        return values

    def step(self, node: Node, values: Values) -> Values:
        match node:
            case Field(name):
                return self.field(name, values)
            case Slice():
                return [item for value in values if value is not None for item in self.slice(node, value)]
            case Filter():
                return [item for value in values for item in self.filter(node, value)]
            case Wildcard():
                return [child for value in values for child in _children(value)]
            case Recursive():
                return self.descendants(values, again=False)
            case Union(paths):
                return [item for path in paths for item in self.path(path, values)]
            case Literal(value):
                return [value for _ in values]

    def descendants(self, values: Values, again: bool) -> Values:
        """The first time as many as there are; again, as the values may be inside each other, up to a bound."""
        found: Values = []
        for value in values:
            found += _descendants(value)
            if again and len(found) > MAX_RESULTS:
                raise self.error(f"the path selects more than {MAX_RESULTS} values")
        return found

    def field(self, name: str, values: Values) -> Values:
        found = [value[name] for value in values if isinstance(value, dict) and name in value]
        if values and not found and not self.allow_missing:
            raise self.error(f"{name} is not found")
        return found

    def slice(self, node: Slice, value: Any) -> Values:
        if not isinstance(value, list):
            raise self.error(f"{type_name(value)} is not array or slice")
        size = len(value)
        start = node.start or 0
        start = start + size if start < 0 else start
        if node.is_index:
            if not 0 <= start < size:
                raise self.error(f"array index out of bounds: index {start}, length {size}")
            return [value[start]]
        stop = size if node.stop is None else node.stop
        stop = stop + size if stop < 0 else stop
        if start == stop:
            return []
        for bound, index in ((start, start), (stop - 1, stop - 1)):
            if not 0 <= bound < size:
                raise self.error(f"array index out of bounds: index {index}, length {size}")
        if start > stop:
            raise self.error(f"starting index {start} is greater than ending index {stop}")
        if node.step is not None and node.step <= 0:
            raise self.error("step must be > 0")
        return value[start : stop : node.step or 1]

    def filter(self, node: Filter, value: Any) -> Values:
        if not isinstance(value, list):
            # kubectl prints the whole value here, which may be a secret.
            raise self.error(f"{type_name(value)} is not array or slice and cannot be filtered")
        return [item for item in value if self.passes(node, item)]

    def passes(self, node: Filter, item: Any) -> bool:
        if node.operator == "exists":
            try:
                return bool(self.path(node.left, [item]))
            except JSONPathError:
                return False
        sides = [self.path(path, [item]) for path in (node.left, node.right)]
        if not all(sides):
            return False
        if any(len(side) > 1 for side in sides):
            raise self.error("can only compare one element at a time")
        (left,), (right,) = sides
        return self.compare(node.operator, left, right)

    def compare(self, symbol: str, left: Any, right: Any) -> bool:
        scalar = (bool, int, float, str)
        if not isinstance(left, scalar) or not isinstance(right, scalar):
            raise self.error("invalid type for comparison")
        if type(left) is not type(right):
            raise self.error("incompatible types for comparison")
        if isinstance(left, bool) and symbol not in ("==", "!="):
            raise self.error("invalid type for comparison")
        return _COMPARISONS[symbol](left, right)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _children(value: Any) -> Values:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _descendants(value: Any) -> Values:
    """The value and all below it that have something below them; text counts, numbers do not."""
    found: Values = []
    waiting = [value]
    while waiting:
        part = waiting.pop()
        children = _children(part)
        if children or (isinstance(part, str) and part):
            found.append(part)
            waiting.extend(reversed(children))
    return found
