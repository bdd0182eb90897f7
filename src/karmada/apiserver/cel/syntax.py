"""The syntax tree of a compiled expression, macros expanded: what the engine's serialised form holds of it."""

from dataclasses import dataclass, field, replace

from karmada.api.protobuf_wire import as_bytes, entries, packed


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; texts and bytes have a length."""

    text: bool
    length: int = 1
    kind: str = "dyn"
    """The name of its type."""
    value: str = ""
    """Of a string, what it says."""


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    name: str
    id: int = field(default=0, compare=False)
    """Its number in the serialised form."""


@dataclass(frozen=True, slots=True)
class Select:
    """A field of an object, or with `tests` the question whether it is there."""

    operand: "Node"
    name: str
    tests: bool
    id: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of a function or an operator; of a method, the object comes first."""

    function: str
    arguments: tuple["Node", ...]
    id: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Elements:
    """A list, or a map whose keys and values are given in turn."""

    elements: tuple["Node", ...]
    mapping: bool = False
    optional: tuple[int, ...] = ()
    """Places of elements that are left out where they have no value."""


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

_CONSTANTS = {1: "null_type", 2: "bool", 3: "int", 4: "uint", 5: "double", 6: "string", 7: "bytes"}
"""The types of constants by their numbers."""


def read(serialised: bytes) -> Node:
    """The tree in the serialised form of an expression, checked or not."""
    envelope = _parts(serialised)
    content = _parts(envelope[2])
    return _named(_node(content[2])) if envelope[1].endswith(b".ParsedExpr") else _node(content[4])


def positions(serialised: bytes) -> dict[int, int]:
    """Where the parts of an expression stand in its text, by their numbers."""
    envelope = _parts(serialised)
    source = _parts(envelope[2]).get(3 if envelope[1].endswith(b".ParsedExpr") else 5, b"")
    found: dict[int, int] = {}
    for entry in _all(source, 4):
        numbers = {number: value for number, _, value in entries(entry) if isinstance(value, int)}
        found[numbers.get(1, 0)] = numbers.get(2, 0)
    return found


_SPACES = frozenset(("format", "ip", "lists", "optional", "sets", "strings"))


def _named(node: Node) -> Node:
    """A tree in which functions of a name space have their whole names, as in one that was checked."""
    match node:
        case Select():
            return replace(node, operand=_named(node.operand))
        case Invocation(arguments=(Name(name=space), *others)) if space in _SPACES:
            return Invocation(f"{space}.{node.function}", tuple(map(_named, others)))
        case Invocation():
            return replace(node, arguments=tuple(map(_named, node.arguments)))
        case Elements():
            return replace(node, elements=tuple(map(_named, node.elements)))
        case Loop():
            parts = map(_named, (node.first, node.condition, node.step, node.last))
            return Loop(node.variables, _named(node.range), node.result, *parts)
    return node


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
        return [f"{node.operand.name}.{node.name}"]
    straight = isinstance(node.operand, Select) and inside
    return [*inside, f"{inside[-1]}.{node.name}"] if straight else inside


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


def _id(data: bytes) -> int:
    return next((value for number, _, value in entries(data) if number == 2 and isinstance(value, int)), 0)


def _node(data: bytes) -> Node:
    [(number, body)] = _parts(data).items()
    match number:
        case 3:
            return _constant(body)
        case 4:
            return Name(_parts(body)[1].decode(), _id(data))
        case 5:
            tests = any(number == 3 and value for number, _, value in entries(body))
            return Select(_node(_parts(body)[1]), _parts(body)[2].decode(), tests, _id(data))
        case 6:
            arguments = [*_all(body, 1), *_all(body, 3)]
            return Invocation(_parts(body)[2].decode(), tuple(map(_node, arguments)), _id(data))
        case 7:
            return Elements(tuple(map(_node, _all(body, 1))), optional=tuple(packed(_parts(body).get(2, b""))))
        case 8:
            return _map(_all(body, 2))
    parts = _parts(body)
    variables = tuple(parts[place].decode() for place in (1, 8) if parts.get(place))
    first, condition, step, last = (_node(parts[place]) for place in (4, 5, 6, 7))
    return Loop(variables, _node(parts[2]), parts[3].decode(), first, condition, step, last)


def _map(pairs: list[bytes]) -> Elements:
    elements: list[Node] = []
    optional: list[int] = []
    for pair in pairs:
        parts = _parts(pair)
        if any(number == 5 and value for number, _, value in entries(pair)):
            optional.append(len(elements) + 1)
        elements += [_node(parts[part]) for part in (3, 4) if part in parts]
    return Elements(tuple(elements), mapping=True, optional=tuple(optional))


def _constant(body: bytes) -> Constant:
    [(number, _, value)] = entries(body)
    kind = _CONSTANTS.get(number, "dyn")
    if not isinstance(value, bytes) or kind not in ("string", "bytes"):
        return Constant(False, kind=kind)
    return Constant(True, len(value), kind, value.decode() if kind == "string" else "")
