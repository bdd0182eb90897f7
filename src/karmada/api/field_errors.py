"""Why a field of an object is not acceptable, in the words Kubernetes uses for it.

`str(error)` is the line kubectl prints; `reason`, `field` and `message` are the parts of a Status cause.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson

from karmada.api.go_text import escape_html


class FieldError(NamedTuple):
    """One complaint about one field."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, _joined(f"Invalid value: {quoted(value)}", detail))


def required(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, _joined("Required value", detail))


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, _joined("Forbidden", detail))


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, f"Duplicate value: {quoted(value)}")


def too_many(field: str, found: int, most: int) -> FieldError:
    return FieldError("FieldValueTooMany", field, f"Too many: {found}: must have at most {most} items")


def not_found(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", field, f"Not found: {quoted(value)}")


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    choices = ", ".join(quoted(choice) for choice in sorted(supported))
    detail = f"supported values: {choices}" if choices else ""
    return FieldError("FieldValueNotSupported", field, _joined(f"Unsupported value: {quoted(value)}", detail))


def aggregate(errors: Iterable[FieldError]) -> str:
    """One line for all: alone as it is, several in brackets, repetitions once."""
    # The same complaint may quote all of a list for every item of it: it is spelled once.
    lines = list(dict.fromkeys(str(error) for error in dict.fromkeys(errors)))
    return lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"


def quoted(value: Any) -> str:
    """A value inside a message: strings in quotes, numbers and booleans bare, the rest as JSON."""
    text = orjson.dumps(value).decode()
    return escape_html(text) if isinstance(value, dict | list) else text


def _joined(message: str, detail: str) -> str:
    return f"{message}: {detail}" if detail else message
