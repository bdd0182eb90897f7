"""Who may be impersonated in a member: everybody who may use its proxy in the control plane. Decided without I/O.

The proxy asks the member in the caller's name, so the member must let the proxy's account take that name. Only the
subjects of ClusterRoleBindings count, as the proxy is cluster-scoped.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from karmada.api import labels, names
from karmada.membership.component_roles import COMPONENTS, user_of

JSONObject = dict[str, Any]
_RBAC = "rbac.authorization.k8s.io"
_PROXIES = (("cluster.karmada.io", "clusters/proxy"), ("search.karmada.io", "proxying/proxy"))
_COMPONENTS = frozenset(user_of(component) for component in COMPONENTS if component != "karmada-gateway")
"""Components that have no business in members as themselves."""
_KINDS = (("User", "users"), ("ServiceAccount", "serviceaccounts"), ("Group", "groups"))


def grants_proxy(role: Mapping[str, Any], cluster: str) -> bool:
    """Whether a ClusterRole lets its subjects use the proxy of a cluster, by whatever verb."""
    return any(_covers(rule, cluster) for rule in role.get("rules") or ())


def mentions_proxy(role: Mapping[str, Any]) -> bool:
    """Whether a ClusterRole has to do with the proxy of any cluster."""
    return any(_names_proxy(rule) is not None for rule in role.get("rules") or ())


def impersonation_rules(
    cluster: str, roles: Iterable[Mapping[str, Any]], bindings: Iterable[Mapping[str, Any]]
) -> list[JSONObject]:
    """The rules of the impersonator's role in a member."""
    granting = {role["metadata"]["name"] for role in roles if grants_proxy(role, cluster)}
    found: dict[str, set[str]] = {kind: set() for kind, _ in _KINDS}
    for binding in bindings:
        reference = binding.get("roleRef") or {}
        if reference.get("kind") == "ClusterRole" and reference.get("name") in granting:
            for subject in binding.get("subjects") or ():
                if subject.get("kind") == "User" and subject.get("name") in _COMPONENTS:
                    continue  # Their roles may name no kinds, which covers the proxy by the way: they do not use it.
                found.get(subject.get("kind", ""), set()).add(subject.get("name", ""))
    return [
        {"verbs": ["impersonate"], "apiGroups": [""], "resources": [resource], "resourceNames": sorted(found[kind])}
        for kind, resource in _KINDS
        if found[kind]
    ]


def role(rules: Sequence[JSONObject]) -> JSONObject:
    """The impersonator's role in a member."""
    return {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": _metadata(), "rules": list(rules)}


def binding(space: str) -> JSONObject:
    """Its binding to the impersonator's account."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": _metadata(),
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": names.IMPERSONATOR},
        "subjects": [{"kind": "ServiceAccount", "name": names.IMPERSONATOR, "namespace": space}],
    }


def _metadata() -> JSONObject:
    return {"name": names.IMPERSONATOR, "labels": {labels.SYSTEM: labels.TRUE}}


def _covers(rule: Mapping[str, Any], cluster: str) -> bool:
    resource = _names_proxy(rule)
    if resource is None:
        return False
    chosen = rule.get("resourceNames") or ()
    return not chosen or "*" in chosen or cluster in chosen or resource == "proxying/proxy"


def _names_proxy(rule: Mapping[str, Any]) -> str | None:
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    for group, resource in _PROXIES:
        if (group in groups or "*" in groups) and (resource in resources or "*" in resources or "*/proxy" in resources):
            return resource
    return None
