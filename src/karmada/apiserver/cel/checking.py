"""Types of expressions over declared objects: what cannot be evaluated on any value is refused beforehand.

The engine knows variables of any type only, so that plain JSON can be given to it; types are inferred from its syntax
tree. Literals are judged as well: the elements of a list are of one type, patterns and times can be read.
"""

from collections.abc import Mapping

from karmada.apiserver.cel import literals
from karmada.apiserver.cel.signatures import signatures
from karmada.apiserver.cel.syntax import Constant, Elements, Invocation, Loop, Name, Node, Select
from karmada.apiserver.cel.types import (
    BOOL,
    DYN,
    FREE,
    INT,
    Bound,
    Type,
    fits,
    joined,
    list_of,
    map_of,
    optional_of,
    resolved,
)

_TYPES = frozenset(
    ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "duration", "timestamp")
)
_ANY_ELEMENTS = frozenset(("format",))
"""Functions whose lists may hold values of several types."""

_UNKNOWN = ("math.", "base64.")
"""Libraries that the engine has and the API server has not."""
_TAKING = frozenset(("_[_]", "value", "orValue"))
"""Functions that give a part of what they are given."""


class IllTyped(Exception):
    """An expression that cannot be evaluated on any value of the declared types; `part` is the number of what is wrong
    in its serialised form, 0 where that is not known."""

    def __init__(self, text: str, part: int = 0) -> None:
        super().__init__(text)
        self.part = part


def infer(node: Node, known: Mapping[str, Type]) -> Type:
    """The type of an expression whose variables have these types. Raises `IllTyped`."""
    return Inference().infer(node, known)


class Inference:
    """Finds the types of expressions, and remembers those of what comes out of variables by their numbers."""

    def __init__(self, judges: bool = True) -> None:
        """One that does not judge takes what is ill-typed for a value of any type."""
        self._judges = judges
        self.types: dict[int, Type] = {}
        self.spelled: set[int] = set()
        """The numbers of addresses and networks that are made texts."""

    def infer(self, node: Node, known: Mapping[str, Type], mixed: bool = False) -> Type:
        """The type of an expression whose variables have these types; `mixed` lets a list have elements of several.

        Raises `IllTyped`.
        """
        try:
            match node:
                case Constant():
                    return Type(node.kind)
                case Name():
                    self.types[node.id] = known[node.name] if node.name in known else _named(node.name)
                    return self.types[node.id]
                case Select():
                    found = _select(self.infer(node.operand, known), node.name, node.id)
                    self.types[node.id] = BOOL if node.tests else found
                    return self.types[node.id]
                case Elements():
                    return self._elements(node, known, mixed)
                case Invocation():
                    return self._invoke(node, known)
                case Loop():
                    return self._loop(node, known)
        except IllTyped:
            if self._judges:
                raise
            return DYN

    def _elements(self, node: Elements, known: Mapping[str, Type], mixed: bool) -> Type:
        types = [self.infer(element, known, mixed) for element in node.elements]
        for place in node.optional:
            types[place] = types[place].parameters[0] if types[place].name == "optional_type" else types[place]
        if not node.mapping:
            return list_of(_one_of(types, mixed))
        return map_of(_one_of(types[::2], mixed), _one_of(types[1::2], mixed))

    def _invoke(self, node: Invocation, known: Mapping[str, Type]) -> Type:
        if node.function == "_?._":
            operand, field = node.arguments
            assert isinstance(field, Constant)
            found = _select(self.infer(operand, known), field.value, node.id)
            return found if found.name == "optional_type" else optional_of(found)
        wrong = literals.problem(node)
        if wrong:
            raise IllTyped(wrong, node.id)
        given = [self.infer(argument, known, node.function in _ANY_ELEMENTS) for argument in node.arguments]
        if node.function == "string" and given and given[0].name in ("IP", "CIDR"):
            self.spelled.update(part.id for part in node.arguments if isinstance(part, Name | Select | Invocation))
        if node.function == "format" and len(given) == 2:
            self._format(node, known)
        forms = signatures().get(node.function)
        if forms is None:
            if node.function.startswith(_UNKNOWN):
                raise IllTyped(f"undeclared reference to '{node.function}' (in container '')")
            return DYN
        results: list[Type] = []
        for form in forms:
            bound: Bound = {}
            if len(form.parameters) == len(given) and all(
                fits(*pair, bound) for pair in zip(form.parameters, given, strict=True)
            ):
                results.append(resolved(form.result, bound))
        if not results:
            shown = ", ".join(map(str, given))
            raise IllTyped(f"found no matching overload for '{node.function}' applied to '({shown})'", node.id)
        made = results[0] if all(one == results[0] for one in results) else DYN
        if node.function in _TAKING:
            self.types[node.id] = made
        return made

    def _format(self, node: Invocation, known: Mapping[str, Type]) -> None:
        """Judge the elements of a list that a literal says how to write."""
        text, values = node.arguments
        if not isinstance(text, Constant) or text.kind != "string" or not isinstance(values, Elements):
            return
        wrong = literals.misfit(text.value, [self.infer(one, known, True).name for one in values.elements])
        if wrong:
            raise IllTyped(wrong)

    def _loop(self, node: Loop, known: Mapping[str, Type]) -> Type:
        through = self.infer(node.range, known)
        match through.name:
            case "list":
                inner = (INT, through.parameters[0])
            case "map":
                inner = through.parameters[0], through.parameters[1]
            case "dyn" | "free":
                inner = DYN, DYN
            case _:
                text = f"expression of type '{through}' cannot be range of a comprehension"
                raise IllTyped(f"{text} (must be list, map, or dynamic)")
        if len(node.variables) == 1:
            inner = (inner[1], inner[1]) if through.name == "list" else (inner[0], inner[0])
        first = self.infer(node.first, known)
        inside = {**known, **dict(zip(node.variables, inner, strict=False)), node.result: first}
        if not fits(BOOL, self.infer(node.condition, inside), {}):
            raise IllTyped("found no matching overload for '@not_strictly_false'")
        step = self.infer(node.step, inside)
        if not fits(first, step, {}):
            raise IllTyped(f"expected type '{first}' but found '{step}'")
        return self.infer(node.last, {**known, node.result: joined(first, step)})


def _named(name: str) -> Type:
    return Type("type") if name.removeprefix("google.protobuf.").lower() in _TYPES else DYN


def _select(operand: Type, field: str, part: int) -> Type:
    if operand.name == "optional_type":
        found = _select(operand.parameters[0], field, part)
        return found if found.name == "optional_type" else optional_of(found)
    if operand.name in ("dyn", "free"):
        return DYN
    if operand.name == "map":
        return operand.parameters[1]
    if not operand.fields:
        raise IllTyped(f"type '{operand}' does not support field selection", part)
    found = operand.fields.get(field) or operand.fields.get(f"__{field}__", FREE)
    if found is FREE:
        raise IllTyped(f"undefined field '{field}'", part)
    return found


def _one_of(types: list[Type], mixed: bool) -> Type:
    made = FREE
    for one in types:
        if not mixed and made not in (FREE, one) and not _undecided(made, one):
            raise IllTyped(f"expected type '{made}' but found '{one}'")
        made = joined(made, one)
    return made


def _undecided(one: Type, other: Type) -> bool:
    """Whether two types are the same but for parts that nothing has decided."""
    if FREE in (one, other):
        return True
    pairs = zip(one.parameters, other.parameters, strict=False)
    return one.name == other.name and all(_undecided(*pair) for pair in pairs)
