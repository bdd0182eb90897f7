"""Types of expressions, and whether a value of one may stand where another is wanted.

`dyn` is any type: it goes anywhere and takes anything. `free` is a type that nothing has decided yet, such as that of
the elements of an empty list: it goes anywhere, and the first type that it meets decides it. Names of one capital
letter are parameters of signatures.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Type:
    """A type with its parameters; an object has fields, and is of the same type as another only with the same name."""

    name: str
    parameters: tuple["Type", ...] = ()
    fields: "Mapping[str, Type]" = field(default_factory=dict, compare=False, hash=False)

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.parameters))
        return f"{self.name}({inner})" if inner else self.name


DYN, FREE, NULL, BOOL, INT, STRING = (Type(name) for name in ("dyn", "free", "null_type", "bool", "int", "string"))
OBJECT = "object"
"""How names of objects begin."""
_OPEN = ("dyn", "free")
_NEVER_NULL = frozenset(("bool", "int", "uint", "double", "string", "bytes", "list", "map", "type"))

Bound = dict[str, Type]
"""What the parameters of a signature stand for."""


def list_of(element: Type) -> Type:
    """Lists of elements of a type."""
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Maps with keys and values of types."""
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    """What may be there or not."""
    return Type("optional_type", (value,))


def fits(wanted: Type, given: Type, bound: Bound) -> bool:
    """Whether a value of a type may be given; decides parameters of the wanted one."""
    if len(wanted.name) == 1:
        known = bound.get(wanted.name, FREE)
        if known.name == "free" or (known.name != "dyn" and not fits(known, given, bound)):
            bound[wanted.name] = given
            return known.name == "free"
        bound[wanted.name] = joined(known, given)
        return True
    if wanted.name in _OPEN or given.name in _OPEN:
        return True
    if given == NULL or wanted == NULL:
        return given == wanted or not {given.name, wanted.name} & _NEVER_NULL
    return (
        wanted.name == given.name
        and len(wanted.parameters) == len(given.parameters)
        and all(fits(*pair, bound) for pair in zip(wanted.parameters, given.parameters, strict=True))
    )


def joined(one: Type, other: Type) -> Type:
    """The type of what is of one type or of the other, which fits it."""
    if one.name == "free" or one == NULL:
        return other
    if other.name == "free" or other == NULL:
        return one
    if "dyn" in (one.name, other.name):
        return DYN
    if one.name != other.name or len(one.parameters) != len(other.parameters):
        return DYN
    pairs = zip(one.parameters, other.parameters, strict=True)
    return Type(one.name, tuple(joined(*pair) for pair in pairs), one.fields)


def resolved(kind: Type, bound: Bound) -> Type:
    """A type of a signature with its parameters replaced."""
    if len(kind.name) == 1:
        return bound.get(kind.name, FREE)
    return Type(kind.name, tuple(resolved(one, bound) for one in kind.parameters), kind.fields)
