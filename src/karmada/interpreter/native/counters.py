"""Numbers that are added up over members, and when a template counts as observed."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from karmada.api import annotations
from karmada.interpreter.model import InterpretError, JSONObject
from karmada.interpreter.shape import View, ensure, mapping, text


class Observed(View, frozen=True, kw_only=True):
    """Generations in the status a member reports."""

    generation: int = 0
    observed_generation: int = 0
    resource_template_generation: int = 0


def total(statuses: Iterable[View], *fields: str) -> dict[str, int]:
    """Sums by wire name."""
    seen = list(statuses)
    return {_wire(field): int32(sum([getattr(status, field) for status in seen])) for field in fields}


def write_counters(template: JSONObject, counters: Mapping[str, int], always: Sequence[str] = ()) -> JSONObject:
    """Put numbers into a template's status; zeros are left out unless the kind always has them."""
    if template.get("status") is None:
        template["status"] = {}
    status = ensure(template, "status")
    for name, value in counters.items():
        if value or name in always:
            status[name] = value
        else:
            status.pop(name, None)
    return template


def observed_generation(old: int, template_generation: int, members: int, statuses: Iterable[Observed]) -> int:
    """The template's generation once every member runs it, else what was observed before."""
    current = sum(
        status.observed_generation >= status.generation and status.resource_template_generation >= template_generation
        for status in statuses
    )
    return template_generation if current == members else old


def generations(observed: JSONObject) -> dict[str, int]:
    """What a member's object says about generations: its own, and that of the template it was made from."""
    metadata = mapping(observed, "metadata") or {}
    generation = metadata.get("generation")
    marks = mapping(metadata, "annotations") or {}
    return nonzero(
        {
            "generation": generation if isinstance(generation, int) else 0,
            "resourceTemplateGeneration": _number(text(marks, annotations.TEMPLATE_GENERATION)),
        }
    )


def nonzero(counters: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in counters.items() if value}


def _number(digits: str) -> int:
    try:
        if digits.strip() == digits and "_" not in digits:
            return int(digits)
    except ValueError:
        pass
    raise InterpretError(f'annotation {annotations.TEMPLATE_GENERATION} is "{digits}", not a whole number')


def int32(number: int) -> int:
    """A counter of 32 bits, as the reference's fields are."""
    return (number + 2**31) % 2**32 - 2**31


@cache
def _wire(field: str) -> str:
    head, *rest = field.split("_")
    return head + "".join(part.title() for part in rest)
