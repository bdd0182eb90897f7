"""Rules of admission policies and their bindings."""

from karmada.api.field_errors import duplicate, invalid, required
from karmada.apiserver.builtin.strategies.admission_rules import rule_errors
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    one_of,
    selector,
    strategy,
    unsupported,
)
from karmada.apiserver.builtin.strategies.match_conditions import expression_errors

_VARIABLES = ("object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer")


def _default_policy(obj: JSONObject) -> None:
    spec = obj["spec"]
    spec.setdefault("failurePolicy", "Fail")
    _default_match(spec.get("matchConstraints"))


def _default_match(match: JSONObject | None) -> None:
    if match is None:
        return
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(field) or ():
            rule.setdefault("scope", "*")


def _expression(field: str, expression: str) -> Errors:
    if not expression.strip():
        return [required(field, "expression is not specified")]
    return expression_errors(field, expression, _VARIABLES)


def _match(match: JSONObject | None, path: str) -> Errors:
    if match is None:
        return [required(path)]
    errors: Errors = []
    rules = match.get("resourceRules") or []
    if not rules:
        errors.append(required(f"{path}.resourceRules"))
    for index, rule in enumerate(rules):
        errors += rule_errors(rule, f"{path}.resourceRules[{index}]")
    errors += selector(f"{path}.namespaceSelector", match.get("namespaceSelector"))
    return errors + selector(f"{path}.objectSelector", match.get("objectSelector"))


def _validate_policy(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = one_of("spec.failurePolicy", spec["failurePolicy"], ("Fail", "Ignore"))
    errors += _match(spec.get("matchConstraints"), "spec.matchConstraints")
    for index, condition in enumerate(spec.get("matchConditions") or ()):
        errors += _expression(f"spec.matchConditions[{index}].expression", condition.get("expression") or "")
    for index, variable in enumerate(spec.get("variables") or ()):
        errors += _expression(f"spec.variables[{index}].expression", variable.get("expression") or "")
    validations, audits = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not audits:
        text = "validations or auditAnnotations must contain at least one item"
        errors.append(required("spec.validations", text))
        errors.append(required("spec.auditAnnotations", text))
    for index, validation in enumerate(validations):
        path = f"spec.validations[{index}]"
        errors += _expression(f"{path}.expression", validation.get("expression") or "")
        if validation.get("messageExpression"):
            errors += _expression(f"{path}.messageExpression", validation["messageExpression"])
        if "\n" in (validation.get("message") or "").strip():
            errors.append(invalid(f"{path}.message", validation["message"], "message must not contain line breaks"))
    return errors


def _default_binding(obj: JSONObject) -> None:
    _default_match(obj["spec"].get("matchResources"))


def _validate_binding(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors: Errors = []
    if not spec.get("policyName"):
        errors.append(required("spec.policyName"))
    actions = spec.get("validationActions") or []
    if not actions:
        errors.append(required("spec.validationActions", "at least one validation action is required"))
    for index, action in enumerate(actions):
        if action not in ("Audit", "Deny", "Warn"):
            errors.append(unsupported(f"spec.validationActions[{index}]", action, ("Audit", "Deny", "Warn")))
        elif action in actions[:index]:
            errors.append(duplicate(f"spec.validationActions[{index}]", action))
    if {"Deny", "Warn"} <= set(actions):
        text = "must not contain both Deny and Warn (repeating the same validation failure information in the API "
        errors.append(invalid("spec.validationActions", actions, text + "response and headers serves no purpose)"))
    return errors


def _validate_mutating_binding(obj: JSONObject, old: JSONObject | None) -> Errors:
    return [] if obj["spec"].get("policyName") else [required("spec.policyName")]


def _validate_mutating_policy(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = _match(spec.get("matchConstraints"), "spec.matchConstraints")
    if not spec.get("mutations"):
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    return errors


def _default_mutating_policy(obj: JSONObject) -> None:
    _default_policy(obj)
    obj["spec"].setdefault("reinvocationPolicy", "Never")


VALIDATING_POLICY = strategy(_default_policy, _validate_policy, namespaced=False, generation=True)
VALIDATING_BINDING = strategy(_default_binding, _validate_binding, namespaced=False, generation=True)
MUTATING_POLICY = strategy(_default_mutating_policy, _validate_mutating_policy, namespaced=False, generation=True)
MUTATING_BINDING = strategy(_default_binding, _validate_mutating_binding, namespaced=False, generation=True)
