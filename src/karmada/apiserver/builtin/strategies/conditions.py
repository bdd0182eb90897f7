"""Rules of conditions in a status: one per type, with a status, a reason and a time."""

import re
from typing import Any

from karmada.api.field_errors import duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, one_of, qualified_name, repeated

_REASON = re.compile("[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASON_RULE = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    "'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
    "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)


def conditions(field: str, given: list[dict[str, Any]]) -> Errors:
    """Every condition is complete, and each type comes once."""
    errors: Errors = []
    again = set(repeated(one.get("type") or "" for one in given))
    for index, condition in enumerate(given):
        place = f"{field}[{index}]"
        if index in again:
            errors.append(duplicate(f"{place}.type", condition.get("type") or ""))
        errors += _condition(place, condition)
    return errors


def _condition(place: str, condition: dict[str, Any]) -> Errors:
    errors = qualified_name(f"{place}.type", condition.get("type"))
    errors += one_of(f"{place}.status", condition.get("status") or "", ("False", "True", "Unknown"))
    seen = condition.get("observedGeneration") or 0
    if seen < 0:
        errors.append(invalid(f"{place}.observedGeneration", seen, "must be greater than or equal to zero"))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{place}.lastTransitionTime"))
    reason = condition.get("reason") or ""
    if not reason:
        errors.append(required(f"{place}.reason"))
    elif not _REASON.fullmatch(reason):
        errors.append(invalid(f"{place}.reason", reason, _REASON_RULE))
    return errors
