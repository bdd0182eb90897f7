"""The webhook configurations that make an API server ask karmada-webhook, as data.

`client_config(path)` says how the server reaches a path, and which authority it can trust.
"""

from collections.abc import Callable

from karmada.api import labels
from karmada.webhook.agents import agent_webhook
from karmada.webhook.handlers import HANDLERS
from karmada.webhook.model import Handler, JSONObject, Operation

ClientConfig = Callable[[str], JSONObject]

MUTATING, VALIDATING = "mutating-config", "validating-config"
CONVERSION = "/convert"
"""The path that converts bindings between their versions."""
SECONDS = 3
PATIENT_SECONDS = 10
"""For scripts, which are parsed."""
_BOOKING = frozenset({"resourcebindings"})
"""Judging a binding books its share of quotas."""
_PATIENT = frozenset({"resourceinterpretercustomizations"})
_ORDER = (Operation.CREATE, Operation.UPDATE, Operation.DELETE)


def by_url(address: str, authority: str) -> ClientConfig:
    """Reached at a URL; `authority` is PEM in base64."""
    return lambda path: {"url": address.rstrip("/") + path, "caBundle": authority}


def configurations(client_config: ClientConfig) -> list[JSONObject]:
    """Both configurations."""
    mutating = [_webhook(h, h.mutate_path, h.mutate_on, client_config) for h in HANDLERS if h.mutate]
    validating = [_webhook(h, h.validate_path, h.validate_on, client_config) for h in HANDLERS if h.validate]
    return [
        _configuration("MutatingWebhookConfiguration", MUTATING, mutating),
        _configuration("ValidatingWebhookConfiguration", VALIDATING, [*validating, agent_webhook(client_config)]),
    ]


def _configuration(kind: str, name: str, webhooks: list[JSONObject]) -> JSONObject:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {labels.SYSTEM: "true"}},
        "webhooks": webhooks,
    }


def _webhook(handler: Handler, path: str, on: frozenset[Operation], client_config: ClientConfig) -> JSONObject:
    rule = {
        "operations": [operation.value for operation in _ORDER if operation in on],
        "apiGroups": [handler.group],
        "apiVersions": [handler.version],
        "resources": [handler.resource],
        "scope": "*",
    }
    webhook: JSONObject = {
        "name": handler.name,
        "clientConfig": client_config(path),
        "rules": [rule],
        "failurePolicy": "Fail",
        "sideEffects": "NoneOnDryRun" if handler.resource in _BOOKING and path == handler.validate_path else "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": PATIENT_SECONDS if handler.resource in _PATIENT else SECONDS,
    }
    if handler.resource == "*":
        protected = {"key": labels.DELETION_PROTECTED, "operator": "Exists"}
        webhook["objectSelector"] = {"matchExpressions": [protected]}
    return webhook
