"""Label selectors from LabelSelector objects, as structs or decoded JSON, and from their string form."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from karmada.api import field_errors, name_rules
from karmada.api.caching import LONGEST, Same, text_cache, weighed_cache
from karmada.api.field_errors import FieldError
from karmada.api.label_requirements import EVERYTHING as EVERYTHING
from karmada.api.label_requirements import FIELD_OPERATORS as FIELD_OPERATORS
from karmada.api.label_requirements import NOTHING as NOTHING
from karmada.api.label_requirements import STRUCT_OPERATORS, Requirement, requirement_of, selector_of
from karmada.api.label_requirements import LabelSelectorError as LabelSelectorError
from karmada.api.label_requirements import Operator as Operator
from karmada.api.label_requirements import Selector as Selector
from karmada.api.label_selector_text import Parser

_FEW, _MANY = 16, 64
"""Terms of a selector, and values of one, that are quicker to look at anew each time."""


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
    return selector_of(Requirement(key, Operator.EQUALS, (value,)) for key, value in labels.items())


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
    terms = selector.match_expressions
    if len(terms) > _FEW or any(len(term.values) > _MANY for term in terms):
        return _prepared(Same(terms)).matches(labels)
    return all(holds(term, labels, STRUCT_OPERATORS) for term in terms)


_Terms = Sequence[RequirementLike]


def size(selector: LabelSelectorLike) -> int:
    """Labels, expressions and their values: what a selector takes to be read, and at most to be compared."""
    return len(selector.match_labels) + _size(selector.match_expressions)


def _size(terms: _Terms) -> int:
    return sum(1 + len(term.values) for term in terms)


def _weight(prepared: Selector, terms: Same[_Terms]) -> int:
    return _size(terms.value)


@weighed_cache(1_000_000, _weight)
def _prepared(terms: Same[_Terms]) -> Selector:
    """A test of labels that costs no more for many terms and values than for few."""
    found = []
    for term in terms.value:
        operator = STRUCT_OPERATORS.get(term.operator)
        requirement = _compile(term.key, operator, tuple(term.values)) if operator is not None else None
        if requirement is None:
            return NOTHING
        found.append(requirement)
    return selector_of(found)


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
        return requirement_of(key, operator, values)
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
    names = {operator: name for name, operator in STRUCT_OPERATORS.items()}
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


@text_cache(1024)
def parse(text: str) -> Selector:
    """Read the string form: `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5`."""
    return selector_of(Parser(text).requirements())


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
    given = expect(dict, fields.get("matchLabels"), "matchLabels")
    labels = {key: expect(str, value, f"matchLabels[{key}]") for key, value in given.items()}
    expressions = []
    for item in expect(list, fields.get("matchExpressions"), "matchExpressions"):
        term = expect(dict, item, "an item of matchExpressions")
        values = tuple(expect(str, value, "a value") for value in expect(list, term.get("values"), "values"))
        key, operator = (expect(str, term.get(name), name) for name in ("key", "operator"))
        expressions.append((key, operator, values))
    return labels, expressions


def _from_parts(labels: Mapping[str, str], expressions: Iterable[tuple[str, str, tuple[str, ...]]]) -> Selector:
    requirements = [requirement_of(key, Operator.EQUALS, (value,)) for key, value in labels.items()]
    for key, name, values in expressions:
        if name not in STRUCT_OPERATORS:
            raise LabelSelectorError(f'"{name}" is not a valid label selector operator', name)
        requirements.append(requirement_of(key, STRUCT_OPERATORS[name], values))
    return selector_of(requirements)
