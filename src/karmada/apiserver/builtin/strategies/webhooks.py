"""Rules of ValidatingWebhookConfigurations and MutatingWebhookConfigurations."""

from collections.abc import Callable

from karmada.api import name_rules
from karmada.api.field_errors import duplicate, invalid, required
from karmada.api.webhook_clients import client_config
from karmada.apiserver.builtin.strategies.admission_rules import rule_errors
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_subdomain,
    one_of,
    repeated,
    selector,
    strategy,
    unsupported,
)
from karmada.apiserver.builtin.strategies.match_conditions import match_conditions
from karmada.apiserver.builtin.strategies.policy_variables import given
from karmada.apiserver.resources import Strategy
from karmada.apiserver.schema.metadata import in_characters

_REVIEWS = ("v1", "v1beta1")
_VARIABLES = given(("object", "oldObject", "request", "namespaceObject", "authorizer"))


def _default(mutating: bool) -> Callable[[JSONObject], None]:
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


def _validate(obj: JSONObject, old: JSONObject | None) -> Errors:
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
    errors = _name(hook.get("name") or "", f"{path}.name")
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
    if "reinvocationPolicy" in hook:
        errors += one_of(f"{path}.reinvocationPolicy", hook["reinvocationPolicy"], ("IfNeeded", "Never"))
    errors += client_config(hook["clientConfig"], f"{path}.clientConfig")
    errors += match_conditions(hook.get("matchConditions") or [], f"{path}.matchConditions", _VARIABLES)
    return errors + _reviews(hook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions")


def _name(name: str, field: str) -> Errors:
    if not name:
        return [required(field)]
    errors: Errors = []
    if name.count(".") < 2:
        errors.append(invalid(field, name, "should be a domain with at least three segments separated by dots"))
    return errors + dns_subdomain(field, name)


def _reviews(versions: list[str], field: str) -> Errors:
    """The versions of reviews that a webhook understands."""
    if not versions:
        return [required(field, f"must specify one of {', '.join(_REVIEWS)}")]
    errors: Errors = []
    again = set(repeated(versions))
    for at, version in enumerate(versions):
        if at in again:
            errors.append(invalid(f"{field}[{at}]", version, "duplicate version"))
            continue
        problems = in_characters(name_rules.dns_1035_label(version))
        errors += [invalid(f"{field}[{at}]", version, problem) for problem in problems]
    if not set(_REVIEWS) & set(versions):
        errors.append(invalid(field, versions, f"must include at least one of {', '.join(_REVIEWS)}"))
    return errors


def _create(obj: JSONObject) -> None:
    if not obj.get("webhooks"):
        obj.pop("webhooks", None)


def _update(obj: JSONObject, old: JSONObject) -> None:
    """An empty list is stored as none, and differs from it whenever it is written: such a write counts."""
    if obj.get("webhooks") == [] and not old.get("webhooks"):
        obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    _create(obj)


def _strategy(mutating: bool) -> Strategy:
    return strategy(
        _default(mutating),
        _validate,
        namespaced=False,
        generation=True,
        unconditional_update=False,
        prepare_create=_create,
        prepare_update=_update,
    )


VALIDATING_WEBHOOKS = _strategy(False)
MUTATING_WEBHOOKS = _strategy(True)
