"""The syntax tree of an expression whose macros with two variables were rewritten, as if they had been compiled.

Estimates are made of that tree: names and functions that only the rewriting needs cost nothing.
"""

from collections.abc import Callable
from dataclasses import replace

from karmada.apiserver.cel.syntax import Elements, Invocation, Loop, Name, Node, Select
from karmada.apiserver.cel.two_variables import ENTRIES, KEYS, MERGED, RANGE

_INSERT = "cel.@mapInsert"


def restored(node: Node) -> Node:
    """The tree of a rewritten expression as if the macros had been compiled."""
    match node:
        case Select():
            return replace(node, operand=restored(node.operand))
        case Invocation():
            return replace(node, arguments=tuple(map(restored, node.arguments)))
        case Elements():
            return replace(node, elements=tuple(map(restored, node.elements)))
        case Loop():
            inner = _inside(node)
            return _parts(node, restored) if inner is None else _macro(node, inner)
    return node


def _parts(node: Loop, change: Callable[[Node], Node]) -> Loop:
    return Loop(
        node.variables,
        change(node.range),
        node.result,
        change(node.first),
        change(node.condition),
        change(node.step),
        change(node.last),
    )


def _inside(node: Loop) -> Loop | None:
    """The macro in the binding of a range, if a node is such a binding."""
    inner: Node = node.last
    if isinstance(inner, Invocation) and inner.function in (ENTRIES, MERGED):
        inner = inner.arguments[0]
    if not node.result.startswith(RANGE) or not isinstance(inner, Loop):
        return None
    return inner if inner.range == Invocation(KEYS, (Name(node.result),)) else None


def _macro(binding: Loop, inner: Loop) -> Node:
    values = _Values(binding.result)
    loop = _parts(inner, lambda part: restored(values.removed(part)))
    loop = replace(loop, variables=(*inner.variables, values.name), range=restored(binding.first))
    return _to_map(loop, binding.last.function) if isinstance(binding.last, Invocation) else loop


class _Values:
    """Takes out the bindings of the value at the key of a range, and remembers how it is called."""

    def __init__(self, bound: str) -> None:
        self._bound = bound
        self.name = ""

    def removed(self, node: Node) -> Node:
        match node:
            case Select():
                return replace(node, operand=self.removed(node.operand))
            case Invocation():
                return replace(node, arguments=tuple(map(self.removed, node.arguments)))
            case Elements():
                return replace(node, elements=tuple(map(self.removed, node.elements)))
            case Loop(first=Invocation("_[_]", (Name(name=self._bound), _))):
                self.name = node.result
                return self.removed(node.last)
            case Loop():
                return _parts(node, self.removed)
        return node


def _to_map(loop: Loop, around: str) -> Loop:
    """A loop that makes a list for a map, as one that makes the map."""

    def inserted(step: Node) -> Node:
        assert isinstance(step, Invocation)
        if step.function == "_?_:_":
            condition, yes, no = step.arguments
            return replace(step, arguments=(condition, inserted(yes), no))
        result, added = step.arguments
        assert isinstance(added, Elements)
        [item] = added.elements
        what = item.elements if around == ENTRIES and isinstance(item, Elements) else (item,)
        return Invocation(_INSERT, (result, *what))

    return replace(loop, first=Elements((), mapping=True), step=inserted(loop.step))
