"""Scalars of the built-in kinds: canonical quantities and times, and the words for a value of the wrong type."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from karmada.api.quantity import WRONG_FORMAT, Quantity, QuantityError


class Mismatch(Exception):
    """A value that does not fit its field; `str()` is the sentence that decoders of the API print."""

    def __init__(self, found: str, wanted: str) -> None:
        super().__init__()
        self._found = found
        self._wanted = wanted
        self._struct = ""
        self._path = ""
        self._reason = ""

    @classmethod
    def because(cls, reason: str) -> "Mismatch":
        """A value of the right type with impossible contents."""
        mismatch = cls("", "")
        mismatch._reason = reason
        return mismatch

    def locate(self, struct: str, key: str) -> None:
        """Add the field of an enclosing object, innermost first."""
        self._struct = self._struct or struct
        self._path = f"{key}.{self._path}" if self._path else key

    def __str__(self) -> str:
        if self._reason:
            return self._reason
        place = f"Go struct field {self._struct}.{self._path}" if self._struct else "Go value"
        return f"json: cannot unmarshal {self._found} into {place} of type {self._wanted}"


def described(value: Any) -> str:
    """What a JSON value is called in messages."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case None:
            return "null"
    return "object"


def quantity(value: Any) -> str:
    """The canonical spelling of a quantity given as text or number."""
    if value is None:
        return "0"
    text = value if value.__class__ is str else str(value)
    if value.__class__ not in (str, int, float):
        raise Mismatch.because(WRONG_FORMAT)
    return _canonical_quantity(text)


@lru_cache(maxsize=2048)
def _canonical_quantity(text: str) -> str:
    try:
        return str(Quantity.parse(text))
    except QuantityError as error:
        raise Mismatch.because(error.reason) from None


_WHOLE_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
_MICROS = re.compile(r"\.\d{6}", re.ASCII)
_FINER = re.compile(_SECONDS.pattern + r"\.\d{6}(?=\d)", re.ASCII)
_MICROSECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


def _instant(value: Any, layout: str) -> datetime:
    if value.__class__ is not str:
        raise Mismatch(described(value), "string")
    try:
        parsed = datetime.fromisoformat(value)
        if parsed.tzinfo is None or "T" not in value:
            raise ValueError(value)
        return parsed.astimezone(UTC)
    except ValueError:
        raise _unparsed(value, layout, value, layout[:4]) from None


def time(value: Any) -> str | None:
    """A timestamp in UTC with whole seconds."""
    if value.__class__ is str and _WHOLE_SECONDS.fullmatch(value):
        _instant(value, "2006-01-02T15:04:05Z07:00")
        return str(value)
    if value is None:
        return None
    return _instant(value, "2006-01-02T15:04:05Z07:00").strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(value: Any) -> str | None:
    """A timestamp in UTC with microseconds, which must be given."""
    if value is None:
        return None
    layout = "2006-01-02T15:04:05.000000Z07:00"
    if value.__class__ is str and (seconds := _SECONDS.match(value)) and not _MICROS.match(value, seconds.end()):
        raise _unparsed(value, layout, value[seconds.end() :], ".000000")
    instant = _instant(value, layout)
    if _MICROSECONDS.fullmatch(value):
        return str(value)
    if rest := _FINER.match(value):
        raise _unparsed(value, layout, value[rest.end() :], "Z07:00")
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _unparsed(value: str, layout: str, rest: str, part: str) -> Mismatch:
    return Mismatch.because(f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{part}"')
