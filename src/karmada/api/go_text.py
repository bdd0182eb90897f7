"""How Go prints values, for texts that other programs compare byte by byte."""

from math import isinf, isnan
from typing import Any


def format_value(value: Any) -> str:
    """Decoded JSON as `%v` prints it: `map[a:1 b:[x y] c:<nil>]`."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return format_float(value)
        case dict():
            return f"map[{' '.join(f'{key}:{format_value(value[key])}' for key in sorted(value))}]"
        case list() | tuple():
            return f"[{' '.join(map(format_value, value))}]"
    return str(value)


def escape_html(json: str) -> str:
    """JSON text as Go's encoder writes it, safe inside HTML."""
    for character in "<>&\u2028\u2029":
        json = json.replace(character, f"\\u{ord(character):04x}")
    return json


def type_name(value: Any) -> str:
    """The Go type that decoded JSON has, for messages about a wrong one."""
    match value:
        case None:
            return "%!s(<nil>)"
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case dict():
            return "map[string]interface {}"
        case list() | tuple():
            return "[]interface {}"
    return "string"


def format_float(number: float) -> str:
    """As `%v` prints it: the shortest digits that read back the same, scientific from a million on and below 0.0001."""
    if isnan(number):
        return "NaN"
    if isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    if number == 0:
        return "-0" if str(number).startswith("-") else "0"
    digits, exponent = _shortest(number)
    sign = "-" if number < 0 else ""
    if exponent < -4 or exponent >= 6:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{sign}{whole}.{fraction}" if fraction else sign + whole


def _shortest(number: float) -> tuple[str, int]:
    """Significant digits without trailing zeros, and the power of ten of the first."""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    return digits.rstrip("0"), int(exponent or 0) + len(whole) - 1 - leading
