"""Random transcripts of rights that users give each other: cluster roles, escalation, binding, reviews of rules."""

from random import Random
from typing import Any

from karmada.testing.differential.kube.scenarios import Step

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_MERGE = "application/merge-patch+json"
_RULES: tuple[dict[str, Any], ...] = (
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]},
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["o"], "verbs": ["get", "update"]},
    {"apiGroups": ["apps"], "resources": ["deployments", "deployments/scale"], "verbs": ["get", "patch"]},
    {"apiGroups": [""], "resources": ["pods/*"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["*/status"], "verbs": ["get"]},
    {"nonResourceURLs": ["/healthz", "/metrics/*"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["users", "groups", "serviceaccounts"], "verbs": ["impersonate"]},
    {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["escalate", "create"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": []},
    {"apiGroups": [""], "resources": [], "verbs": ["get"]},
    {"resources": ["pods"], "verbs": ["get"]},
    {"verbs": ["get"]},
)
_MANAGING: tuple[dict[str, Any], ...] = (
    {"resources": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"], "verbs": ["*"]},
    {"resources": ["roles", "rolebindings"], "verbs": ["create", "update", "patch", "get"]},
    {"resources": ["roles", "rolebindings", "clusterroles"], "verbs": ["create", "update", "bind", "escalate"]},
)


def grant_scenario(dice: Random) -> list[Step]:
    """A user with some rights over rights, and what that user may give away."""
    managing = {**dice.choice(_MANAGING), "apiGroups": ["rbac.authorization.k8s.io"]}
    rules = [managing, *dice.sample(_RULES[:10], dice.randint(0, 3))]
    name = "u-${run}"
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = dice.choice(
        (
            {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "User", "name": name},
            {"kind": "Group", "name": "g-${run}"},
        )
    )
    body = {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]}
    wide = dice.random() < 0.6
    bindings = f"{_RBAC}/clusterrolebindings" if wide else f"{_RBAC}/namespaces/${{ns}}/rolebindings"
    steps: list[Step] = [
        {"method": "POST", "path": f"{_RBAC}/clusterroles", "body": {"metadata": {"name": name}, "rules": rules}},
        {"method": "POST", "path": bindings, "body": body},
        {"method": "GET", "path": f"{_RBAC}/clusterroles/{name}", "pause": 0.4},
    ]
    return steps + [_attempt(dice, name) for _ in range(dice.randint(4, 8))]


def _attempt(dice: Random, name: str) -> Step:
    headers = {"Impersonate-User": name, "Content-Type": "application/json"}
    if dice.random() < 0.5:
        headers["Impersonate-Group"] = "g-${run}"
    namespaced = f"{_RBAC}/namespaces/${{ns}}"
    rules = dice.sample(_RULES, dice.randint(1, 2))
    role = {"metadata": {"name": "r"}, "rules": rules}
    target = dice.choice(
        (("Role", "r"), ("ClusterRole", "system:discovery"), ("ClusterRole", name), ("ClusterRole", "none"), ("X", "y"))
    )
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": target[0], "name": target[1]}
    binding = {"metadata": {"name": dice.choice("bc")}, "roleRef": ref, "subjects": [{"kind": "User", "name": "joe"}]}
    match dice.randrange(10):
        case 0 | 1:
            return {"method": "POST", "path": f"{namespaced}/roles", "body": role, "headers": headers}
        case 2:
            return {"method": "PUT", "path": f"{namespaced}/roles/r", "body": role, "headers": headers}
        case 3:
            patch = {"rules": rules}
            return _sent("PATCH", f"{namespaced}/roles/r", patch, {**headers, "Content-Type": _MERGE})
        case 4 | 5:
            return _sent("POST", f"{namespaced}/rolebindings", binding, headers)
        case 6:
            wide = {**role, "metadata": {"name": "w-${run}"}}
            if dice.random() < 0.3:
                wide["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
            return _sent("POST", f"{_RBAC}/clusterroles?dryRun=All", wide, headers)
        case 7:
            review = {"spec": {"namespace": dice.choice(("${ns}", "default", ""))}}
            return _sent("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review, headers)
        case 8:
            spec = {"resourceAttributes": {"verb": dice.choice(("bind", "escalate", "get")), "resource": "roles"}}
            spec["resourceAttributes"]["group"] = "rbac.authorization.k8s.io"
            return _sent("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": spec}, headers)
    path = dice.choice(
        ("/healthz", "/metrics/x", "/api/v1/namespaces/${ns}/pods", "/api/v1/namespaces/${ns}/pods/x/log")
    )
    return {"method": "GET", "path": path, "headers": headers}


def _sent(method: str, path: str, body: Any, headers: dict[str, str]) -> Step:
    return {"method": method, "path": path, "body": body, "headers": headers}
