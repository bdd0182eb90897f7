"""Judges ResourceInterpreterWebhookConfigurations: names, rules, addresses and versions that can work."""

from karmada.api.config.v1alpha1 import (
    InterpreterOperation,
    ResourceInterpreterWebhook,
    ResourceInterpreterWebhookConfiguration,
    RuleWithOperations,
    WebhookClientConfig,
)
from karmada.api.field_errors import FieldError, duplicate, invalid, not_supported, required
from karmada.api.name_rules import dns_1035_label, dns_subdomain
from karmada.api.webhook_urls import url_errors
from karmada.webhook.model import Review, decoded, refuse_if_any

ACCEPTED_VERSIONS = ("v1alpha1",)


async def validate_interpreter_webhooks(review: Review) -> None:
    """Judge a ResourceInterpreterWebhookConfiguration."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, webhook in enumerate(decoded(review.object, ResourceInterpreterWebhookConfiguration).webhooks):
        path = f"webhooks[{index}]"
        errors += _webhook_errors(webhook, path)
        if webhook.name in seen:
            errors.append(duplicate(f"{path}.name", webhook.name))
        seen.add(webhook.name)
    refuse_if_any(errors)


def _webhook_errors(webhook: ResourceInterpreterWebhook, path: str) -> list[FieldError]:
    errors = _name_errors(webhook.name, f"{path}.name")
    for index, rule in enumerate(webhook.rules):
        errors += _rule_errors(rule, f"{path}.rules[{index}]")
    seconds = webhook.timeout_seconds
    if seconds is not None and not 1 <= seconds <= 30:
        errors.append(invalid(f"{path}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds"))
    errors += _client_errors(webhook.client_config, f"{path}.clientConfig")
    errors += _version_errors(webhook.interpreter_context_versions, f"{path}.interpreterContextVersions")
    return errors


def _name_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [invalid(path, name, why) for why in dns_subdomain(name)]
    if not errors and name.count(".") < 2:
        errors.append(invalid(path, name, "should be a domain with at least two segments separated by dots"))
    return errors


def _rule_errors(rule: RuleWithOperations, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    known = {operation.value for operation in InterpreterOperation}
    for name, values in (
        ("operations", rule.operations),
        ("apiGroups", rule.api_groups),
        ("apiVersions", rule.api_versions),
        ("kinds", rule.kinds),
    ):
        if not values:
            errors.append(required(f"{path}.{name}"))
        elif "*" in values and len(values) > 1:
            detail = "if '*' is present, must not specify other " + _SPOKEN[name]
            errors.append(invalid(f"{path}.{name}", list(values), detail))
    errors += [
        not_supported(f"{path}.operations[{index}]", operation, known)
        for index, operation in enumerate(rule.operations)
        if operation not in known
    ]
    return errors


_SPOKEN = {
    "operations": "operations",
    "apiGroups": "API groups",
    "apiVersions": "API versions",
    "kinds": "kinds",
}


def _client_errors(client: WebhookClientConfig, path: str) -> list[FieldError]:
    if (client.url is None) == (client.service is None):
        return [required(path, "exactly one of url or service is required")]
    return url_errors(client.url, f"{path}.url") if client.url is not None else []


def _version_errors(versions: tuple[str, ...], path: str) -> list[FieldError]:
    if not versions:
        return [required(path, "must specify one of " + ", ".join(ACCEPTED_VERSIONS))]
    errors: list[FieldError] = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errors.append(invalid(f"{path}[{index}]", version, "duplicate version"))
        errors += [invalid(f"{path}[{index}]", version, why) for why in dns_1035_label(version)]
    if not any(version in ACCEPTED_VERSIONS for version in versions):
        detail = "must include at least one of " + ", ".join(ACCEPTED_VERSIONS)
        errors.append(invalid(path, list(versions), detail))
    return errors
