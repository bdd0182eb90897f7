"""The syntax tree of a compiled expression, macros expanded: what the engine's serialised form holds of it."""

from dataclasses import dataclass

from karmada.api.protobuf_wire import as_bytes, entries


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; texts and bytes have a length."""

    text: bool
    length: int = 1


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """A field of an object, or with `tests` the question whether it is there."""

    operand: "Node"
    field: str
    tests: bool


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of a function or an operator; of a method, the object comes first."""

    function: str
    arguments: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Elements:
    """A list, or a map whose keys and values are given in turn."""

    elements: tuple["Node", ...]
    mapping: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """A macro: goes through a range, from a first result to the last by steps, as long as a condition holds."""

    variables: tuple[str, ...]
    range: "Node"
    result: str
    first: "Node"
    condition: "Node"
    step: "Node"
    last: "Node"


Node = Constant | Name | Select | Invocation | Elements | Loop

_TEXTS = (6, 7)
"""The numbers of constants that are texts or bytes."""


def read(serialised: bytes) -> Node:
    """The tree in the serialised form of a checked expression."""
    checked = _parts(_parts(serialised)[2])
    return _node(checked[4])


def mentions(node: Node, name: str) -> bool:
    """Whether a variable occurs anywhere in it."""
    if isinstance(node, Name):
        return node.name == name
    return any(mentions(part, name) for part in _inner(node))


def selections(node: Node) -> list[str]:
    """The paths of fields of variables that are selected anywhere in it, such as `object.spec.replicas`."""
    inside = [path for part in _inner(node) for path in selections(part)]
    if not isinstance(node, Select):
        return inside
    if isinstance(node.operand, Name):
        return [f"{node.operand.name}.{node.field}"]
    straight = isinstance(node.operand, Select) and inside
    return [*inside, f"{inside[-1]}.{node.field}"] if straight else inside


def _inner(node: Node) -> tuple[Node, ...]:
    """What it is made of."""
    match node:
        case Constant() | Name():
            return ()
        case Select():
            return (node.operand,)
        case Invocation():
            return node.arguments
        case Elements():
            return node.elements
        case Loop():
            return (node.range, node.first, node.condition, node.step, node.last)


def _parts(data: bytes) -> dict[int, bytes]:
    """The fields of a message that have a length, the last of each number."""
    return {number: value for number, _, value in entries(data) if isinstance(value, bytes)}


def _all(data: bytes, wanted: int) -> list[bytes]:
    return [as_bytes(value) for number, _, value in entries(data) if number == wanted]


def _node(data: bytes) -> Node:
    [(number, body)] = _parts(data).items()
    match number:
        case 3:
            return _constant(body)
        case 4:
            return Name(_parts(body)[1].decode())
        case 5:
            tests = any(number == 3 and value for number, _, value in entries(body))
            return Select(_node(_parts(body)[1]), _parts(body)[2].decode(), tests)
        case 6:
            arguments = [*_all(body, 1), *_all(body, 3)]
            return Invocation(_parts(body)[2].decode(), tuple(map(_node, arguments)))
        case 7:
            return Elements(tuple(map(_node, _all(body, 1))))
        case 8:
            pairs = [_parts(entry) for entry in _all(body, 2)]
            return Elements(tuple(_node(pair[part]) for pair in pairs for part in (3, 4) if part in pair), mapping=True)
    parts = _parts(body)
    variables = tuple(parts[place].decode() for place in (1, 8) if parts.get(place))
    first, condition, step, last = (_node(parts[place]) for place in (4, 5, 6, 7))
    return Loop(variables, _node(parts[2]), parts[3].decode(), first, condition, step, last)


def _constant(body: bytes) -> Constant:
    for number, text in _parts(body).items():
        if number in _TEXTS:
            return Constant(True, len(text))
    return Constant(False)
