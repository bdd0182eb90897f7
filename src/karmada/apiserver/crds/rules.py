"""Validation rules of custom kinds when their definition is written: do they compile, and may they cost that much."""

from typing import Any

from karmada.api.field_errors import FieldError, invalid, not_supported, required
from karmada.apiserver import cel
from karmada.apiserver.cel.syntax import mentions
from karmada.apiserver.crds import inference
from karmada.apiserver.crds.costs import Budget, Place
from karmada.apiserver.crds.dump import dump_rule
from karmada.apiserver.crds.expressions import OLD, cel_type, program, written

JSONObject = dict[str, Any]
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def validate_rules(schema: JSONObject, path: str) -> list[FieldError]:
    """What is wrong with the rules in a CRD's schema."""
    budget = Budget()
    errors = _rules(schema, path, Place(schema), "", budget)
    return errors + budget.together(path)


def _rules(schema: JSONObject, path: str, place: Place, loose: str, budget: Budget) -> list[FieldError]:
    """Errors at a place and below; `loose` is the path of a list around it whose elements have no old values."""
    errors: list[FieldError] = []
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        errors += _rule(schema, rule, f"{path}.x-kubernetes-validations[{index}]", place, loose, budget)
    for name, child in sorted((schema.get("properties") or {}).items()):
        errors += _rules(child, f"{path}.properties[{name}]", place.child("properties", child, name), loose, budget)
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            inside = path if word == "items" and schema.get("x-kubernetes-list-type") != "map" else ""
            child = schema[word]
            errors += _rules(child, f"{path}.{word}", place.child(word, child), loose or inside, budget)
    return errors


def _rule(
    schema: JSONObject, rule: JSONObject, path: str, place: Place, loose: str, budget: Budget
) -> list[FieldError]:
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
        return [required(f"{path}.message", "message must be specified if rule contains line breaks")]
    reason = rule.get("reason")
    if reason and reason not in _REASONS:
        errors.append(not_supported(f"{path}.reason", reason, _REASONS))
    kind, optional = cel_type(schema), bool(rule.get("optionalOldSelf"))
    try:
        compiled = program(expression, kind, optional)
        if compiled.returns not in ("bool", "dyn"):
            errors.append(invalid(f"{path}.rule", dump_rule(rule), "cel expression must evaluate to a bool"))
        else:
            node = written(compiled, optional)
            if inference.result(node, schema, path.partition(".x-kubernetes")[0].endswith("openAPIV3Schema")) not in (
                "",
                "boolean",
            ):
                text = "cel expression must evaluate to a bool"
                return [*errors, invalid(f"{path}.rule", dump_rule(rule), text)]
            errors += budget.rule(node, place, f"{path}.rule")
            errors += _old_value(rule, mentions(node, OLD), path, loose)
    except (cel.CompileError, inference.IllTyped) as error:
        errors.append(invalid(f"{path}.rule", dump_rule(rule), f"compilation failed: {error}"))
    field = rule.get("fieldPath")
    if field and not _leads_somewhere(schema, field):
        errors.append(invalid(f"{path}.fieldPath", field, "must be a valid path"))
    if rule.get("messageExpression"):
        try:
            compiled = program(rule["messageExpression"], kind, optional)
            if compiled.returns not in ("string", "dyn"):
                text = "must evaluate to a string"
                errors.append(invalid(f"{path}.messageExpression", dump_rule(rule), text))
            else:
                errors += budget.message(written(compiled, optional), place, f"{path}.messageExpression")
        except cel.CompileError as error:
            text = f"messageExpression compilation failed: {error}"
            errors.append(invalid(f"{path}.messageExpression", dump_rule(rule), text))
    return errors


def _leads_somewhere(schema: JSONObject, field: str) -> bool:
    """Whether a simple path names a declared field; what is written in other ways is believed."""
    for name in field.removeprefix(".").split("."):
        if not name.isidentifier() or isinstance(schema.get("additionalProperties"), dict):
            return True
        found = (schema.get("properties") or {}).get(name)
        if found is None:
            return False
        schema = found
    return True


def _old_value(rule: JSONObject, used: bool, path: str, loose: str) -> list[FieldError]:
    if used and loose:
        text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {loose}"
        return [invalid(f"{path}.rule", rule["rule"], text)]
    if not used and rule.get("optionalOldSelf") is not None:
        text = "may not be set if oldSelf is not used in rule"
        return [invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], text)]
    return []
