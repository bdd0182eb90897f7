"""Checks of the keywords of a structural schema that are about one value: type, format, enum, bounds, sizes."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from karmada.api.field_errors import quoted
from karmada.apiserver.redaction import REDACTED, holds_secret
from karmada.apiserver.schema.formats import format_check
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.schema.regexes import searcher

Path = str


class Finding(NamedTuple):
    """Something wrong at a path; `{}` in the detail stands for the full path."""

    path: Path
    reason: str
    shown: str
    detail: str


Check = Callable[[Any, Any], list[Finding] | None]
"""Called with a value and the old one there, `MISSING` when there is none to compare with."""

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
"""The classes of the values of each type."""


def type_name(value: Any) -> str:
    """What a value is called in type errors."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case None:
            return "null"
    return "object"


_SIZES = {"int32": 31, "int64": 63}


def _wrong_type(value: Any, wanted: str) -> list[Finding]:
    name = quoted(type_name(value))
    return [Finding("", "FieldValueTypeInvalid", name, f"{{}} in body must be of type {wanted}: {name}")]


def _wrong_format(value: Any, schema: Schema) -> list[Finding]:
    """What is said of a value of another type where there is a format: both by their formats."""
    name = quoted({int: "int64", float: "float64"}.get(type(value), ""))
    return [Finding("", "FieldValueTypeInvalid", name, f"{{}} in body must be of type {schema.format}: {name}")]


def typed(schema: Schema) -> Check:
    """A value of the schema's type and format."""
    wanted = schema.type
    classes = TYPES[wanted]
    check_format = format_check(schema.format) if wanted == "string" else None
    size = _SIZES.get(schema.format) if wanted == "integer" else None

    def run(value: Any, old: Any) -> list[Finding] | None:
        kind: type = value.__class__
        if kind not in classes:
            if wanted == "integer" and kind is float and value.is_integer():
                return None
            has_format = check_format is not None or size is not None
            by_format = has_format and not isinstance(value, str | list | dict)
            return _wrong_format(value, schema) if by_format else _wrong_type(value, wanted)
        if check_format is not None and not check_format(value):
            text = shown(value)
            return [Finding("", "FieldValueTypeInvalid", text, f"{{}} in body must be of type {schema.format}: {text}")]
        if size is not None and not -(1 << size) <= value < 1 << size:
            detail = f"Checked value must be of type integer with format {schema.format} in {{}}"
            return [Finding("", "FieldValueInvalid", quoted(value), detail)]
        return None

    return run


def int_or_string(value: Any, old: Any) -> list[Finding] | None:
    """A number or a text."""
    if value.__class__ in (int, str) or (value.__class__ is float and value.is_integer()):
        return None
    return _wrong_type(value, "integer,string")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e21 else repr(value)


def _simple(wrong: Callable[[Any], bool], *kinds: type, detail: str) -> Check:
    """A check of values of some classes whose complaint quotes the value."""

    def run(value: Any, old: Any) -> list[Finding] | None:
        if type(value) in kinds and wrong(value):
            return [Finding("", "FieldValueInvalid", shown(value), f"{{}} in body {detail}")]
        return None

    return run


def shown(value: Any) -> str:
    """A value as complaints quote it; secrets are not."""
    return quoted(REDACTED if holds_secret(value) else value)


def _too_many(kind: type[list[Any]] | type[dict[str, Any]], limit: int) -> Check:
    def run(value: Any, old: Any) -> list[Finding] | None:
        size = len(value) if isinstance(value, kind) else 0
        if size > limit:
            detail = f"Too many: {size}: must have at most {limit} item{'' if limit == 1 else 's'}"
            return [Finding("", "FieldValueTooMany", "", detail)]
        return None

    return run


def _too_few(kind: type[list[Any]] | type[dict[str, Any]], least: int, what: str) -> Check:
    """The complaint shows how many there are, not what they are."""

    def run(value: Any, old: Any) -> list[Finding] | None:
        if isinstance(value, kind) and len(value) < least:
            detail = f"{{}} in body should have at least {least} {what}"
            return [Finding("", "FieldValueInvalid", str(len(value)), detail)]
        return None

    return run


def value_checks(rules: dict[str, Any]) -> list[Check]:
    """Checks of the keywords about one value."""
    checks: list[Check] = []
    if "enum" in rules:
        checks.append(_enum(rules["enum"]))
    if (pattern := rules.get("pattern")) is not None:
        found = searcher(pattern)
        checks.append(_simple(lambda text: not found(text), str, detail=f"should match '{pattern}'"))
    if (limit := rules.get("maxLength")) is not None:
        checks.append(_too_long(limit))
    if (minimum := rules.get("minLength")) is not None:
        checks.append(_simple(lambda text: len(text) < minimum, str, detail=f"should be at least {minimum} chars long"))
    checks += _bounds(rules)
    if (limit := rules.get("maxItems")) is not None:
        checks.append(_too_many(list, limit))
    if (fewest := rules.get("minItems")) is not None:
        checks.append(_too_few(list, fewest, "items"))
    if (limit := rules.get("maxProperties")) is not None:
        checks.append(_too_many(dict, limit))
    if (least := rules.get("minProperties")) is not None:
        checks.append(_too_few(dict, least, "properties"))
    return checks


def _bounds(rules: dict[str, Any]) -> list[Check]:
    checks: list[Check] = []
    if (maximum := rules.get("maximum")) is not None:
        if rules.get("exclusiveMaximum"):
            checks.append(_simple(lambda n: n >= maximum, int, float, detail=f"should be less than {_number(maximum)}"))
        else:
            detail = f"should be less than or equal to {_number(maximum)}"
            checks.append(_simple(lambda n: n > maximum, int, float, detail=detail))
    if (minimum := rules.get("minimum")) is not None:
        if rules.get("exclusiveMinimum"):
            detail = f"should be greater than {_number(minimum)}"
            checks.append(_simple(lambda n: n <= minimum, int, float, detail=detail))
        else:
            detail = f"should be greater than or equal to {_number(minimum)}"
            checks.append(_simple(lambda n: n < minimum, int, float, detail=detail))
    if (factor := rules.get("multipleOf")) is not None:
        checks.append(_multiple(factor))
    return checks


_ROUNDING = 1e-9
"""How far a quotient may be from a whole number, relative to its size: 0.3 is three times 0.1."""


def _multiple(factor: float) -> Check:
    if factor <= 0:
        return _no_factor(factor)

    def wrong(number: float) -> bool:
        if number.__class__ is int and factor == int(factor):
            return number % factor != 0
        quotient = number / factor
        return not math.isfinite(quotient) or abs(quotient - round(quotient)) > _ROUNDING * max(1.0, abs(quotient))

    return _simple(wrong, int, float, detail=f"should be a multiple of {_number(factor)}")


def _no_factor(factor: float) -> Check:
    detail = f"factor MultipleOf declared for {{}} must be positive: {_number(factor)}"

    def run(value: Any, old: Any) -> list[Finding] | None:
        return [Finding("", "FieldValueInvalid", shown(factor), detail)] if type(value) in (int, float) else None

    return run


def _enum(allowed: list[Any]) -> Check:
    listed = ", ".join(quoted(choice) if isinstance(choice, str) else f'"{quoted(choice)}"' for choice in allowed)

    texts = frozenset(choice for choice in allowed if isinstance(choice, str))

    def run(value: Any, old: Any) -> list[Finding] | None:
        if value.__class__ is str and value in texts:
            return None
        if any(value == choice and (value.__class__ is bool) == (choice.__class__ is bool) for choice in allowed):
            return None
        return [Finding("", "FieldValueNotSupported", shown(value), f"supported values: {listed}")]

    return run


def _too_long(limit: int) -> Check:
    def run(value: Any, old: Any) -> list[Finding] | None:
        if value.__class__ is str and len(value) > limit:
            return [Finding("", "FieldValueTooLong", "", f"Too long: may not be more than {limit} bytes")]
        return None

    return run
