"""Which requests admission webhooks and policies are about: rules of the rules they name them with."""

from karmada.api.field_errors import FieldError, duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, one_of, repeated, selector, unsupported

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")


def default_match(match: JSONObject | None) -> None:
    """Fill in what a description of requests leaves open."""
    if match is None:
        return
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(field) or ():
            rule.setdefault("scope", "*")


def match_errors(match: JSONObject, path: str) -> Errors:
    """What is wrong with a description of requests."""
    errors = one_of(f"{path}.matchPolicy", match["matchPolicy"], ("Equivalent", "Exact"))
    errors += selector(f"{path}.namespaceSelector", match.get("namespaceSelector"))
    errors += selector(f"{path}.objectSelector", match.get("objectSelector"))
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(field) or ()):
            place = f"{path}.{field}[{index}]"
            names = rule.get("resourceNames") or []
            errors += rule_errors(rule, place)
            errors += [duplicate(f"{place}.resourceNames[{at}]", names[at]) for at in repeated(names)]
    return errors


def changing_errors(match: JSONObject, path: str) -> Errors:
    """Nothing of a deleted object can be changed: rules of mutating policies must not name deletions."""
    allowed = tuple(name for name in _OPERATIONS if name != "DELETE")
    return [
        unsupported(f"{path}.resourceRules.operations", operation, allowed)
        for rule in match.get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in allowed
    ]


def rule_errors(rule: JSONObject, path: str) -> Errors:
    """What is wrong with one rule."""
    operations = rule.get("operations") or []
    errors = _one_wildcard(operations, f"{path}.operations", "operations")
    for at, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            errors.append(unsupported(f"{path}.operations[{at}]", operation, _OPERATIONS))
    errors += _one_wildcard(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    errors += _one_wildcard(versions, f"{path}.apiVersions", "API versions")
    errors += [required(f"{path}.apiVersions[{at}]") for at, version in enumerate(versions) if not version]
    errors += _resources(rule.get("resources") or [], f"{path}.resources")
    if rule.get("scope") is not None:
        errors += one_of(f"{path}.scope", rule["scope"], ("*", "Cluster", "Namespaced"))
    return errors


def _one_wildcard(values: list[str], field: str, what: str) -> Errors:
    if not values:
        return [required(field)]
    if len(values) > 1 and "*" in values:
        return [invalid(field, values, f"if '*' is present, must not specify other {what}")]
    return []


def _resources(resources: list[str], field: str) -> Errors:
    """Resources and subresources, none of which a wildcard before it covers already.

    Beside `*` plain resources are refused only when one of them comes last, as in the reference.
    """
    errors: Errors = [] if resources else [required(field)]
    whole: set[str] = set()
    everywhere: set[str] = set()
    plain_last = False
    for at, name in enumerate(resources):
        if not name:
            errors.append(required(f"{field}[{at}]"))
            continue
        resource, slash, subresource = name.partition("/")
        if not slash:
            plain_last = name != "*"
            continue
        if resource in whole:
            errors.append(_covered(f"{field}[{at}]", name, f"{resource}/*"))
        if subresource in everywhere:
            errors.append(_covered(f"{field}[{at}]", name, f"*/{subresource}"))
        if subresource == "*":
            whole.add(resource)
        if resource == "*":
            everywhere.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(field, resources, "if '*/*' is present, must not specify other resources"))
    if plain_last and "*" in resources:
        text = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(field, resources, text))
    return errors


def _covered(field: str, name: str, wildcard: str) -> FieldError:
    return invalid(field, name, f"if '{wildcard}' is present, must not specify {name}")
