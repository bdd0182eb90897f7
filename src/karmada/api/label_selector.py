"""Label selectors: from their string form, from LabelSelector objects, and as a test of labels.

A `Selector` is immutable, validated when made, and all its requirements must hold; none means everything matches.
`NOTHING` is the selector of an absent LabelSelector. Errors keep Kubernetes' wording and carry the offending text.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any, Protocol

from karmada.api import field_errors, name_rules
from karmada.api.caching import LONGEST, text_cache
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
_SETS = (Operator.IN, Operator.NOT_IN)
_PRESENCE = (Operator.EXISTS, Operator.DOES_NOT_EXIST)
_ORDER = (Operator.GREATER_THAN, Operator.LESS_THAN)
_STRUCT_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}
FIELD_OPERATORS = {**_STRUCT_OPERATORS, "Gt": Operator.GREATER_THAN, "Lt": Operator.LESS_THAN}
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
        if self.operator in _SETS:
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

    def required_value(self, key: str) -> str | None:
        """The one value of the label that can match, where there is only one: lets a caller use an index."""
        for requirement in self.requirements:
            if requirement.key == key and requirement.operator in (
                Operator.EQUALS,
                Operator.DOUBLE_EQUALS,
                Operator.IN,
            ):
                return requirement.values[0] if len(requirement.values) == 1 else None
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING = Selector()
NOTHING = Selector(matches_nothing=True)


class RequirementLike(Protocol):
    """A LabelSelectorRequirement struct."""

    @property
    def key(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def values(self) -> Sequence[str]: ...


class LabelSelectorLike(Protocol):
    """A LabelSelector struct."""

    @property
    def match_labels(self) -> Mapping[str, str]: ...
    @property
    def match_expressions(self) -> Sequence[RequirementLike]: ...


def from_labels(labels: Mapping[str, str]) -> Selector:
    """Match exactly these labels. The labels are taken to be valid."""
    return _selector(Requirement(key, Operator.EQUALS, (value,)) for key, value in labels.items())


def from_struct(selector: LabelSelectorLike | None) -> Selector:
    """From a LabelSelector struct; an absent one selects nothing, an empty one everything."""
    if selector is None:
        return NOTHING
    expressions = [(term.key, term.operator, tuple(term.values)) for term in selector.match_expressions]
    return _from_parts(selector.match_labels, expressions)


def matches(selector: LabelSelectorLike, labels: Mapping[str, str]) -> bool:
    """Test labels with a LabelSelector struct directly; a term that makes no sense never holds."""
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return False
    return all(holds(term, labels, _STRUCT_OPERATORS) for term in selector.match_expressions)


def holds(term: RequirementLike, labels: Mapping[str, str], operators: Mapping[str, Operator]) -> bool:
    """Whether one term of a struct holds; one with another operator or with values that do not fit it never does."""
    operator = operators.get(term.operator)
    if operator is None:
        return False
    values = tuple(term.values)
    is_short = len(term.key) + sum(map(len, values)) <= LONGEST
    requirement = (_compiled if is_short else _compile)(term.key, operator, values)
    return requirement is not None and requirement.matches(labels)


def _compile(key: str, operator: Operator, values: tuple[str, ...]) -> Requirement | None:
    try:
        return _requirement(key, operator, values)
    except LabelSelectorError:
        return None


_compiled = lru_cache(maxsize=4096)(_compile)
"""Only short terms are kept, so that their memory is bounded."""


def from_json(selector: Any) -> Selector:
    """From a LabelSelector as decoded JSON; null selects nothing, an empty object everything."""
    if selector is None:
        return NOTHING
    labels, expressions = _json_parts(selector)
    return _from_parts(labels, expressions)


def to_json(selector: Selector) -> dict[str, Any]:
    """The LabelSelector object that selects the same; refuses comparisons that it cannot express."""
    labels = {}
    expressions = []
    names = {operator: name for name, operator in _STRUCT_OPERATORS.items()}
    for requirement in selector.requirements:
        if requirement.operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS):
            labels[requirement.key] = requirement.values[0]
            continue
        operator = Operator.NOT_IN if requirement.operator is Operator.NOT_EQUALS else requirement.operator
        if operator not in names:
            raise LabelSelectorError(f'"{operator.value}" is not a valid label selector operator', str(requirement))
        expression: dict[str, Any] = {"key": requirement.key, "operator": names[operator]}
        if requirement.values:
            expression["values"] = list(requirement.values)
        expressions.append(expression)
    return {
        **({"matchLabels": labels} if labels else {}),
        **({"matchExpressions": expressions} if expressions else {}),
    }


def validate(selector: Any, path: str) -> list[FieldError]:
    """What is wrong with a LabelSelector given as decoded JSON, field by field, for admission."""
    if selector is None:
        return []
    labels, expressions = _json_parts(selector)
    errors = []
    for key, value in labels.items():
        errors += [field_errors.invalid(f"{path}.matchLabels", key, why) for why in name_rules.label_key(key)]
        errors += [field_errors.invalid(f"{path}.matchLabels", value, why) for why in name_rules.label_value(value)]
    for index, (key, operator, values) in enumerate(expressions):
        errors += _validate_expression(f"{path}.matchExpressions[{index}]", key, operator, values)
    return errors


@text_cache(4096)
def parse(text: str) -> Selector:
    """Read the string form: `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5`."""
    return _selector(_Parser(text).requirements())


def _validate_expression(path: str, key: str, operator: str, values: Sequence[str]) -> list[FieldError]:
    errors = []
    match operator:
        case "In" | "NotIn":
            if not values:
                why = "must be specified when `operator` is 'In' or 'NotIn'"
                errors.append(field_errors.required(f"{path}.values", why))
        case "Exists" | "DoesNotExist":
            if values:
                why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                errors.append(field_errors.forbidden(f"{path}.values", why))
        case _:
            errors.append(field_errors.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    errors += [field_errors.invalid(f"{path}.key", key, why) for why in name_rules.label_key(key)]
    for index, value in enumerate(values):
        why_not = name_rules.label_value(value)
        errors += [field_errors.invalid(f"{path}.values[{index}]", value, why) for why in why_not]
    return errors


def _json_parts(selector: Any) -> tuple[dict[str, str], list[tuple[str, str, tuple[str, ...]]]]:
    def expect(shape: type, value: Any, what: str) -> Any:
        if value is None:
            return shape()
        if not isinstance(value, shape):
            raise LabelSelectorError(f"{what} must be of type {shape.__name__}, not {value!r}", repr(value))
        return value

    fields = expect(dict, selector, "a label selector")
    labels = expect(dict, fields.get("matchLabels"), "matchLabels")
    for key, value in labels.items():
        expect(str, value, f"matchLabels[{key}]")
    expressions = []
    for item in expect(list, fields.get("matchExpressions"), "matchExpressions"):
        term = expect(dict, item, "an item of matchExpressions")
        values = tuple(expect(str, value, "a value") for value in expect(list, term.get("values"), "values"))
        key, operator = (expect(str, term.get(name), name) for name in ("key", "operator"))
        expressions.append((key, operator, values))
    return labels, expressions


def _from_parts(labels: Mapping[str, str], expressions: Iterable[tuple[str, str, tuple[str, ...]]]) -> Selector:
    requirements = [_requirement(key, Operator.EQUALS, (value,)) for key, value in labels.items()]
    for key, name, values in expressions:
        if name not in _STRUCT_OPERATORS:
            raise LabelSelectorError(f'"{name}" is not a valid label selector operator', name)
        requirements.append(_requirement(key, _STRUCT_OPERATORS[name], values))
    return _selector(requirements)


def _selector(requirements: Iterable[Requirement]) -> Selector:
    ordered = tuple(sorted(requirements, key=lambda requirement: requirement.key))
    return Selector(ordered) if ordered else EVERYTHING


def _requirement(key: str, operator: Operator, values: Iterable[str]) -> Requirement:
    given = tuple(sorted(set(values)))
    errors = _key_errors(key, "key")
    if operator in _SETS and not given:
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


def _key_errors(key: str, path: str) -> list[FieldError]:
    problems = name_rules.label_key(key)
    return [field_errors.invalid(path, key, "; ".join(problems))] if problems else []


def _integer(text: str) -> int | None:
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", text, re.ASCII):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^=!(),<> \t\r\n]+)|$)")
_SYMBOLS = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">"))
_BINARY = {
    operator.value: operator for operator in Operator if operator not in (Operator.EXISTS, Operator.DOES_NOT_EXIST)
}
_BINARY_NAMES = "in, notin, =, ==, !=, gt, lt"


class _Parser:
    """Recursive descent over tokens; an empty token ends the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [match.group(1) or match.group(2) or "" for match in _TOKEN.finditer(text)]
        if not self.tokens or self.tokens[-1]:
            self.tokens.append("")
        self.position = 0

    def peek(self) -> str:
        return self.tokens[min(self.position, len(self.tokens) - 1)]

    def take(self) -> str:
        token = self.peek()
        self.position += 1
        return token

    def error(self, message: str) -> LabelSelectorError:
        return LabelSelectorError(message, self.text)

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while self.peek():
            if self.peek() in _SYMBOLS and self.peek() != "!":
                raise self.error(f"found '{self.peek()}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self.requirement())
            except LabelSelectorError as error:
                raise self.error(f"unable to parse requirement: {error}") from error
            separator = self.take()
            if not separator:
                break
            if separator != ",":
                raise self.error(f"found '{separator}', expected: ',' or 'end of string'")
            if not self.peek() or (self.peek() in _SYMBOLS and self.peek() != "!"):
                raise self.error(f"found '{self.peek()}', expected: identifier after ','")
        return found

    def requirement(self) -> Requirement:
        absent = self.peek() == "!"
        if absent:
            self.take()
        key = self.take()
        if not key or key in _SYMBOLS:
            raise self.error(f"found '{key}', expected: identifier")
        # The API server has no field to name at this point, and says so.
        if errors := _key_errors(key, "<nil>"):
            raise self.error(field_errors.aggregate(errors))
        if absent or self.peek() in ("", ","):
            return _requirement(key, Operator.DOES_NOT_EXIST if absent else Operator.EXISTS, ())
        name = self.take()
        operator = _BINARY.get(name)
        if operator is None:
            raise self.error(f"found '{name}', expected: {_BINARY_NAMES}")
        values = self.value_set() if operator in _SETS else [self.value()]
        return _requirement(key, operator, values)

    def value(self) -> str:
        if self.peek() in ("", ","):
            return ""
        value = self.take()
        if value in _SYMBOLS:
            raise self.error(f"found '{value}', expected: identifier")
        return value

    def value_set(self) -> list[str]:
        opening = self.take()
        if opening != "(":
            raise self.error(f"found '{opening}' expected: '('")
        values = [""]
        while (token := self.take()) != ")":
            if token == ",":
                values.append("")
            elif not token or token in _SYMBOLS or values[-1]:
                first = "',', ')' or identifier" if len(values) == 1 else "',', or identifier"
                expected = "',' or ')'" if values[-1] else first
                raise self.error(f"found '{token}', expected: {expected}")
            else:
                values[-1] = token
        return values
