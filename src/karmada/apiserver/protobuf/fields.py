"""The fields of messages, from the table `fields.txt`: loaded on first use, each message parsed on first use.

The table has the fields in the order in which the API's own types declare them, which is the order of JSON that their
encoders write.
"""

from functools import cache
from importlib.resources import files
from typing import NamedTuple

_PREFIX = "io.k8s."


class Field(NamedTuple):
    """One field of a message."""

    name: str
    shape: str
    """Empty, `*` repeated, `%` map, `^` inlined."""
    type: str
    """s, b, i, d, y, or a message name."""


def fields(message: str) -> dict[int, Field] | None:
    """The fields of a message by their numbers, as declared; None for one that is not in the table."""
    return _parsed(message) if message in _lines() else None  # clients invent names, which must not be kept


@cache
def _parsed(message: str) -> dict[int, Field]:
    table = {}
    for entry in _lines()[message].split():
        number, name, type_ = entry.split(":")
        shape = type_[0] if type_[0] in "*%^" else ""
        table[int(number)] = Field(name, shape, type_[len(shape) :])
    return table


@cache
def places(definition: str) -> dict[str, int]:
    """Where each field of a definition, e.g. io.k8s.api.core.v1.Pod, stands in the JSON that encoders write."""
    return {name: place for place, name in enumerate(_declared(definition))}


def origin(definition: str, field: str) -> str:
    """A field of a definition with the names of the types that it is taken over from: Rule.apiGroups."""
    return ".".join([*_declared(definition).get(field, ()), field])


@cache
def _declared(definition: str) -> dict[str, tuple[str, ...]]:
    """The fields in their order, each with the types it is taken over from, the outermost first."""
    found: dict[str, tuple[str, ...]] = {}
    for field in (fields(definition.removeprefix(_PREFIX)) or {}).values():
        if field.shape != "^":
            found[field.name] = ()
        else:
            kind = field.type.rpartition(".")[2]
            found.update({name: (kind, *types) for name, types in _declared(field.type).items()})
    return found


@cache
def _lines() -> dict[str, str]:
    text = files(__package__).joinpath("fields.txt").read_text(encoding="utf-8")
    return {name: entries for name, _, entries in (line.partition(" ") for line in text.splitlines())}
