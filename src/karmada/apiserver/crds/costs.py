"""What the validation rules of a definition may cost, by an estimate before anything is validated.

How large values can be follows from the schema, or else from what fits into a request; a rule inside of lists or maps
is evaluated as often as there can be elements. A rule may cost no more than `EACH`, all rules of a schema together no
more than `TOTAL`.
"""

import math
from typing import Any

from karmada.api.field_errors import FieldError, forbidden
from karmada.apiserver.cel.estimate import UNBOUNDED, UNKNOWN, Shape, estimate, product
from karmada.apiserver.cel.syntax import Node
from karmada.apiserver.crds.names import escaped

JSONObject = dict[str, Any]

EACH = 10_000_000
TOTAL = 100_000_000
REQUEST = 3 * 1024 * 1024
"""The largest request, in bytes."""
_BYTES_PER_CHARACTER = 4
_PER_FIELD, _PER_ELEMENT, _PER_ENTRY = 4, 1, 6
"""What JSON needs beside names and values."""
_SMALLEST = {"boolean": 4, "integer": 1, "number": 1}
_FORMATS = {"date": 12, "date-time": 21, "duration": 3}
"""The shortest text of a format that is a type of its own, with its quotes."""
_COMPARED = {"date": 11, "date-time": 31, "duration": 31}
_NAMED, _NAMED_FROM = 4, TOTAL // 100
"""How many rules are named when all together cost too much, and from which cost on."""
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


def shape(schema: JSONObject) -> Shape:
    """The shape of values of a schema."""
    if schema.get("x-kubernetes-int-or-string"):
        return Shape(size=UNBOUNDED)
    match schema.get("type"):
        case "string":
            return _text(schema)
        case "array" if isinstance(schema.get("items"), dict):
            return Shape("list", count(schema), element=shape(schema["items"]))
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return Shape("map", count(schema), element=shape(schema["additionalProperties"]))
        case "object":
            fields = schema.get("properties") or {}
            return Shape("object", fields={escaped(name): shape(child) for name, child in fields.items()})
    return UNKNOWN


def _text(schema: JSONObject) -> Shape:
    kind = schema.get("format") or ""
    if kind in _COMPARED:
        return Shape(size=_COMPARED[kind])
    longest = schema.get("maxLength")
    if longest is None:
        longest = REQUEST
    elif kind != "byte":
        longest *= _BYTES_PER_CHARACTER
    choices = [len(choice.encode()) for choice in schema.get("enum") or () if isinstance(choice, str)]
    return Shape("text", min(longest, max(choices)) if choices else longest)


def count(schema: JSONObject) -> int:
    """How many elements a list or map can have."""
    mapping = schema.get("type") == "object"
    given = schema.get("maxProperties" if mapping else "maxItems")
    if given is not None:
        return int(given)
    inner = schema["additionalProperties" if mapping else "items"]
    return REQUEST // (_smallest(inner) + (_PER_ENTRY if mapping else _PER_ELEMENT))


def _smallest(schema: JSONObject) -> int:
    """The fewest bytes that a value takes in a request."""
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    kind = schema.get("type") or ""
    if kind == "string":
        return _FORMATS.get(schema.get("format") or "", 2)
    fields = schema.get("properties") or {}
    required = [name for name in schema.get("required") or () if "default" not in fields.get(name, {"default": ""})]
    return _SMALLEST.get(kind, 2) + sum(len(name) + _PER_FIELD + _smallest(fields[name]) for name in required)


class Place:
    """A schema inside of a definition: the shape of its values, and how many there can be."""

    def __init__(self, schema: JSONObject, found: Shape | None = None, times: int | None = 1) -> None:
        self._schema = schema
        self.shape = shape(schema) if found is None else found
        self._times = times
        """The product of the bounds of all lists and maps around it; None where one has none."""

    def child(self, word: str, schema: JSONObject, name: str = "") -> "Place":
        """The place of a property, of items or of additionalProperties."""
        if word == "properties":
            return Place(schema, self.shape.fields.get(escaped(name)), self._times)
        bound = self._schema.get("maxItems" if word == "items" else "maxProperties")
        times = None if bound is None or self._times is None else self._times * int(bound)
        return Place(schema, self.shape.element, times)

    @property
    def times(self) -> int:
        """How many values there can be in one object."""
        return REQUEST // (_smallest(self._schema) + _PER_ELEMENT) if self._times is None else self._times


class TooExpensive(FieldError):
    """A complaint about what rules may cost."""


class Budget:
    """Adds up what the rules of one schema may cost."""

    def __init__(self) -> None:
        self._costs: list[tuple[float, str]] = []

    def rule(self, node: Node, place: Place, path: str) -> list[FieldError]:
        """Count a rule at a place, for every value there; refused when it alone costs too much."""
        return self._charge(product(_cost(node, place), place.times), path, "rule")

    def message(self, node: Node, place: Place, path: str) -> list[FieldError]:
        """The same for the expression of a message, of which one is enough."""
        return self._charge(_cost(node, place), path, "messageExpression")

    def _charge(self, cost: float, path: str, what: str) -> list[FieldError]:
        self._costs.append((cost, path))
        if cost <= EACH:
            return []
        return [_refused(path, f"estimated {what} cost exceeds budget by factor of {_factor(cost / EACH)} {_ADVICE}")]

    def together(self, path: str) -> list[FieldError]:
        """Whether all of them cost too much, and which of them most."""
        total = sum(cost for cost, _ in self._costs)
        if total <= TOTAL:
            return []
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        most = sorted((item for item in self._costs if item[0] > _NAMED_FROM), key=lambda item: -item[0])[:_NAMED]
        whole = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by"
        errors = [_refused(where, text) for _, where in most]
        return [*errors, _refused(path, f"{whole} factor of {_factor(total / TOTAL)} {_ADVICE}")]


def _cost(node: Node, place: Place) -> float:
    return estimate(node, {"self": place.shape, "oldSelf": place.shape}).cost


def _refused(path: str, text: str) -> TooExpensive:
    return TooExpensive(*forbidden(path, text))


def _factor(value: float) -> str:
    if value > 100 or math.isinf(value):
        return "more than 100x"
    return f"{value:.6f}x" if value < 1.5 else f"{value:.1f}x"
