"""What a plain YAML scalar means to Kubernetes: the rules of its Go library, a mixture of YAML 1.1 and 1.2.

`yes`, `no`, `on`, `off`, `y` and `n` are booleans; `0o14` and `014` are 12; underscores in numbers are ignored; dates
and base-60 numbers are strings. Whole floats are integers, as they are after the trip through JSON that every manifest
makes.
"""

import re
from math import inf, isfinite, nan
from typing import Any

TRUE = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
FALSE = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
NULL = frozenset(("", "~", "null", "Null", "NULL"))
MERGE = "<<"
"""As a key: the value's members belong to this map."""
_NOT_FINITE = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -inf),
}
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})"
    r"| [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?)?",
    re.ASCII,
)
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?", re.ASCII)
_MAX_DIGITS = 400


def resolve(text: str) -> Any:
    """The value of a plain scalar; text that stands for nothing else is itself."""
    if not text:
        return None
    first = text[0]
    if first not in "0123456789+-.~yYnNtTfFoO":
        return text
    if text in TRUE:
        return True
    if text in FALSE:
        return False
    if text in NULL:
        return None
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    if first in "0123456789+-." and len(text) <= _MAX_DIGITS:
        number = _number(text)
        if number is not None:
            return number
    return text


def needs_quotes(text: str) -> bool:
    """Whether a string would mean something else if it were written plainly."""
    return not isinstance(resolve(text), str) or bool(_TIMESTAMP.fullmatch(text) or _BASE_60.fullmatch(text))


def _number(text: str) -> int | float | None:
    # A leading dot makes a float, in which underscores are not ignored.
    plain = text if text[0] == "." else text.replace("_", "")
    if _INTEGER.fullmatch(plain):
        integer = _integer(plain)
        if -(2**63) <= integer < 2**64:
            return integer
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        return normal(number) if isfinite(number) else None
    return None


def _integer(text: str) -> int:
    digits = text.lstrip("+-").lower()
    if len(digits) > 1 and digits.isdigit() and digits[0] == "0":
        digits = f"0o{digits[1:]}"
    return -int(digits, 0) if text[0] == "-" else int(digits, 0)


def normal(number: float) -> int | float:
    """A whole float that a 64-bit integer can hold becomes one."""
    return int(number) if number.is_integer() and -(2**63) < number < 2**63 else number
