"""Durations as Go writes them (`1h30m0s`, `250ms`), exact to the nanosecond, and ages as kubectl shows them (`5d3h`).

A duration is a whole number of nanoseconds here; `seconds` is for callers that need no more.
"""

import re

NANOSECOND = 1
MICROSECOND = 1000 * NANOSECOND
MILLISECOND = 1000 * MICROSECOND
SECOND = 1000 * MILLISECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

_UNITS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "μs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_TERM = re.compile(r"(\d*)(?:\.(\d*))?([^\d.]*)", re.ASCII)
_LIMIT = 2**63


class DurationError(ValueError):
    """Text that is no duration; `text` is the offender."""

    def __init__(self, message: str, text: str) -> None:
        self.text = text
        super().__init__(message)


def parse(text: str) -> int:
    """Nanoseconds of a Go duration."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    if not rest:
        raise _invalid(text)
    total = 0
    position = 0
    while position < len(rest):
        term = _TERM.match(rest, position)
        if term is None or not (term.group(1) or term.group(2)):
            raise _invalid(text)
        whole, fraction, unit = term.group(1) or "0", term.group(2) or "", term.group(3)
        if not unit:
            raise DurationError(f'time: missing unit in duration "{text}"', text)
        if unit not in _UNITS:
            raise DurationError(f'time: unknown unit "{unit}" in duration "{text}"', text)
        if len(whole) > 19 or len(fraction) > 100:
            raise _invalid(text)
        total += int(whole) * _UNITS[unit] + int(fraction or "0") * _UNITS[unit] // 10 ** len(fraction)
        position = term.end()
    if total >= _LIMIT + (sign < 0):
        raise _invalid(text)
    return sign * total


def _invalid(text: str) -> DurationError:
    return DurationError(f'time: invalid duration "{text}"', text)


def spell(nanoseconds: int) -> str:
    """The way Go prints it: `1h0m0s`, `1.5s`, `0s`."""
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest == 0:
        return "0s"
    for unit, size in (("ns", NANOSECOND), ("µs", MICROSECOND), ("ms", MILLISECOND)):
        if rest < size * 1000:
            return f"{sign}{_decimal(rest, size)}{unit}"
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    spelled = f"{_decimal(rest, SECOND)}s"
    if hours or minutes:
        spelled = f"{minutes}m{spelled}"
    if hours:
        spelled = f"{hours}h{spelled}"
    return sign + spelled


def _decimal(number: int, unit: int) -> str:
    whole, rest = divmod(number, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{str(rest).rjust(len(str(unit)) - 1, '0').rstrip('0')}"


def seconds(text: str) -> float:
    """Seconds of a Go duration."""
    return parse(text) / SECOND


def human(age: float) -> str:
    """An age in seconds as in kubectl's AGE columns: two units while that matters, one later."""
    whole = int(age)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    if days < 365 * 8:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
