"""Rules of admission policies."""

import re
from collections.abc import Iterator

from karmada.api.field_errors import duplicate, invalid, required
from karmada.apiserver.builtin.strategies.admission_rules import changing_errors, default_match, match_errors
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, one_of, qualified_name, strategy
from karmada.apiserver.builtin.strategies.conditions import conditions
from karmada.apiserver.builtin.strategies.match_conditions import (
    condition_errors,
    expression_errors,
    match_conditions,
)
from karmada.apiserver.builtin.strategies.mutations import mutation_errors
from karmada.apiserver.builtin.strategies.policy_variables import OWN, Variables, declared, given
from karmada.apiserver.schema.metadata import kind_errors

_GIVEN = ("object", "oldObject", "request", "namespaceObject", "authorizer")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def _default(obj: JSONObject) -> None:
    obj["spec"].setdefault("failurePolicy", "Fail")
    default_match(obj["spec"].get("matchConstraints"))


def _known(spec: JSONObject) -> dict[str, str]:
    """The variables of conditions: parameters only where there are some."""
    return given((*_GIVEN, "params") if spec.get("paramKind") is not None else _GIVEN)


def _growing(spec: JSONObject) -> Iterator[Variables]:
    """The same with the first of the policy's own variables: none, one, and so on to all of them."""
    known = _known(spec)
    variables = spec.get("variables") or []
    if variables:
        known |= given([OWN])
    yield known
    for variable in variables:
        known = declared(known, variable.get("name") or "", variable.get("expression") or "")
        yield known


def _with_own(spec: JSONObject) -> Variables:
    """The same with all of the policy's own variables."""
    *_, known = _growing(spec)
    return known


def _common(spec: JSONObject) -> Errors:
    """What both kinds of policies have."""
    errors = one_of("spec.failurePolicy", spec["failurePolicy"], ("Fail", "Ignore"))
    if spec.get("paramKind") is not None:
        errors += _parameters(spec["paramKind"], "spec.paramKind")
    match = spec.get("matchConstraints")
    if match is None:
        errors.append(required("spec.matchConstraints"))
    else:
        if not match.get("resourceRules"):
            errors.append(required("spec.matchConstraints.resourceRules"))
        errors += match_errors(match, "spec.matchConstraints")
    errors += match_conditions(spec.get("matchConditions") or [], "spec.matchConditions", _known(spec))
    for index, (variable, known) in enumerate(zip(spec.get("variables") or (), _growing(spec), strict=False)):
        errors += _variable(variable, f"spec.variables[{index}]", known)
    return errors


def _parameters(kind: JSONObject, path: str) -> Errors:
    version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    errors: Errors = [] if version else [required(f"{path}.apiVersion")]
    if version.count("/") > 1:
        errors.append(invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    return errors + (kind_errors(f"{path}.kind", name) if name else [required(f"{path}.kind")])


def _variable(variable: JSONObject, path: str, known: Variables) -> Errors:
    name, expression = variable.get("name") or "", variable.get("expression") or ""
    errors: Errors = [] if name else [required(f"{path}.name", "name is not specified")]
    if name and not _IDENTIFIER.fullmatch(name):
        errors.append(invalid(f"{path}.name", name, "must be a valid CEL identifier"))
    if not expression.strip():
        return [*errors, required(f"{path}.expression", "expression is not specified")]
    return errors + expression_errors(f"{path}.expression", expression, known)


def _validate(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = _common(spec)
    known = _with_own(spec)
    validations, audits = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not audits:
        text = "validations or auditAnnotations must contain at least one item"
        errors.append(required("spec.validations", text))
        errors.append(required("spec.auditAnnotations", text))
    for index, validation in enumerate(validations):
        errors += _validation(validation, f"spec.validations[{index}]", known)
    keys: set[str] = set()
    for index, audit in enumerate(audits):
        path = f"spec.auditAnnotations[{index}]"
        errors += _audit(audit, path, known, obj["metadata"].get("name") or "")
        key = audit.get("key") or ""
        if key in keys:
            errors.append(duplicate(f"{path}.key", key))
        keys.add(key)
    return errors


def _validation(validation: JSONObject, path: str, known: Variables) -> Errors:
    expression, message = validation.get("expression") or "", validation.get("message") or ""
    if expression.strip():
        errors = condition_errors(f"{path}.expression", expression, known)
    else:
        errors = [required(f"{path}.expression", "expression is not specified")]
    text = validation.get("messageExpression") or ""
    if text and not text.strip():
        errors.append(invalid(f"{path}.messageExpression", text, "must be non-empty if specified"))
    elif text:
        without = {name: kind for name, kind in known.items() if name != "authorizer"}
        errors += expression_errors(f"{path}.messageExpression", text, without, "string")
    if message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif "\n" in message.strip():
        errors.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    if validation.get("reason") is not None:
        errors += one_of(f"{path}.reason", validation["reason"], _REASONS)
    return errors


def _audit(audit: JSONObject, path: str, known: Variables, policy: str) -> Errors:
    errors = qualified_name(f"{path}.key", f"{policy}/{audit.get('key') or ''}")
    expression = audit.get("valueExpression") or ""
    if not expression.strip():
        return [*errors, required(f"{path}.valueExpression", "valueExpression is not specified")]
    return errors + expression_errors(f"{path}.valueExpression", expression, known, "string", "null_type")


def _validate_mutating(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = _common(spec)
    if spec.get("matchConstraints") is not None:
        errors += changing_errors(spec["matchConstraints"], "spec.matchConstraints")
    if not spec.get("mutations"):
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    known = _with_own(spec)
    for index, mutation in enumerate(spec.get("mutations") or ()):
        errors += mutation_errors(mutation, f"spec.mutations[{index}]", known)
    policy = spec.get("reinvocationPolicy") or ""
    if not policy:
        return [*errors, required("spec.reinvocationPolicy")]
    return errors + one_of("spec.reinvocationPolicy", policy, ("IfNeeded", "Never"))


def _validate_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    status = obj.get("status") or {}
    errors: Errors = []
    for index, found in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or ()):
        for field in ("warning", "fieldRef"):
            if not found.get(field, "").strip():
                errors.append(required(f"status.typeChecking.expressionWarnings[{index}].{field}"))
    return errors + conditions("status.conditions", status.get("conditions") or [])


VALIDATING_POLICY = strategy(
    _default,
    _validate,
    namespaced=False,
    generation=True,
    unconditional_update=False,
    create_by_status=True,
    validate_status=_validate_status,
)
MUTATING_POLICY = strategy(_default, _validate_mutating, namespaced=False, generation=True, unconditional_update=False)
