"""Rules of admission webhooks and policies."""

from collections.abc import Callable

from karmada.api.field_errors import duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_subdomain,
    one_of,
    qualified_name,
    selector,
    strategy,
    unsupported,
)

_OPERATIONS = ("*", "CREATE", "UPDATE", "DELETE", "CONNECT")
_VARIABLES = {
    "object": "dyn",
    "oldObject": "dyn",
    "request": "dyn",
    "params": "dyn",
    "namespaceObject": "dyn",
    "variables": "dyn",
    "authorizer": "dyn",
}


def _default_webhooks(mutating: bool) -> Callable[[JSONObject], None]:
    def default(obj: JSONObject) -> None:
        for hook in obj.get("webhooks") or ():
            hook.setdefault("failurePolicy", "Fail")
            hook.setdefault("matchPolicy", "Equivalent")
            hook.setdefault("namespaceSelector", {})
            hook.setdefault("objectSelector", {})
            hook.setdefault("timeoutSeconds", 10)
            if mutating:
                hook.setdefault("reinvocationPolicy", "Never")
            for rule in hook.get("rules") or ():
                rule.setdefault("scope", "*")
            service = hook["clientConfig"].get("service")
            if service is not None:
                service.setdefault("port", 443)

    return default


def _validate_webhooks(obj: JSONObject, old: JSONObject | None) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for index, hook in enumerate(obj.get("webhooks") or ()):
        path = f"webhooks[{index}]"
        errors += _webhook(hook, path)
        name = hook.get("name") or ""
        if name and name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
    return errors


def _webhook(hook: JSONObject, path: str) -> Errors:
    name = hook.get("name") or ""
    errors: Errors = []
    if name.count(".") < 2:
        text = "should be a domain with at least three segments separated by dots"
        errors.append(invalid(f"{path}.name", name, text) if name else required(f"{path}.name"))
    errors += dns_subdomain(f"{path}.name", name) if name else []
    for at, rule in enumerate(hook.get("rules") or ()):
        errors += rule_errors(rule, f"{path}.rules[{at}]")
    errors += one_of(f"{path}.failurePolicy", hook["failurePolicy"], ("Fail", "Ignore"))
    errors += one_of(f"{path}.matchPolicy", hook["matchPolicy"], ("Equivalent", "Exact"))
    effects = hook.get("sideEffects")
    if effects is None:
        errors.append(required(f"{path}.sideEffects", "must specify one of None, NoneOnDryRun"))
    elif effects not in ("None", "NoneOnDryRun"):
        errors.append(unsupported(f"{path}.sideEffects", effects, ("None", "NoneOnDryRun")))
    timeout = hook["timeoutSeconds"]
    if not 1 <= timeout <= 30:
        text = "the timeout value must be between 1 and 30 seconds"
        errors.append(invalid(f"{path}.timeoutSeconds", timeout, text))
    errors += selector(f"{path}.namespaceSelector", hook.get("namespaceSelector"))
    errors += selector(f"{path}.objectSelector", hook.get("objectSelector"))
    errors += client_config(hook["clientConfig"], f"{path}.clientConfig")
    versions = hook.get("admissionReviewVersions") or []
    place = f"{path}.admissionReviewVersions"
    if not versions:
        errors.append(required(place, "must specify one of v1, v1beta1"))
    elif not {"v1", "v1beta1"} & set(versions):
        errors.append(invalid(place, versions, "must include at least one of v1, v1beta1"))
    for at, condition in enumerate(hook.get("matchConditions") or ()):
        errors += _expression(f"{path}.matchConditions[{at}].expression", condition.get("expression") or "")
        errors += qualified_name(f"{path}.matchConditions[{at}].name", condition.get("name") or "")
    return errors


def client_config(config: JSONObject, path: str) -> Errors:
    """Where a webhook is: a URL or a service."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None:
        if not url.startswith("https://"):
            scheme = url.split(":", 1)[0]
            text = f"'https' is the only allowed URL scheme; desired format: https://host[/path]; found {scheme!r}"
            return [invalid(f"{path}.url", url, text)]
        return []
    assert service is not None
    return [required(f"{path}.service.{field}") for field in ("name", "namespace") if not service.get(field)]


def rule_errors(rule: JSONObject, path: str) -> Errors:
    """Which requests a webhook or policy is about."""
    errors: Errors = []
    for field in ("apiGroups", "apiVersions", "resources"):
        values = rule.get(field) or []
        if not values:
            errors.append(required(f"{path}.{field}"))
        elif len(values) > 1 and "*" in values:
            text = (
                "if '*' is present, must not specify other "
                + {
                    "apiGroups": "API groups",
                    "apiVersions": "API versions",
                    "resources": "resources",
                }[field]
            )
            errors.append(invalid(f"{path}.{field}", values, text))
    operations = rule.get("operations") or []
    if not operations:
        errors.append(required(f"{path}.operations"))
    if len(operations) > 1 and "*" in operations:
        text = "if '*' is present, must not specify other operations"
        errors.append(invalid(f"{path}.operations", operations, text))
    for at, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            errors.append(unsupported(f"{path}.operations[{at}]", operation, sorted(_OPERATIONS)))
    if rule.get("scope") is not None:
        errors += one_of(f"{path}.scope", rule["scope"], ("*", "Cluster", "Namespaced"))
    return errors


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
    """An expression must be CEL; its variables are not typed."""
    if not expression.strip():
        return [required(field, "expression is not specified")]
    from karmada.apiserver import cel

    try:
        cel.compile(expression, _VARIABLES)
    except cel.CompileError as error:
        return [invalid(field, expression, f"compilation failed: {error}")]
    return []


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


VALIDATING_WEBHOOKS = strategy(_default_webhooks(False), _validate_webhooks, namespaced=False, generation=True)
MUTATING_WEBHOOKS = strategy(_default_webhooks(True), _validate_webhooks, namespaced=False, generation=True)
VALIDATING_POLICY = strategy(_default_policy, _validate_policy, namespaced=False, generation=True)
VALIDATING_BINDING = strategy(_default_binding, _validate_binding, namespaced=False, generation=True)
MUTATING_POLICY = strategy(_default_mutating_policy, _validate_mutating_policy, namespaced=False, generation=True)
MUTATING_BINDING = strategy(_default_binding, _validate_mutating_binding, namespaced=False, generation=True)
