"""Rules of bindings of admission policies."""

from karmada.api.field_errors import duplicate, forbidden, invalid, required
from karmada.apiserver.builtin.strategies.admission_rules import changing_errors, default_match, match_errors
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_subdomain,
    repeated,
    selector,
    strategy,
    unsupported,
)


def _default(obj: JSONObject) -> None:
    default_match(obj["spec"].get("matchResources"))


def _common(spec: JSONObject) -> Errors:
    """What bindings of both kinds of policies have."""
    name = spec.get("policyName") or ""
    errors = dns_subdomain("spec.policyName", name) if name else [required("spec.policyName")]
    if spec.get("paramRef") is not None:
        errors += _parameters(spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        errors += match_errors(spec["matchResources"], "spec.matchResources")
    return errors


def _parameters(given: JSONObject, path: str) -> Errors:
    name, wanted, absent = given.get("name"), given.get("selector"), given.get("parameterNotFoundAction")
    errors: Errors = []
    if name and wanted is not None:
        text = "name and selector are mutually exclusive"
        errors += [forbidden(f"{path}.name", text), forbidden(f"{path}.selector", text)]
    elif not name and wanted is None:
        errors.append(required(path, "one of name or selector must be specified"))
    errors += selector(f"{path}.selector", wanted)
    if absent is None:
        errors.append(required(f"{path}.parameterNotFoundAction"))
    elif absent not in ("Deny", "Allow"):
        errors.append(unsupported(f"{path}.parameterNotFoundAction", absent, ("Deny", "Allow")))
    return errors


def _validate(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    return _common(spec) + _actions(spec.get("validationActions") or [], "spec.validationActions")


def _actions(actions: list[str], path: str) -> Errors:
    errors: Errors = [] if actions else [required(path, "at least one validation action is required")]
    again = set(repeated(actions))
    for index, action in enumerate(actions):
        if action not in ("Audit", "Deny", "Warn"):
            errors.append(unsupported(f"{path}[{index}]", action, ("Audit", "Deny", "Warn")))
        elif index in again:
            errors.append(duplicate(f"{path}[{index}]", action))
    if {"Deny", "Warn"} <= set(actions):
        text = "must not contain both Deny and Warn (repeating the same validation failure information in the API "
        errors.append(invalid(path, actions, text + "response and headers serves no purpose)"))
    return errors


def _validate_mutating(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = _common(spec)
    if spec.get("matchResources") is not None:
        errors += changing_errors(spec["matchResources"], "spec.matchResources")
    return errors


VALIDATING_BINDING = strategy(_default, _validate, namespaced=False, generation=True, unconditional_update=False)
MUTATING_BINDING = strategy(_default, _validate_mutating, namespaced=False, generation=True, unconditional_update=False)
