"""Rules of FlowSchemas and PriorityLevelConfigurations."""

from typing import Any

from karmada.api import name_rules
from karmada.api.field_errors import forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_subdomain,
    one_of,
    strategy,
    unsupported,
)
from karmada.apiserver.builtin.strategies.statuses import typed_conditions
from karmada.apiserver.schema.metadata import in_characters

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_QUEUES = 10_000_000


def _default_flow_schema(obj: JSONObject) -> None:
    obj["spec"]["matchingPrecedence"] = obj["spec"].get("matchingPrecedence") or 1000


def _validate_flow_schema(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors: Errors = []
    precedence = spec["matchingPrecedence"]
    if precedence <= 0:
        errors.append(invalid("spec.matchingPrecedence", precedence, "must be a positive value"))
    elif precedence > 10000:
        errors.append(invalid("spec.matchingPrecedence", precedence, "must not be greater than 10000"))
    if precedence == 1 and obj["metadata"].get("name") != "exempt":
        text = "only the schema named 'exempt' may have matchingPrecedence 1"
        errors.append(invalid("spec.matchingPrecedence", precedence, text))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in ("ByUser", "ByNamespace"):
        shown = {"Type": method.get("type") or ""}
        errors.append(unsupported("spec.distinguisherMethod.type", shown, ("ByNamespace", "ByUser")))
    level = spec["priorityLevelConfiguration"].get("name")
    if level:
        errors += dns_subdomain("spec.priorityLevelConfiguration.name", level)
    else:
        errors.append(required("spec.priorityLevelConfiguration.name", "must reference a priority level"))
    for index, rule in enumerate(spec.get("rules") or ()):
        errors += _rule(rule, f"spec.rules[{index}]")
    return errors


def _rule(rule: JSONObject, path: str) -> Errors:
    errors: Errors = []
    if not rule.get("subjects"):
        errors.append(required(f"{path}.subjects", "subjects must contain at least one value"))
    for index, subject in enumerate(rule.get("subjects") or ()):
        errors += _subject(subject, f"{path}.subjects[{index}]")
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        errors.append(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
    for index, one in enumerate(rule.get("resourceRules") or ()):
        errors += _resource_rule(one, f"{path}.resourceRules[{index}]")
    for index, one in enumerate(rule.get("nonResourceRules") or ()):
        errors += _url_rule(one, f"{path}.nonResourceRules[{index}]")
    return errors


def _subject(subject: JSONObject, path: str) -> Errors:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        return [unsupported(f"{path}.kind", kind, sorted(_SUBJECTS))]
    errors: Errors = []
    for other, field in sorted(_SUBJECTS.items(), key=lambda item: item[0] != kind):
        found = subject.get(field)
        if other != kind:
            if found is not None:
                text = f"{field} is forbidden when subject kind is not '{other}'"
                errors.append(forbidden(f"{path}.{field}", text))
        elif found is None:
            errors.append(required(f"{path}.{field}", f"{field} is required when subject kind is '{kind}'"))
        elif kind == "ServiceAccount":
            errors += _account(found, f"{path}.{field}")
        elif not found.get("name"):
            errors.append(required(f"{path}.{field}.name"))
    return errors


def _account(account: JSONObject, path: str) -> Errors:
    name, namespace = account.get("name") or "", account.get("namespace") or ""
    errors: Errors = []
    if not name:
        errors.append(required(f"{path}.name"))
    elif name != "*":
        errors += dns_subdomain(f"{path}.name", name)
    if not namespace:
        errors.append(required(f"{path}.namespace", "must specify namespace for service account"))
    elif problems := in_characters(name_rules.dns_label(namespace)):
        errors += [invalid(f"{path}.namespace", namespace, problem) for problem in problems]
    return errors


def _wildcard(field: str, values: list[Any], none: str, others: str) -> Errors:
    if not values:
        return [required(field, none)]
    if "*" in values and len(values) > 1:
        return [invalid(field, values, f"if '*' is present, must not specify other {others}")]
    return []


def _verbs(rule: JSONObject, path: str, choices: tuple[str, ...]) -> Errors:
    verbs = rule.get("verbs") or []
    errors = _wildcard(f"{path}.verbs", verbs, "verbs must contain at least one value", "verbs")
    if not errors and "*" not in verbs and not set(verbs) <= set(choices):
        errors.append(unsupported(f"{path}.verbs", verbs, choices))
    return errors


def _resource_rule(rule: JSONObject, path: str) -> Errors:
    errors = _verbs(rule, path, _VERBS)
    for field, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        text = f"resource rules must supply at least one {one}"
        errors += _wildcard(f"{path}.{field}", rule.get(field) or [], text, many)
    namespaces = rule.get("namespaces") or []
    place = f"{path}.namespaces"
    if not namespaces:
        if not rule.get("clusterScope"):
            text = "resource rules that are not cluster scoped must supply at least one namespace"
            errors.append(required(place, text))
        return errors
    found = _wildcard(place, namespaces, "", "namespaces")
    if found:
        return errors + found
    for index, namespace in enumerate(namespaces):
        if namespace != "*":
            text = "each member of this list must be '*' or a DNS-1123 label; "
            problems = in_characters(name_rules.dns_label(namespace))
            errors += [invalid(f"{place}[{index}]", namespace, text + problem) for problem in problems]
    return errors


def _url_rule(rule: JSONObject, path: str) -> Errors:
    errors = _verbs(rule, path, ("delete", "get", "head", "options", "patch", "post", "put"))
    urls = rule.get("nonResourceURLs") or []
    field = f"{path}.nonResourceURLs"
    found = _wildcard(field, urls, "nonResourceURLs must contain at least one value", "non-resource URLs")
    if found or "*" in urls:
        return errors + found
    for index, url in enumerate(urls):
        if problem := _url_problem(url):
            errors.append(invalid(f"{field}[{index}]", url, problem))
    return errors


def _url_problem(url: str) -> str:
    if not url:
        return "must not be empty"
    if url == "/":
        return ""
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    return "wildcard can only do suffix matching" if "*" in url and not url.endswith("/*") else ""


def _default_priority_level(obj: JSONObject) -> None:
    spec = obj["spec"]
    limited = spec.get("limited")
    if limited is not None:
        if limited.get("nominalConcurrencyShares") is None:
            limited["nominalConcurrencyShares"] = 30
        limited.setdefault("lendablePercent", 0)
        response = limited["limitResponse"]
        if response.get("type") == "Queue":
            queuing = response.setdefault("queuing", {})
            for field, value in (("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)):
                queuing[field] = queuing.get(field) or value
    exempt = spec.get("exempt")
    if exempt is not None:
        exempt.setdefault("nominalConcurrencyShares", 0)
        exempt.setdefault("lendablePercent", 0)


def _validate_priority_level(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    kind = spec.get("type") or ""
    if not kind:
        return [required("spec.type")]
    if kind == "Exempt":
        text = "must be nil if the type is not Limited"
        wrong = [forbidden("spec.limited", text)] if spec.get("limited") is not None else []
        return wrong + _shares(spec.get("exempt") or {}, "spec.exempt")
    if kind != "Limited":
        return one_of("spec.type", kind, ("Exempt", "Limited"))
    errors: Errors = []
    if spec.get("exempt") is not None:
        errors.append(forbidden("spec.exempt", "must be nil if the type is Limited"))
    limited = spec.get("limited")
    if limited is None:
        return [*errors, required("spec.limited", "must not be empty when type is Limited")]
    errors += _shares(limited, "spec.limited") + _response(limited["limitResponse"], "spec.limited.limitResponse")
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        text = "if specified, must be a non-negative integer"
        errors.append(invalid("spec.limited.borrowingLimitPercent", borrowing, text))
    return errors


def _shares(value: JSONObject, path: str) -> Errors:
    errors: Errors = []
    shares, lendable = value.get("nominalConcurrencyShares") or 0, value.get("lendablePercent") or 0
    if shares < 0:
        errors.append(invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer"))
    if not 0 <= lendable <= 100:
        errors.append(invalid(f"{path}.lendablePercent", lendable, "must be between 0 and 100, inclusive"))
    return errors


def _response(response: JSONObject, path: str) -> Errors:
    kind, queuing = response.get("type") or "", response.get("queuing")
    if not kind:
        return [required(f"{path}.type")]
    if kind == "Reject":
        text = "must be nil if limited.limitResponse.type is not Limited"
        return [forbidden(f"{path}.queuing", text)] if queuing is not None else []
    if kind != "Queue":
        return [unsupported(f"{path}.type", kind, ("Queue", "Reject"))]
    if queuing is None:
        return [required(f"{path}.queuing", "must not be empty if limited.limitResponse.type is Limited")]
    errors: Errors = []
    for field in ("queueLengthLimit", "queues", "handSize"):
        if queuing[field] <= 0:
            errors.append(invalid(f"{path}.queuing.{field}", queuing[field], "must be positive"))
    queues, hand = queuing["queues"], queuing["handSize"]
    if queues > _QUEUES:
        errors.append(invalid(f"{path}.queuing.queues", queues, f"must not be greater than {_QUEUES}"))
    if 0 < queues < hand:
        errors.append(invalid(f"{path}.queuing.handSize", hand, f"should not be greater than queues ({queues})"))
    return errors


FLOW_SCHEMA = strategy(
    _default_flow_schema,
    _validate_flow_schema,
    namespaced=False,
    generation=True,
    validate_status=typed_conditions,
)
PRIORITY_LEVEL = strategy(
    _default_priority_level,
    _validate_priority_level,
    namespaced=False,
    generation=True,
    validate_status=typed_conditions,
)
