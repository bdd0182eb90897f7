"""Which writes a webhook or an admission policy concerns: rules, scope, namespace and object selectors."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from karmada.api import label_selector
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.resources import JSONObject, ResourceType

_NEVER = frozenset(
    {
        "validatingwebhookconfigurations",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    }
)
"""Configuration of admission itself, which admission must not be able to lock."""


class Matched(NamedTuple):
    """The resource a rule matched: the request's own, or an equivalent version of it."""

    type: ResourceType


def is_exempt(request: AdmissionRequest) -> bool:
    """Whether no webhook or policy may see the request."""
    return request.type.group == "admissionregistration.k8s.io" and request.type.plural in _NEVER


def match_rules(
    rules: Iterable[JSONObject], policy: str, request: AdmissionRequest, catalog: Catalog
) -> Matched | None:
    """The first rule that matches the request, or with policy Equivalent another version of its resource."""
    rules = list(rules)
    if any(_rule(rule, request, request.type) for rule in rules):
        return Matched(request.type)
    if policy == "Exact":
        return None
    for served in catalog:
        other = served.type
        if other is request.type or other.stored_as != request.type.stored_as:
            continue
        if any(_rule(rule, request, other) for rule in rules):
            return Matched(other)
    return None


def _rule(rule: JSONObject, request: AdmissionRequest, type_: ResourceType) -> bool:
    operations = rule.get("operations") or ()
    if "*" not in operations and request.operation.value not in operations:
        return False
    if not _contains(rule.get("apiGroups"), type_.group) or not _contains(rule.get("apiVersions"), type_.version):
        return False
    scope = rule.get("scope") or "*"
    namespaced = type_.namespaced
    if scope != "*" and (scope == "Namespaced") is not namespaced:
        return False
    names = rule.get("resourceNames")
    if names and request.name not in names:
        return False
    return any(_resource(pattern, type_.plural, request.subresource) for pattern in rule.get("resources") or ())


def _contains(values: list[str] | None, value: str) -> bool:
    return values is not None and ("*" in values or value in values)


def _resource(pattern: str, resource: str, subresource: str) -> bool:
    wanted, _, wanted_sub = pattern.partition("/")
    if wanted not in ("*", resource):
        return False
    return wanted_sub == "*" or wanted_sub == subresource


def selects_namespace(selector: Any, request: AdmissionRequest, labels: Mapping[str, str] | None) -> bool:
    """Whether the namespace of a request is selected; cluster-scoped objects but namespaces always are."""
    if not selector:
        return True
    if request.type.plural == "namespaces" and not request.type.group:
        source = request.object or request.old or {}
        labels = (source.get("metadata") or {}).get("labels") or {}
    elif not request.type.namespaced:
        return True
    return label_selector.from_json(selector).matches(labels or {})


def selects_object(selector: Any, request: AdmissionRequest) -> bool:
    """Whether the new or the old object is selected."""
    if not selector:
        return True
    wanted = label_selector.from_json(selector)
    for obj in (request.object, request.old):
        if obj is not None and wanted.matches((obj.get("metadata") or {}).get("labels") or {}):
            return True
    return False
