"""Numbers that do not fit their field: JSON has them, the API's types of 32 and 64 bits have not."""

import types
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from karmada.api.base import Schema

_BITS = {"int32": 31, "int64": 63}
_Plan = int | dict[str, Any] | list[Any] | None
"""Bits of a number; plans of fields by wire name, of all values of a map as `*`, of the items of a list."""
_ANY = "*"
_SURELY = 1 << 31
"""Numbers below fit every field."""


def out_of_range(tree: Any, type_: type[msgspec.Struct]) -> str:
    """The path of a number that is too large or too small for its field; empty when there is none."""
    plan = _plan_of_struct(type_)
    return "" if _fits(tree, plan) else _find(tree, plan, "$")


def _fits(value: Any, plan: Any) -> bool:
    """Whether all numbers fit; almost always they do, and then nobody asks where they stand."""
    kind = plan.__class__
    if value.__class__ is not kind:
        # Of the classes that are none of a plan's only numbers as booleans come here, and they fit.
        return True
    if kind is int:
        return bool(-(1 << plan) <= value < 1 << plan)
    if kind is list:
        below = plan[0]
        return all(_fits(entry, below) for entry in value)
    if (below := plan.get(_ANY)) is not None:
        return all(_fits(part, below) for part in value.values())
    for name, below in plan.items():
        part = value.get(name)
        # Most parts are absent, and of the others most are numbers as a rule has them: 0 to a million replicas.
        if part is None or (part.__class__ is int and -1 < part < _SURELY):
            continue
        if not _fits(part, below):
            return False
    return True


def _find(value: Any, plan: _Plan, path: str) -> str:
    if isinstance(plan, int):
        fits = not isinstance(value, int) or -(2**plan) <= value < 2**plan
        return "" if fits else path
    if isinstance(plan, list) and isinstance(value, list):
        found = (_find(entry, plan[0], f"{path}[{index}]") for index, entry in enumerate(value))
    elif isinstance(plan, dict) and isinstance(value, dict):
        found = (
            _find(part, plan[_ANY] if _ANY in plan else plan.get(name), f"{path}.{name}")
            for name, part in value.items()
            if _ANY in plan or name in plan
        )
    else:
        return ""
    return next(filter(None, found), "")


@cache
def _plan_of_struct(type_: type[msgspec.Struct]) -> dict[str, Any]:
    plan: dict[str, Any] = {}
    for field in msgspec.structs.fields(type_):
        below = _plan(field.type)
        if below:
            plan[field.encode_name] = below
    return plan


def _plan(type_: Any) -> _Plan:
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Annotated:
        formats = (note.format for note in arguments[1:] if isinstance(note, Schema))
        bits = next((_BITS[name] for name in formats if name in _BITS), None)
        return bits or _plan(arguments[0])
    if origin in (Union, types.UnionType):
        plans = [plan for argument in arguments if (plan := _plan(argument))]
        return plans[0] if plans else None
    if origin in (list, tuple):
        below = _plan(arguments[0])
        return [below] if below else None
    if origin is dict:
        below = _plan(arguments[1])
        return {_ANY: below} if below else None
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        return _plan_of_struct(type_)
    return None
