"""Expressions over texts that stand for times: where the types say that a value is a time, its text is read.

JSON has no times, and the engine takes none inside of objects. So variables, fields and elements whose type is a time
or a duration are wrapped into the function that reads one, in the serialised form of an expression. In the same way
addresses that `string` is asked for get a function of their own: the engine lets nobody add to its own.
"""

from collections.abc import Mapping

from karmada.api.protobuf_wire import BYTES, entries, written
from karmada.apiserver.cel.types import Type

READ = ("timestamp", "duration")
"""The types of values that are read, and the functions that do."""
_ID, _IDENT, _SELECT, _CALL, _LIST, _MAP, _LOOP = 2, 4, 5, 6, 7, 8, 9
_INNER = {_SELECT: (1,), _CALL: (1, 3), _LIST: (1,), _LOOP: (2, 4, 5, 6, 7)}
"""In which fields of a part other parts stand."""


def times(types: Mapping[int, Type]) -> dict[int, str]:
    """The parts of an expression that are to be read, and the functions that do."""
    return {number: kind.name for number, kind in types.items() if kind.name in READ}


def converted(serialised: bytes, wrap: Mapping[int, str]) -> bytes:
    """The serialised form of an unchecked expression with parts, by their numbers, as arguments of functions."""
    made = b""
    for number, wire, value in entries(serialised):
        content = _parsed(value, wrap) if number == 2 and isinstance(value, bytes) else value
        made += written(number, wire, content)
    return made


def _parsed(data: bytes, wrap: Mapping[int, str]) -> bytes:
    """The tree alone: where its parts stand in the text is of no use any more."""
    return b"".join(
        written(number, wire, _part(value, wrap))
        for number, wire, value in entries(data)
        if number == 2 and isinstance(value, bytes)
    )


def _part(data: bytes, wrap: Mapping[int, str]) -> bytes:
    found = entries(data)
    made, own, tests = b"", 0, False
    for number, wire, value in found:
        if number == _ID and isinstance(value, int):
            own = value
        if isinstance(value, bytes) and number != _ID:
            tests = number == _SELECT and any(inner == 3 and given for inner, _, given in entries(value))
            value = _inside(number, value, wrap)
        made += written(number, wire, value)
    if own not in wrap or tests or not any(number in (_IDENT, _SELECT, _CALL) for number, _, _ in found):
        return made
    return written(_CALL, BYTES, written(2, BYTES, wrap[own].encode()) + written(3, BYTES, made))


def _inside(number: int, data: bytes, wrap: Mapping[int, str]) -> bytes:
    if number == _MAP:
        return b"".join(
            written(field, wire, _entry(value, wrap) if field == 2 and isinstance(value, bytes) else value)
            for field, wire, value in entries(data)
        )
    inner = _INNER.get(number, ())
    return b"".join(
        written(field, wire, _part(value, wrap) if field in inner and isinstance(value, bytes) else value)
        for field, wire, value in entries(data)
    )


def _entry(data: bytes, wrap: Mapping[int, str]) -> bytes:
    return b"".join(
        written(field, wire, _part(value, wrap) if field in (3, 4) and isinstance(value, bytes) else value)
        for field, wire, value in entries(data)
    )
