"""Rules of RBAC objects. Whether the author may grant what a role grants is the authoriser's question."""

from collections.abc import Callable

from karmada.api import name_rules
from karmada.api.field_errors import FieldError, invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, selector, strategy, unsupported
from karmada.apiserver.schema.metadata import path_segment

_GROUP = "rbac.authorization.k8s.io"
_KINDS = ("ServiceAccount", "User", "Group")


def _rules(rules: list[JSONObject], path: str, namespaced: bool) -> Errors:
    errors: Errors = []
    for index, rule in enumerate(rules):
        place = f"{path}[{index}]"
        if not rule.get("verbs"):
            errors.append(required(f"{place}.verbs", "verbs must contain at least one value"))
        urls = rule.get("nonResourceURLs") or []
        if urls:
            if namespaced:
                text = "namespaced rules cannot apply to non-resource URLs"
                errors.append(invalid(f"{place}.nonResourceURLs", urls, text))
            elif rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                errors.append(invalid(f"{place}.nonResourceURLs", urls, text))
            continue
        if not rule.get("apiGroups"):
            errors.append(required(f"{place}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            errors.append(required(f"{place}.resources", "resource rules must supply at least one resource"))
    return errors


def _validate_role(obj: JSONObject, old: JSONObject | None) -> Errors:
    return _rules(obj.get("rules") or [], "rules", True)


def _validate_cluster_role(obj: JSONObject, old: JSONObject | None) -> Errors:
    errors = _rules(obj.get("rules") or [], "rules", False)
    aggregation = obj.get("aggregationRule")
    if aggregation is not None:
        selectors = aggregation.get("clusterRoleSelectors") or []
        path = "aggregationRule.clusterRoleSelectors"
        if not selectors:
            errors.append(required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
        for index, value in enumerate(selectors):
            found = selector(f"{path}[{index}]", value)
            errors += found
            if found:
                errors.append(invalid(f"{path}[{index}]", value, "invalid label selector"))
    return errors


def _default_binding(obj: JSONObject) -> None:
    obj["roleRef"]["apiGroup"] = obj["roleRef"].get("apiGroup") or _GROUP
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = _GROUP


def _binding(roles: tuple[str, ...], namespaced: bool) -> Callable[[JSONObject, JSONObject | None], list[FieldError]]:
    def validate(obj: JSONObject, old: JSONObject | None) -> Errors:
        ref = obj["roleRef"]
        errors: Errors = []
        if ref.get("apiGroup") != _GROUP:
            errors.append(unsupported("roleRef.apiGroup", ref.get("apiGroup"), (_GROUP,)))
        if ref.get("kind") not in roles:
            errors.append(unsupported("roleRef.kind", ref.get("kind") or "", roles))
        if not ref.get("name"):
            errors.append(required("roleRef.name"))
        else:
            errors += [invalid("roleRef.name", ref["name"], why) for why in path_segment(ref["name"])]
        for index, subject in enumerate(obj.get("subjects") or ()):
            errors += _subject(subject, f"subjects[{index}]", namespaced)
        if old is not None and ref != old["roleRef"]:
            shown = {"APIGroup": ref.get("apiGroup"), "Kind": ref.get("kind"), "Name": ref.get("name")}
            errors.append(invalid("roleRef", shown, "cannot change roleRef"))
        return errors

    return validate


def _subject(subject: JSONObject, path: str, namespaced: bool) -> Errors:
    errors: Errors = []
    kind, group = subject.get("kind") or "", subject.get("apiGroup") or ""
    if not subject.get("name"):
        errors.append(required(f"{path}.name"))
    if kind == "ServiceAccount":
        if subject.get("name"):
            errors += [
                invalid(f"{path}.name", subject["name"], why) for why in name_rules.dns_subdomain(subject["name"])
            ]
        if group:
            errors.append(unsupported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != _GROUP:
            errors.append(unsupported(f"{path}.apiGroup", group, (_GROUP,)))
    else:
        errors.append(unsupported(f"{path}.kind", kind, _KINDS))
    return errors


ROLE = strategy(validate=_validate_role, name=path_segment, create_on_update=True)
CLUSTER_ROLE = strategy(validate=_validate_cluster_role, name=path_segment, namespaced=False, create_on_update=True)
ROLE_BINDING = strategy(
    _default_binding, _binding(("Role", "ClusterRole"), True), name=path_segment, create_on_update=True
)
CLUSTER_ROLE_BINDING = strategy(
    _default_binding, _binding(("ClusterRole",), False), name=path_segment, namespaced=False, create_on_update=True
)
