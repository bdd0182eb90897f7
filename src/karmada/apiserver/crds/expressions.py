"""Validation rules of custom kinds (`x-kubernetes-validations`): checked when the CRD is written, evaluated on objects.

A rule that mentions `oldSelf` compares with the value before an update and is not evaluated where there is none,
unless it takes an optional one. Other rules are not evaluated on values that did not change: a definition may become
stricter without locking the objects that exist.
"""

import re
from functools import cache
from typing import Any

from karmada.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from karmada.apiserver import cel
from karmada.apiserver.crds.dump import dump_rule
from karmada.apiserver.schema.model import MISSING, Schema
from karmada.apiserver.schema.validation import join

JSONObject = dict[str, Any]
_OLD = re.compile(r"\boldSelf\b")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def validate_rules(schema: JSONObject, path: str) -> list[FieldError]:
    """What is wrong with the rules in a CRD's schema."""
    errors: list[FieldError] = []
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        errors += _rule(schema, rule, f"{path}.x-kubernetes-validations[{index}]")
    for name, child in sorted((schema.get("properties") or {}).items()):
        errors += validate_rules(child, f"{path}.properties[{name}]")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            errors += validate_rules(schema[word], f"{path}.{word}")
    return errors


def _rule(schema: JSONObject, rule: JSONObject, path: str) -> list[FieldError]:
    expression = rule.get("rule") or ""
    if not expression.strip():
        return [required(f"{path}.rule", "rule is not specified")]
    errors: list[FieldError] = []
    message = rule.get("message") or ""
    if message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "message must be non-empty if specified"))
    elif "\n" in message.strip():
        errors.append(invalid(f"{path}.message", message, "message must not contain line breaks"))
    elif "\n" in expression.strip() and not message:
        errors.append(required(f"{path}.message", "message must be specified if rule contains line breaks"))
    reason = rule.get("reason")
    if reason and reason not in _REASONS:
        errors.append(not_supported(f"{path}.reason", reason, _REASONS))
    kind = _kind(schema)
    try:
        program = _program(expression, kind, bool(rule.get("optionalOldSelf")))
        if program.returns not in ("bool", "dyn"):
            errors.append(invalid(f"{path}.rule", dump_rule(rule), "must evaluate to a bool"))
    except cel.CompileError as error:
        errors.append(invalid(f"{path}.rule", dump_rule(rule), f"compilation failed: {error}"))
    if rule.get("messageExpression"):
        try:
            program = _program(rule["messageExpression"], kind, bool(rule.get("optionalOldSelf")))
            if program.returns not in ("string", "dyn"):
                text = "must evaluate to a string"
                errors.append(invalid(f"{path}.messageExpression", dump_rule(rule), text))
        except cel.CompileError as error:
            text = f"messageExpression compilation failed: {error}"
            errors.append(invalid(f"{path}.messageExpression", dump_rule(rule), text))
    return errors


def _kind(schema: JSONObject) -> str:
    """The CEL type of values of a schema, as far as it can be told without declaring every object."""
    if schema.get("x-kubernetes-int-or-string") or schema.get("nullable"):
        return "dyn"
    match schema.get("type"):
        case "string":
            return "dyn" if schema.get("format") in ("date", "date-time", "duration", "byte") else "string"
        case "integer":
            return "int"
        case "number":
            return "double"
        case "boolean":
            return "bool"
        case "array" if isinstance(schema.get("items"), dict):
            return f"list({_kind(schema['items'])})"
    return "dyn"


def _program(expression: str, kind: str, optional: bool) -> cel.Program:
    if optional:
        wrapped = f"cel.bind(oldSelf, _hasOld ? optional.of(_old) : optional.none(), {expression})"
        return cel.compile(wrapped, {"self": kind, "_old": kind, "_hasOld": "bool"})
    return cel.compile(expression, {"self": kind, "oldSelf": kind})


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


@cache
def _inner(schema: Schema) -> list[tuple[str, Schema]]:
    return [(name, child) for name, child in (schema.properties or {}).items() if _has_rules(child)]


def _has_rules(schema: Schema) -> bool:
    if schema.name:
        return False
    if schema.rules.get("x-kubernetes-validations"):
        return True
    children = [*(schema.properties or {}).values(), schema.items, schema.additional]
    return any(_has_rules(child) for child in children if child is not None)


@cache
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
    self = _escaped(schema, value)
    kind = _kind_of(schema)
    for rule in rules:
        optional = bool(rule.get("optionalOldSelf"))
        present = old is not MISSING
        compares = optional or _OLD.search(rule["rule"]) is not None
        if (compares and not optional and not present) or (not compares and present and value == old):
            continue
        before = _escaped(schema, old) if present else self
        bound = {"self": self, "_old": before, "_hasOld": present} if optional else {"self": self, "oldSelf": before}
        place = join(path, rule["fieldPath"].lstrip(".")) if rule.get("fieldPath") else path
        try:
            holds = _program(rule["rule"], kind, optional).evaluate(bound)
        except (cel.CompileError, cel.EvaluationError) as error:
            shown = schema.type or "object"
            errors.append(invalid(path or "<nil>", shown, f"{error} evaluating rule: {_plain_message(rule)}"))
            continue
        if holds is not True:
            errors.append(_broken(schema, rule, place.lstrip(".") or "<nil>", _message(rule, kind, optional, bound)))
    return errors


def _kind_of(schema: Schema) -> str:
    source: JSONObject = {"type": schema.type, "format": schema.format, "nullable": schema.nullable}
    source["x-kubernetes-int-or-string"] = schema.int_or_string
    if schema.items is not None:
        item: JSONObject = {"type": schema.items.type, "format": schema.items.format, "nullable": schema.items.nullable}
        source["items"] = item
    return _kind(source)


def _plain_message(rule: JSONObject) -> str:
    message = (rule.get("message") or "").strip()
    return message or rule["rule"].strip()


def _message(rule: JSONObject, kind: str, optional: bool, bound: JSONObject) -> str:
    if rule.get("messageExpression"):
        try:
            text = _program(rule["messageExpression"], kind, optional).evaluate(bound)
        except (cel.CompileError, cel.EvaluationError):
            text = ""
        if isinstance(text, str) and text.strip() and "\n" not in text:
            return text.strip()
    message = (rule.get("message") or "").strip()
    return message or f"failed rule: {rule['rule'].strip()}"


def _broken(schema: Schema, rule: JSONObject, path: str, message: str) -> FieldError:
    match rule.get("reason"):
        case "FieldValueForbidden":
            return forbidden(path, message)
        case "FieldValueRequired":
            return required(path, message)
        case "FieldValueDuplicate":
            return FieldError("FieldValueDuplicate", path, f'Duplicate value: "{schema.type or "object"}"')
    return invalid(path, schema.type or "object", message)


@cache
def _renamed(schema: Schema) -> dict[str, str]:
    """Fields whose names are no identifiers, with the names that expressions use for them."""
    return {name: new for name in (schema.properties or {}) if (new := _escape(name)) != name}


def _escape(name: str) -> str:
    if name in _RESERVED:
        return f"__{name}__"
    text = name.replace("__", "__underscores__").replace(".", "__dot__").replace("-", "__dash__")
    text = text.replace("/", "__slash__")
    return text if _WORD.fullmatch(text) else name


@cache
def _needs_renaming(schema: Schema) -> bool:
    if schema.name:
        return False
    children = [*(schema.properties or {}).values(), schema.items, schema.additional]
    return bool(_renamed(schema)) or any(_needs_renaming(child) for child in children if child is not None)


def _escaped(schema: Schema, value: Any) -> Any:
    """The value with fields under the names that expressions use; the same object where nothing is renamed."""
    if not _needs_renaming(schema):
        return value
    if value.__class__ is list and schema.items is not None:
        return [_escaped(schema.items, item) for item in value]
    if value.__class__ is not dict:
        return value
    names = _renamed(schema)
    children = schema.properties or {}
    result = {}
    for key, item in value.items():
        child = children.get(key, schema.additional)
        result[names.get(key, key)] = _escaped(child, item) if child is not None else item
    return result
