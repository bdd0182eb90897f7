"""Field checks as data: a table says which fields an object has and what their values must satisfy.

A check takes the path of a value and the value, None where it is absent, and returns what is wrong with it. Rows are
judged in their order, and complaints come in that order. Rules between fields are checks of the whole object.
"""

from collections.abc import Callable
from typing import Any

from karmada.api.field_errors import FieldError, duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import IMMUTABLE, Errors, JSONObject, Validate, unsupported

Check = Callable[[str, Any], Errors]
Row = tuple[str, Check] | Check
"""Fields with the check of each: names apart by spaces, steps of a path by dots. Or a check of the whole object."""


def fields(*rows: Row) -> Check:
    """An object, where an absent one is empty."""
    plan = [
        # Most fields are absent most of the time: checks that have nothing against that are not called then.
        (name, tuple(name.split(".")) if "." in name else None, bool(name) and not check(name, None), check)
        for names, check in (row if isinstance(row, tuple) else ("", row) for row in rows)
        for name in names.split() or ("",)
    ]

    def check_fields(path: str, value: Any) -> Errors:
        value = value or {}
        prefix = f"{path}." if path else ""
        errors: Errors = []
        for name, steps, may_be_absent, check in plan:
            found = value.get(name) if steps is None else value_below(value, steps)
            if found is not None or not may_be_absent:
                errors += check(prefix + name, found) if name else check(path, value)
        return errors

    return check_fields


def value_below(obj: JSONObject, steps: tuple[str, ...]) -> Any:
    """What is at the end of a path, or None."""
    value: Any = obj
    for step in steps:
        value = (value or {}).get(step)
    return value


def each(check: Check, unique: str = "") -> Check:
    """The items of a list; each `unique` field that has a value comes once."""

    def check_items(path: str, value: Any) -> Errors:
        errors: Errors = []
        seen: set[Any] = set()
        for index, item in enumerate(value or ()):
            errors += check(f"{path}[{index}]", item)
            if unique and (key := item.get(unique)):
                if key in seen:
                    errors.append(duplicate(f"{path}[{index}].{unique}", key))
                seen.add(key)
        return errors

    return check_items


def optional(check: Check) -> Check:
    """A value that may be absent."""
    return lambda path, value: [] if value is None else check(path, value)


def filled(check: Check) -> Check:
    """A value that may be absent or empty."""
    return lambda path, value: check(path, value) if value else []


def _anything(path: str, value: Any) -> Errors:
    return []


def needed(check: Check = _anything, text: str = "") -> Check:
    """A value that is neither absent nor empty."""
    return lambda path, value: check(path, value) if value else [required(path, text)]


def given(check: Check = _anything, text: str = "") -> Check:
    """A value that is not absent."""
    return lambda path, value: [required(path, text)] if value is None else check(path, value)


def having(field: str, check: Check | None = None) -> Check:
    """An object that may be absent, but needs a field otherwise."""
    return optional(fields((field, check or needed())))


def or_zero(check: Check) -> Check:
    """A number, where an absent one is zero."""
    return lambda path, value: check(path, value or 0)


def every(*checks: Check) -> Check:
    """A value that satisfies all checks."""
    return lambda path, value: [error for check in checks for error in check(path, value)]


def choice(*choices: str) -> Check:
    """One of some words, which complaints list in this order."""
    return lambda path, value: [] if value in choices else [unsupported(path, value or "", choices)]


def within(low: int, high: int, text: str) -> Check:
    """A number in a range, where there is one."""
    return lambda path, value: [] if value is None or low <= value <= high else [invalid(path, value, text)]


def named(rule: Callable[[str], list[str]]) -> Check:
    """A name by a rule that lists what is wrong with it."""
    return lambda path, value: [invalid(path, value, problem) for problem in rule(value)]


def too_long(path: str, most: int) -> FieldError:
    """The complaint about more bytes than allowed."""
    return FieldError("FieldValueTooLong", path, f"Too long: may not be more than {most} bytes")


def validated(*rows: Row, fixed: str = "") -> Validate:
    """The validation of a kind by a table; an update may not change `fixed` fields, which are apart by spaces.

    A colon marks a text that is empty where it is absent.
    """
    check = fields(*rows)
    kept = [(path.rstrip(":"), tuple(path.rstrip(":").split(".")), ":" in path) for path in fixed.split()]

    def validate(obj: JSONObject, old: JSONObject | None) -> Errors:
        errors = check("", obj)
        if old is not None:
            for path, steps, text in kept:
                if (new := value_below(obj, steps)) != value_below(old, steps):
                    errors.append(invalid(path, "" if text and new is None else new, IMMUTABLE))
        return errors

    return validate
