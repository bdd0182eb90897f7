"""Validation rules of custom kinds when their definition is written: do they compile, and may they cost that much."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from karmada.api.field_errors import FieldError, invalid, not_supported, required
from karmada.apiserver import cel
from karmada.apiserver.cel import cost
from karmada.apiserver.cel.checking import IllTyped, infer
from karmada.apiserver.cel.syntax import Node, mentions
from karmada.apiserver.cel.types import BOOL, STRING, Type, optional_of
from karmada.apiserver.crds.costs import Budget, Place
from karmada.apiserver.crds.declared import declared
from karmada.apiserver.crds.dump import dump_rule
from karmada.apiserver.crds.expressions import OLD, program, written
from karmada.apiserver.crds.field_paths import leads_somewhere

JSONObject = dict[str, Any]
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


class _Findings(NamedTuple):
    """What is wrong with rules: how they are written, and what they say. The second is looked for without the first."""

    written: list[FieldError]
    meant: list[FieldError]


def validate_rules(schema: JSONObject, path: str) -> list[FieldError]:
    """What is wrong with the rules in a CRD's schema."""
    budget = Budget()
    found = _rules(schema, path, Place(schema), "", budget, True)
    return [*found.written, *found.meant, *budget.together(path)]


def _rules(schema: JSONObject, path: str, place: Place, loose: str, budget: Budget, root: bool) -> _Findings:
    """Errors at a place and below; `loose` is the path of a list around it whose elements have no old values."""
    found = _Findings([], [])
    for word, key, child in _children(schema):
        inside = path if word == "items" and schema.get("x-kubernetes-list-type") != "map" else ""
        where = f"{path}.{word}[{key}]" if key else f"{path}.{word}"
        embedded = bool(child.get("x-kubernetes-embedded-resource"))
        below = _rules(child, where, place.child(word, child, key), loose or inside, budget, embedded)
        found.written.extend(below.written)
        found.meant.extend(below.meant)
    rules = schema.get("x-kubernetes-validations") or ()
    for index, rule in enumerate(rules):
        found.written.extend(_written(schema, rule, f"{path}.x-kubernetes-validations[{index}]"))
    if not rules or found.written:
        return found
    own = declared(schema, root)
    if own is None:
        text = "Internal error: failed to convert to declType for CEL validation rules"
        found.meant.append(FieldError("InternalError", f"{path}.x-kubernetes-validations", text))
        return found
    for index, rule in enumerate(rules):
        found.meant.extend(_meant(own, rule, f"{path}.x-kubernetes-validations[{index}]", place, loose, budget))
    return found


def _children(schema: JSONObject) -> Iterator[tuple[str, str, JSONObject]]:
    for name, child in sorted((schema.get("properties") or {}).items()):
        yield "properties", name, child
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield word, "", schema[word]


def _written(schema: JSONObject, rule: JSONObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    expression, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not expression:
        errors.append(required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "message must be non-empty if specified"))
    elif "\n" in message.strip():
        errors.append(invalid(f"{path}.message", message, "message must not contain line breaks"))
    elif "\n" in expression and not message:
        errors.append(required(f"{path}.message", "message must be specified if rule contains line breaks"))
    if rule.get("messageExpression") and not rule["messageExpression"].strip():
        errors.append(required(f"{path}.messageExpression", "messageExpression must be non-empty if specified"))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(not_supported(f"{path}.reason", reason, _REASONS))
    field = rule.get("fieldPath")
    if field and not field.strip():
        errors.append(invalid(f"{path}.fieldPath", field, "fieldPath must be non-empty if specified"))
    if field and "\n" in field:
        errors.append(invalid(f"{path}.fieldPath", field, "fieldPath must not contain line breaks"))
    if field and not leads_somewhere(schema, field):
        errors.append(invalid(f"{path}.fieldPath", field, "must be a valid path"))
    return errors


def _meant(own: Type, rule: JSONObject, path: str, place: Place, loose: str, budget: Budget) -> list[FieldError]:
    optional = bool(rule.get("optionalOldSelf"))
    known = {"self": own, OLD: optional_of(own) if optional else own}
    try:
        node = _checked(rule["rule"], optional, known, BOOL)
    except (cel.CompileError, IllTyped) as error:
        refused = invalid(f"{path}.rule", dump_rule(rule), f"compilation failed: {error}")
        return [refused, *_old_value(rule, False, path, loose)]
    if node is None:
        refused = invalid(f"{path}.rule", dump_rule(rule), "cel expression must evaluate to a bool")
        return [refused, *_old_value(rule, False, path, loose)]
    errors = budget.rule(node, place, f"{path}.rule")
    errors += _old_value(rule, mentions(node, OLD), path, loose)
    if not rule.get("messageExpression"):
        return errors
    place_of_message = f"{path}.messageExpression"
    try:
        message = _checked(rule["messageExpression"], optional, known, STRING)
    except (cel.CompileError, IllTyped) as error:
        text = f"messageExpression compilation failed: {error}"
        return [*errors, invalid(place_of_message, dump_rule(rule), text)]
    if message is None:
        text = "messageExpression must evaluate to a string"
        return [*errors, invalid(place_of_message, dump_rule(rule), text)]
    return errors + budget.message(message, place, place_of_message)


def _checked(expression: str, optional: bool, known: Mapping[str, Type], wanted: Type) -> Node | None:
    """The tree of an expression, None where it is of another type than wanted."""
    if cost.binds(expression):
        raise IllTyped("undeclared reference to 'cel' (in container '')")
    compiled = program(expression, optional)
    node = written(compiled, optional)
    try:
        return node if infer(node, known) == wanted else None
    except IllTyped as error:
        raise IllTyped(str(error) if optional else compiled.pointed_out(expression, error)) from None


def _old_value(rule: JSONObject, used: bool, path: str, loose: str) -> list[FieldError]:
    if used and loose:
        text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {loose}"
        return [invalid(f"{path}.rule", rule["rule"], text)]
    if not used and rule.get("optionalOldSelf") is not None:
        text = "may not be set if oldSelf is not used in rule"
        return [invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], text)]
    return []
