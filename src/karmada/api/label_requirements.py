"""Requirements on labels, and selectors of them as a test of labels.

A `Selector` is immutable, validated when made, and all its requirements must hold; none means everything matches.
`NOTHING` is the selector of an absent LabelSelector. Errors keep Kubernetes' wording and carry the offending text.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from karmada.api import field_errors, name_rules
from karmada.api.field_errors import FieldError


class LabelSelectorError(ValueError):
    """A selector that makes no sense; `text` is the selector, or the part of it, that was given."""

    def __init__(self, message: str, text: str) -> None:
        self.text = text
        super().__init__(message)


class Operator(Enum):
    """How a requirement compares; the value is the spelling in the string form."""

    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = ">"
    LESS_THAN = "<"


_EXACT = (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS)
SETS = (Operator.IN, Operator.NOT_IN)
"""The operators that compare with any number of values."""
_WANTING = (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN)
_PRESENCE = (Operator.EXISTS, Operator.DOES_NOT_EXIST)
_ORDER = (Operator.GREATER_THAN, Operator.LESS_THAN)
STRUCT_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}
"""What requirements of a LabelSelector may say."""
FIELD_OPERATORS = {**STRUCT_OPERATORS, "Gt": Operator.GREATER_THAN, "Lt": Operator.LESS_THAN}
"""What requirements on fields of nodes and clusters may say."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One test of one label. Values are sorted and unique."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_EQUALS | Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
        number = _integer(value) if value is not None else None
        bound = _integer(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.GREATER_THAN else number < bound

    def __str__(self) -> str:
        if self.operator is Operator.EXISTS:
            return self.key
        if self.operator is Operator.DOES_NOT_EXIST:
            return f"!{self.key}"
        if self.operator in SETS:
            return f"{self.key} {self.operator.value} ({','.join(self.values)})"
        return f"{self.key}{self.operator.value}{self.values[0]}"


_FEW = 16
"""Requirements and values that are quicker to try one by one."""


class _ByKey:
    """Very many requirements, which cost a test no more than the labels that it looks at."""

    def __init__(self, requirements: Sequence[Requirement]) -> None:
        self._wanted: dict[str, set[str]] = {}
        self._unwanted: dict[str, set[str]] = {}
        self._present: set[str] = set()
        self._absent: set[str] = set()
        self._bounds: dict[str, list[Requirement]] = {}
        for requirement in requirements:
            key, values = requirement.key, requirement.values
            match requirement.operator:
                case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.IN:
                    self._wanted[key] = self._wanted[key].intersection(values) if key in self._wanted else set(values)
                case Operator.NOT_EQUALS | Operator.NOT_IN:
                    self._unwanted.setdefault(key, set()).update(values)
                case Operator.EXISTS:
                    self._present.add(key)
                case Operator.DOES_NOT_EXIST:
                    self._absent.add(key)
                case _:
                    self._bounds.setdefault(key, []).append(requirement)
        for key, bounds in self._bounds.items():
            self._bounds[key] = _strictest(bounds)
        self._present |= self._wanted.keys() | self._bounds.keys()

    def matches(self, labels: Mapping[str, str]) -> bool:
        if len(self._present) > len(labels) or not all(key in labels for key in self._present):
            return False
        for key, value in labels.items():
            if key in self._absent or value in self._unwanted.get(key, ()):
                return False
            if key in self._wanted and value not in self._wanted[key]:
                return False
            if key in self._bounds and not all(bound.matches(labels) for bound in self._bounds[key]):
                return False
        return True


def _strictest(bounds: list[Requirement]) -> list[Requirement]:
    """Of several bounds of a label, the ones that imply the others; a bound that is no number never holds."""
    broken = [bound for bound in bounds if _integer(bound.values[0]) is None]
    if broken:
        return broken[:1]
    ordered = sorted(bounds, key=lambda bound: _integer(bound.values[0]) or 0)
    lower = [bound for bound in ordered if bound.operator is Operator.GREATER_THAN]
    upper = [bound for bound in ordered if bound.operator is Operator.LESS_THAN]
    return [*lower[-1:], *upper[:1]]


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements sorted by key; `matches_nothing` overrules them."""

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False
    by_key: "_ByKey | None" = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        size = len(self.requirements)
        for requirement in self.requirements:
            size += len(requirement.values)
        if size > _FEW:
            object.__setattr__(self, "by_key", _ByKey(self.requirements))

    def matches(self, labels: Mapping[str, str]) -> bool:
        if self.matches_nothing:
            return False
        if self.by_key is not None:
            return self.by_key.matches(labels)
        return all(requirement.matches(labels) for requirement in self.requirements)

    @property
    def matches_everything(self) -> bool:
        return not self.requirements and not self.matches_nothing

    def required_label(self) -> tuple[str, str] | None:
        """A label that everything has that matches, if the requirements name one: lets a caller use an index."""
        for requirement in self.requirements:
            if requirement.operator in _WANTING and len(requirement.values) == 1:
                return requirement.key, requirement.values[0]
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING = Selector()
NOTHING = Selector(matches_nothing=True)


def selector_of(requirements: Iterable[Requirement]) -> Selector:
    """All of some requirements."""
    ordered = tuple(sorted(requirements, key=lambda requirement: requirement.key))
    return Selector(ordered) if ordered else EVERYTHING


def requirement_of(key: str, operator: Operator, values: Iterable[str]) -> Requirement:
    """A requirement of valid parts; raises `LabelSelectorError`."""
    given = tuple(sorted(set(values)))
    errors = key_errors(key, "key")
    if operator in SETS and not given:
        why = "for 'in', 'notin' operators, values set can't be empty"
        errors.append(field_errors.invalid("values", [], why))
    if operator in _EXACT and len(given) != 1:
        errors.append(field_errors.invalid("values", given, "exact-match compatibility requires one single value"))
    if operator in _PRESENCE and given:
        why = "values set must be empty for exists and does not exist"
        errors.append(field_errors.invalid("values", given, why))
    if operator in _ORDER:
        if len(given) != 1:
            why = "for 'Gt', 'Lt' operators, exactly one value is required"
            errors.append(field_errors.invalid("values", given, why))
        why = "for 'Gt', 'Lt' operators, the value must be an integer"
        bad = [(index, value) for index, value in enumerate(given) if _integer(value) is None]
        errors += [field_errors.invalid(f"values[{index}]", value, why) for index, value in bad]
    for index, value in enumerate(given):
        if problems := name_rules.label_value(value):
            errors.append(field_errors.invalid(f"values[{index}][{key}]", value, "; ".join(problems)))
    if errors:
        raise LabelSelectorError(field_errors.aggregate(errors), key)
    return Requirement(key, operator, given)


def key_errors(key: str, path: str) -> list[FieldError]:
    """What is wrong with the key of a label."""
    problems = name_rules.label_key(key)
    return [field_errors.invalid(path, key, "; ".join(problems))] if problems else []


def _integer(text: str) -> int | None:
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", text, re.ASCII):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
