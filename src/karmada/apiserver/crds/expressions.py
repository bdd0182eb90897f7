"""Validation rules of custom kinds (`x-kubernetes-validations`), evaluated on objects; `rules` checks them beforehand.

A rule that mentions `oldSelf` compares with the value before an update and is not evaluated where there is none,
unless it takes an optional one. Other rules are not evaluated on values that did not change: a definition may become
stricter without locking the objects that exist.
"""

from functools import lru_cache
from typing import Any

from karmada.api.caching import weighed_cache
from karmada.api.field_errors import FieldError, forbidden, invalid, quoted, required
from karmada.apiserver import cel
from karmada.apiserver.cel.program import CHARACTERS, OVERHEAD
from karmada.apiserver.cel.syntax import Loop, Node, mentions
from karmada.apiserver.cel.types import BOOL, DYN
from karmada.apiserver.crds.declared import declared
from karmada.apiserver.crds.field_paths import steps
from karmada.apiserver.crds.seen import as_expressions_see, holds_times, source_of
from karmada.apiserver.redaction import REDACTED, holds_secret
from karmada.apiserver.schema.model import COMPILED, MISSING, Schema
from karmada.apiserver.schema.validation import join

JSONObject = dict[str, Any]
OLD = "oldSelf"
"""The variable with the value before an update."""
_READING = 256
"""Programs that are kept of schemas with times."""


def program(expression: str, optional: bool) -> cel.Program:
    """A compiled rule or message; `optional` for one that takes an optional old value."""
    return cel.compile(*_bound(expression, optional))


def _bound(expression: str, optional: bool) -> tuple[str, dict[str, str]]:
    if not optional:
        return expression, {"self": cel.DYN, "oldSelf": cel.DYN}
    wrapped = f"cel.bind(oldSelf, _hasOld ? optional.of(_old) : optional.none(), {expression})"
    return wrapped, {"self": cel.DYN, "_old": cel.DYN, "_hasOld": "bool"}


def _program_for(schema: Schema, expression: str, optional: bool) -> cel.Program:
    """The program that evaluates a rule on values of a schema."""
    return _reading(schema, expression, optional) if holds_times(schema) else program(expression, optional)


@lru_cache(maxsize=_READING)
def _reading(schema: Schema, expression: str, optional: bool) -> cel.Program:
    own = declared(source_of(schema), False) or DYN
    known = {"self": own, "oldSelf": own, "_old": own, "_hasOld": BOOL}
    return cel.compile_reading(*_bound(expression, optional), known)


def written(compiled: cel.Program, optional: bool) -> Node:
    """The expression as it was written, without what binds an optional old value."""
    node = compiled.syntax()
    return node.last if optional and isinstance(node, Loop) else node


@weighed_cache(CHARACTERS, lambda _, expression: len(expression) + OVERHEAD)
def _compares(expression: str) -> bool:
    """Whether a rule asks for the value before."""
    if OLD not in expression:
        return False
    try:
        return mentions(program(expression, False).syntax(), OLD)
    except cel.CompileError:
        return True


def validate(schema: Schema, obj: Any, old: Any) -> list[FieldError]:
    """The rules that an object, or an update of `old`, breaks."""
    return _validate(schema, obj, MISSING if old is None else old, "")


def _validate(schema: Schema, value: Any, old: Any, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    rules = schema.rules.get("x-kubernetes-validations")
    if rules and value is not None:
        errors += _evaluate(schema, rules, value, old, path)
    for name, child in _inner(schema):
        if value.__class__ is dict and name in value:
            before = old.get(name, MISSING) if old.__class__ is dict else MISSING
            errors += _validate(child, value[name], before, join(path, name) if path else name)
    if schema.additional is not None and value.__class__ is dict and _rules_inside(schema.additional):
        for name, item in value.items():
            before = old.get(name, MISSING) if old.__class__ is dict else MISSING
            errors += _validate(schema.additional, item, before, f"{path}[{name}]")
    if schema.items is not None and value.__class__ is list and _rules_inside(schema.items):
        previous = _by_key(schema, old)
        for index, item in enumerate(value):
            before = previous.get(_key(schema, item), MISSING)
            errors += _validate(schema.items, item, before, f"{path}[{index}]")
    return errors


@lru_cache(maxsize=COMPILED)
def _inner(schema: Schema) -> list[tuple[str, Schema]]:
    return [(name, child) for name, child in (schema.properties or {}).items() if _has_rules(child)]


def _has_rules(schema: Schema) -> bool:
    if schema.name:
        return False
    if schema.rules.get("x-kubernetes-validations"):
        return True
    children = [*(schema.properties or {}).values(), schema.items, schema.additional]
    return any(_has_rules(child) for child in children if child is not None)


@lru_cache(maxsize=COMPILED)
def _rules_inside(schema: Schema) -> bool:
    return _has_rules(schema)


def _key(schema: Schema, item: Any) -> Any:
    return tuple(item.get(key) for key in schema.list_keys) if item.__class__ is dict else None


def _by_key(schema: Schema, old: Any) -> dict[Any, Any]:
    if schema.list_type != "map" or old.__class__ is not list:
        return {}
    return {_key(schema, item): item for item in old}


def _evaluate(schema: Schema, rules: list[JSONObject], value: Any, old: Any, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    self = as_expressions_see(schema, value)
    for rule in rules:
        optional = bool(rule.get("optionalOldSelf"))
        present = old is not MISSING
        compares = optional or _compares(rule["rule"])
        if (compares and not optional and not present) or (not compares and present and value == old):
            continue
        before = as_expressions_see(schema, old) if present else self
        bound = {"self": self, "_old": before, "_hasOld": present} if optional else {"self": self, "oldSelf": before}
        place = _place(schema, path, rule.get("fieldPath") or "")
        try:
            holds = _program_for(schema, rule["rule"], optional).evaluate(bound)
        except (cel.CompileError, cel.EvaluationError) as error:
            shown = schema.type or "object"
            errors.append(invalid(path or "<nil>", shown, f"{error} evaluating rule: {_plain_message(rule)}"))
            continue
        if holds is not True:
            errors.append(_broken(value, rule, place.lstrip(".") or "<nil>", _message(schema, rule, optional, bound)))
    return errors


def _place(schema: Schema | None, path: str, field: str) -> str:
    """The path of a field that a rule names."""
    for name in steps(field) or ():
        if schema is not None and schema.properties is None and schema.additional is not None:
            path, schema = f"{path}[{name}]", schema.additional
        else:
            path, schema = join(path, name), (schema.properties or {}).get(name) if schema is not None else None
    return path


def _plain_message(rule: JSONObject) -> str:
    message = (rule.get("message") or "").strip()
    return message or rule["rule"].strip()


def _message(schema: Schema, rule: JSONObject, optional: bool, bound: JSONObject) -> str:
    if rule.get("messageExpression"):
        try:
            text = _program_for(schema, rule["messageExpression"], optional).evaluate(bound)
        except (cel.CompileError, cel.EvaluationError):
            text = ""
        if isinstance(text, str) and text.strip() and "\n" not in text:
            return text.strip()
    message = (rule.get("message") or "").strip()
    return message or f"failed rule: {rule['rule'].strip()}"


def _broken(value: Any, rule: JSONObject, path: str, message: str) -> FieldError:
    """A rule that does not hold; of the value, scalars are quoted."""
    shown = "" if isinstance(value, dict | list) else f": {quoted(REDACTED if holds_secret(value) else value)}"
    match rule.get("reason"):
        case "FieldValueForbidden":
            return forbidden(path, message)
        case "FieldValueRequired":
            return required(path, message)
        case "FieldValueDuplicate":
            return FieldError("FieldValueDuplicate", path, f"Duplicate value{shown}")
    return FieldError("FieldValueInvalid", path, f"Invalid value{shown}: {message}")
