"""Whether trees fit the types that Kubernetes has for its kinds; a rule fails on those that do not.

`types.txt` lists the fields of every type: `s` text, `b` boolean, `i` and `l` whole numbers of 32 and 64 bits, `q` an
amount, `t` and `u` times, `o` a number or text, `y` bytes, `a` anything, else a type; `*` before it is a list of such,
`%` an object of such. Null fits everywhere, and fields that a type does not have are passed over.
"""

import types
from collections.abc import Callable
from datetime import datetime
from functools import cache, lru_cache
from importlib import resources
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from karmada.api.quantity import Quantity, QuantityError
from karmada.interpreter.model import InterpretError

_INT32 = (-(2**31), 2**31 - 1)
_INT64 = (-(2**63), 2**63 - 1)


_Int32 = Annotated[int, Meta(ge=_INT32[0], le=_INT32[1])]
_Time = Annotated[datetime, Meta(tz=True)]
_LEAVES: dict[str, Any] = {
    "s": str,
    "b": bool,
    "i": _Int32,
    "l": int,
    "q": Quantity,
    "t": _Time,
    "u": _Time,
    "o": _Int32 | str,
    "y": bytes,
    "a": Any,
}


_OTHERS = """
multicluster.ServiceImport metadata:meta.ObjectMeta spec:multicluster.Spec status:multicluster.Status
multicluster.Spec ports:*multicluster.Port ips:*s type:s sessionAffinity:s
multicluster.Port name:s protocol:s appProtocol:s port:i
multicluster.Status clusters:*multicluster.ClusterStatus
multicluster.ClusterStatus cluster:s
"""
"""Types of kinds that are not Kubernetes' own, in the same notation."""


def fit(tree: Any, type_name: str, *, exact: bool) -> None:
    """Fail unless the tree fits. `exact`: whole numbers have to be in range and spelled as such, as in JSON texts."""
    try:
        msgspec.convert(tree, _struct(type_name), dec_hook=_amount)
    except (msgspec.ValidationError, QuantityError, TypeError):
        _Check(exact).value(tree, type_name, type_name)


def known(tree: Any, code: str) -> Any:
    """A copy of the fields that the type has."""
    if code[0] == "*" and isinstance(tree, list):
        return [known(entry, code[1:]) for entry in tree]
    if code[0] == "%" and isinstance(tree, dict):
        return {key: known(part, code[1:]) for key, part in tree.items()}
    fields = _table().get(code)
    if fields is None or not isinstance(tree, dict):
        return tree
    return {field: known(tree[field], fields[field]) for field in tree if field in fields}


@cache
def _table() -> dict[str, dict[str, str]]:
    text = resources.files("karmada.interpreter").joinpath("types.txt").read_text("utf-8")
    lines = [line.split() for line in (text + _OTHERS).splitlines() if line and not line.startswith("#")]
    return {name: dict(field.split(":") for field in fields) for name, *fields in lines}


@cache
def _struct(name: str) -> Any:
    fields = _table()[name].items()
    return msgspec.defstruct(
        name.replace(".", "_"),
        [(f"f{index}", _type(code) | None, None) for index, (_, code) in enumerate(fields)],
        rename={f"f{index}": field for index, (field, _) in enumerate(fields)},
        gc=False,
    )


def _type(code: str) -> Any:
    if code[0] == "*":
        return types.GenericAlias(list, (_type(code[1:]) | None,))
    if code[0] == "%":
        return types.GenericAlias(dict, (str, _type(code[1:]) | None))
    if code in _LEAVES:
        return _LEAVES[code]
    return _struct(code) if code in _table() else dict[str, Any]


def _amount(type_: type, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(value)
    return _parsed(value)


_parsed = lru_cache(maxsize=4096)(Quantity.parse)


class _Check:
    """The same, slower, in the reference's own way with numbers, and with a message that names the field."""

    def __init__(self, exact: bool) -> None:
        self._exact = exact
        self._leaves: dict[str, Callable[[Any], bool]] = {
            "s": lambda value: isinstance(value, str),
            "b": lambda value: isinstance(value, bool),
            "i": lambda value: self._is_whole(value, _INT32),
            "l": lambda value: self._is_whole(value, _INT64),
            "q": _is_amount,
            "t": _is_time,
            "u": _is_time,
            "o": lambda value: isinstance(value, str) or _is_int(value, _INT32),
            "y": lambda value: isinstance(value, str),
            "a": lambda value: True,
        }

    def value(self, tree: Any, code: str, path: str) -> None:
        if tree is None:
            return
        if code[0] == "*" and isinstance(tree, list):
            for index, entry in enumerate(tree):
                self.value(entry, code[1:], f"{path}[{index}]")
        elif code[0] == "%" and isinstance(tree, dict):
            for key, part in tree.items():
                self.value(part, code[1:], f"{path}.{key}")
        elif code in self._leaves:
            if not self._leaves[code](tree):
                raise InterpretError(f"{path} is {tree!r}, which does not have the type of the field")
        elif isinstance(tree, dict) and code[0] not in "*%":
            fields = _table().get(code, {})
            for field, part in tree.items():
                if field in fields:
                    self.value(part, fields[field], f"{path}.{field}")
        else:
            raise InterpretError(f"{path} is {type(tree).__name__}, which is not the type of the field")

    def _is_whole(self, value: Any, bounds: tuple[int, int]) -> bool:
        if self._exact:
            return _is_int(value, bounds)
        return not isinstance(value, bool) and isinstance(value, int | float) and value == int(value)


def _is_int(value: Any, bounds: tuple[int, int]) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and bounds[0] <= value <= bounds[1]


def _is_amount(value: Any) -> bool:
    try:
        _amount(Quantity, value)
    except (TypeError, QuantityError):
        return False
    return True


def _is_time(value: Any) -> bool:
    try:
        msgspec.convert(value, _Time)
    except msgspec.ValidationError:
        return False
    return isinstance(value, str)
