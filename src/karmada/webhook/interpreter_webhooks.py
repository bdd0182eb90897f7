"""Judges ResourceInterpreterWebhookConfigurations: names, rules, addresses and versions that can work."""

from karmada.api.config.v1alpha1 import (
    InterpreterOperation,
    ResourceInterpreterWebhook,
    ResourceInterpreterWebhookConfiguration,
    RuleWithOperations,
    ServiceReference,
    WebhookClientConfig,
)
from karmada.api.field_errors import FieldError, duplicate, invalid, not_supported, required
from karmada.api.name_rules import dns_1035_label, dns_label, dns_subdomain
from karmada.api.webhook_urls import service_path_errors, url_errors
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
    name = name.removesuffix(".")
    if problems := dns_subdomain(name):
        return [invalid(path, name, ",".join(problems))]
    if "." not in name:
        return [invalid(path, name, "should be a domain with at least two segments separated by dots")]
    too_long = next((label for label in name.split(".") if dns_label(label)), None)
    return [] if too_long is None else [invalid(path, too_long, ",".join(dns_label(too_long)))]


def _rule_errors(rule: RuleWithOperations, path: str) -> list[FieldError]:
    known = {operation.value for operation in InterpreterOperation}
    errors = _list_errors(rule.operations, f"{path}.operations", "operations")
    errors += [
        not_supported(f"{path}.operations[{index}]", operation, known)
        for index, operation in enumerate(rule.operations)
        if operation not in known
    ]
    errors += _list_errors(rule.api_groups, f"{path}.apiGroups", "API groups")
    for name, values, spoken in (("apiVersions", rule.api_versions, "API versions"), ("kinds", rule.kinds, "kinds")):
        errors += _list_errors(values, f"{path}.{name}", spoken)
        errors += [required(f"{path}.{name}[{index}]") for index, value in enumerate(values) if not value]
    return errors


def _list_errors(values: tuple[str, ...], path: str, spoken: str) -> list[FieldError]:
    """A list must say something, and everything only alone."""
    if not values:
        return [required(path)]
    if "*" in values and len(values) > 1:
        return [invalid(path, list(values), f"if '*' is present, must not specify other {spoken}")]
    return []


def _client_errors(client: WebhookClientConfig, path: str) -> list[FieldError]:
    if (client.url is None) == (client.service is None):
        return [required(path, "exactly one of url or service is required")]
    if client.url is not None:
        return url_errors(client.url, f"{path}.url")
    return _service_errors(client.service, f"{path}.service") if client.service is not None else []


def _service_errors(service: ServiceReference, path: str) -> list[FieldError]:
    errors = [] if service.name else [required(f"{path}.name")]
    errors += [] if service.namespace else [required(f"{path}.namespace")]
    port = service.port
    if port is not None and not 1 <= port <= 65535:
        errors.append(invalid(f"{path}.port", port, "port is not valid: must be between 1 and 65535, inclusive"))
    return errors + service_path_errors(service.path or "", f"{path}.path")


def _version_errors(versions: tuple[str, ...], path: str) -> list[FieldError]:
    if not versions:
        return [required(path, "must specify one of " + ", ".join(ACCEPTED_VERSIONS))]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            errors.append(invalid(f"{path}[{index}]", version, "duplicate version"))
            continue
        seen.add(version)
        errors += [invalid(f"{path}[{index}]", version, why) for why in dns_1035_label(version)]
    if not any(version in ACCEPTED_VERSIONS for version in versions):
        detail = "must include at least one of " + ", ".join(ACCEPTED_VERSIONS)
        errors.append(invalid(path, list(versions), detail))
    return errors
