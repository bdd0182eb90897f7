"""What evaluating an expression may cost at most, as a Kubernetes server estimates it before it runs anything.

The unit is one simple step. Values have a largest size, and what goes through a value costs in proportion to it. The
rates were read off the estimates that a kube-apiserver puts into its refusals; `tests/apiserver/cel/test_estimate.py`
has them. Whatever was not measured counts as one step on values without a size, so that an estimate is never above
the server's: an expression that is accepted there is accepted here.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from karmada.apiserver.cel.syntax import Constant, Elements, Invocation, Loop, Name, Node, Select

UNBOUNDED = math.inf
_LIST, _MAP = 10, 30
"""What making a list or a map costs."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of a value: its largest size, and what is inside."""

    kind: str = ""
    """text, list, map, object; empty for anything else."""
    size: float = 0
    """Bytes of a text, elements of a list or map; 0 for scalars in objects, 1 for computed ones."""
    fields: "Mapping[str, Shape]" = field(default_factory=dict)
    element: "Shape | None" = None
    """Of a list or of the values of a map."""


UNKNOWN = Shape()
SCALAR = Shape(size=1)
KEY = Shape("text")
"""Nothing is known of how long the keys of a map are."""


class Estimate(NamedTuple):
    """The cost of an expression and the shape of its value."""

    cost: float
    shape: Shape


def estimate(node: Node, variables: Mapping[str, Shape]) -> Estimate:
    """The largest cost of an expression whose variables have these shapes."""
    match node:
        case Constant():
            return Estimate(0, Shape("text", node.length) if node.text else SCALAR)
        case Name():
            return Estimate(1, variables.get(node.name, UNKNOWN))
        case Select():
            cost, shape = estimate(node.operand, variables)
            inner = _endless(shape.element) if shape.element else shape.fields.get(node.name, UNKNOWN)
            return Estimate(cost, SCALAR) if node.tests else Estimate(cost + 1, inner)
        case Elements():
            parts = [estimate(element, variables) for element in node.elements]
            cost = sum(part.cost for part in parts)
            if node.mapping:
                return Estimate(cost + _MAP, Shape("map", len(parts) // 2))
            return Estimate(
                cost + _LIST, Shape("list", len(parts), element=parts[0].shape if len(parts) == 1 else None)
            )
        case Loop():
            return _loop(node, variables)
        case Invocation():
            return _invocation(node, variables)


def _endless(shape: Shape) -> Shape:
    """The value of a map that is selected like a field: a server looks for its size among fields, and finds none."""
    if not shape.kind:
        return shape
    fields = {name: _endless(child) for name, child in shape.fields.items()}
    return Shape(shape.kind, UNBOUNDED, fields, _endless(shape.element) if shape.element else None)


def _loop(node: Loop, variables: Mapping[str, Shape]) -> Estimate:
    range_cost, through = estimate(node.range, variables)
    first = estimate(node.first, variables)
    rounds = through.size if through.kind in ("list", "map") else 0
    element = through.element or UNKNOWN
    each = KEY if through.kind == "map" else element if len(node.variables) == 1 else SCALAR
    inside = {**variables, **dict(zip(node.variables, (each, element), strict=False)), node.result: first.shape}
    step = estimate(node.step, inside)
    per_round = estimate(node.condition, inside).cost + step.cost
    grown = first.shape
    if grown.kind in ("list", "map"):
        # What grows has at most one element per round.
        grown = Shape(grown.kind, rounds, element=step.shape.element)
    last = estimate(node.last, {**inside, node.result: grown})
    return Estimate(range_cost + first.cost + product(rounds, per_round) + last.cost, last.shape)


def _invocation(node: Invocation, variables: Mapping[str, Shape]) -> Estimate:
    arguments = [estimate(argument, variables) for argument in node.arguments]
    cost = sum(argument.cost for argument in arguments)
    shapes = [argument.shape for argument in arguments]
    if node.function == "_?_:_":
        condition, yes, no = arguments
        return Estimate(condition.cost + max(yes.cost, no.cost), _either(yes.shape, no.shape))
    if node.function in ("_&&_", "_||_"):
        return Estimate(cost, SCALAR)
    rate = _RATES.get(node.function)
    if rate is None or len(shapes) < rate.arguments:
        return Estimate(cost + 1, UNKNOWN)
    return Estimate(cost + rate.cost(*shapes[: rate.arguments]), rate.result(*shapes[: rate.arguments]))


def _either(one: Shape, other: Shape) -> Shape:
    if one == other:
        return one
    return Shape(one.kind, max(one.size, other.size)) if one.kind == other.kind and one.kind else UNKNOWN


def product(one: float, other: float) -> float:
    """Of two costs or sizes; nothing is nothing, even without bound."""
    return one * other if one and other else 0


def _part(size: float, rate: float = 0.1) -> float:
    """What going through so many bytes costs."""
    return size if math.isinf(size) else math.ceil(round(size * rate, 6))


def _equal(one: Shape, other: Shape) -> float:
    return _part(min(one.size, other.size))


def _ordered(one: Shape, other: Shape) -> float:
    return _equal(one, other) if one.kind == other.kind == "text" else 1


def _added(one: Shape, other: Shape) -> float:
    return _part(one.size + other.size) if one.kind == other.kind == "text" else 1


def _sum(one: Shape, other: Shape) -> Shape:
    if one.kind == other.kind and one.kind in ("text", "list"):
        return Shape(one.kind, one.size + other.size)
    return UNKNOWN if "" in (one.kind, other.kind) and SCALAR not in (one, other) else SCALAR


def _within(one: Shape, many: Shape) -> float:
    return many.size if many.kind == "list" else 1


def _matched(text: Shape, pattern: Shape) -> float:
    return product(_part(text.size + 1), _part(pattern.size, 0.25))


def _spelled(value: Shape) -> Shape:
    """How long the text of a number is, the reference does not ask."""
    return value if value.kind == "text" else Shape("text", UNBOUNDED)


class _Rate(NamedTuple):
    """What a function of this many arguments costs and gives."""

    arguments: int
    cost: Callable[..., float]
    result: Callable[..., Shape]


def _same(value: Shape, *others: Shape) -> Shape:
    return value


def _scalar(*values: Shape) -> Shape:
    return SCALAR


def _inner(value: Shape, *others: Shape) -> Shape:
    """An element; what may be of several types has no size then."""
    return value.element if value.element is not None and value.element.kind else UNKNOWN


def _through(value: Shape, *others: Shape) -> float:
    return _part(value.size)


def _step(*values: Shape) -> float:
    return 1


def _searched(value: Shape) -> float:
    return _part(value.size) if value.kind == "text" else 1


def _count(value: Shape) -> float:
    return value.size if value.kind == "list" else 1


_RATES: dict[str, _Rate] = {
    **dict.fromkeys(("_==_", "_!=_"), _Rate(2, _equal, _scalar)),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _Rate(2, _ordered, _scalar)),
    **dict.fromkeys(("_-_", "_*_", "_/_", "_%_"), _Rate(2, _step, _scalar)),
    **dict.fromkeys(("!_", "-_", "@not_strictly_false", "size"), _Rate(1, _step, _scalar)),
    **dict.fromkeys(("int", "uint", "double", "duration", "timestamp"), _Rate(1, _step, _scalar)),
    **dict.fromkeys(("startsWith", "endsWith"), _Rate(2, lambda text, part: _part(part.size), _scalar)),
    **dict.fromkeys(("lowerAscii", "upperAscii", "trim", "substring"), _Rate(1, _through, _same)),
    **dict.fromkeys(("isQuantity", "isIP", "quantity", "ip", "cidr"), _Rate(1, _through, _scalar)),
    **dict.fromkeys(("sum", "min", "max", "isSorted"), _Rate(1, _count, _scalar)),
    **dict.fromkeys(("indexOf", "lastIndexOf"), _Rate(1, _searched, _scalar)),
    "_+_": _Rate(2, _added, _sum),
    "_[_]": _Rate(2, _step, _inner),
    "@in": _Rate(2, _within, _scalar),
    "dyn": _Rate(1, _step, _same),
    "string": _Rate(1, _step, _spelled),
    "charAt": _Rate(1, _step, lambda text: Shape("text", UNBOUNDED)),
    "contains": _Rate(2, lambda text, part: product(_part(text.size), _part(part.size)), _scalar),
    "matches": _Rate(2, _matched, _scalar),
    "find": _Rate(2, _matched, _same),
    "findAll": _Rate(2, _matched, lambda text, pattern: UNKNOWN),
    "replace": _Rate(1, lambda text: _part(text.size, 0.2), _same),
    "split": _Rate(1, lambda text: _part(text.size, 0.2), lambda text: Shape("list", text.size)),
}
