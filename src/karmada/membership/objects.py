"""The objects that membership leaves on both sides, as plain trees: what they are called and what is in them."""

import base64
from collections.abc import Mapping, Sequence

from karmada.api import labels, names
from karmada.machinery.transport import GroupVersionResource, JSONObject

NAMESPACES = GroupVersionResource("", "v1", "namespaces")
SECRETS = GroupVersionResource("", "v1", "secrets")
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
SERVICE_ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
_RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES = GroupVersionResource(_RBAC, "v1", "clusterroles")
CLUSTER_ROLE_BINDINGS = GroupVersionResource(_RBAC, "v1", "clusterrolebindings")
ROLES = GroupVersionResource(_RBAC, "v1", "roles")
ROLE_BINDINGS = GroupVersionResource(_RBAC, "v1", "rolebindings")
CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")

SYSTEM_LABELS = {labels.SYSTEM: labels.TRUE}
TOKEN_TYPE = "kubernetes.io/service-account-token"
ACCOUNT_ANNOTATION = "kubernetes.io/service-account.name"
EVERYTHING: Sequence[JSONObject] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["get"]},
)
"""What the control plane or agent may do in a member: it applies whatever a user propagates."""


def namespace(name: str) -> JSONObject:
    """A namespace of Karmada's own."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(SYSTEM_LABELS)}}


def service_account(name: str, space: str) -> JSONObject:
    """A service account of Karmada's own."""
    metadata = {"name": name, "namespace": space, "labels": dict(SYSTEM_LABELS)}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def token_secret(account: str, space: str) -> JSONObject:
    """The Secret which the member fills with a token of a service account; it is called like the account."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": account, "namespace": space, "annotations": {ACCOUNT_ANNOTATION: account}},
        "type": TOKEN_TYPE,
    }


def cluster_role(name: str, rules: Sequence[JSONObject], marks: Mapping[str, str] = SYSTEM_LABELS) -> JSONObject:
    """A ClusterRole."""
    tree: JSONObject = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    tree["rules"] = list(rules)
    return _marked(tree, marks)


def cluster_role_binding(name: str, subject: JSONObject, marks: Mapping[str, str] = SYSTEM_LABELS) -> JSONObject:
    """A ClusterRoleBinding to the ClusterRole of the same name."""
    tree: JSONObject = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}}
    tree["roleRef"] = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
    tree["subjects"] = [subject]
    return _marked(tree, marks)


def role(name: str, space: str, rules: Sequence[JSONObject]) -> JSONObject:
    """A Role."""
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": list(rules)}


def role_binding(name: str, space: str, subject: JSONObject) -> JSONObject:
    """A RoleBinding to the Role of the same name."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": space},
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
        "subjects": [subject],
    }


def account_subject(name: str, space: str) -> JSONObject:
    """A service account as a binding names it."""
    return {"kind": "ServiceAccount", "name": name, "namespace": space}


def user_subject(name: str) -> JSONObject:
    """A user as a binding names it."""
    return {"apiGroup": _RBAC, "kind": "User", "name": name}


def group_subject(name: str) -> JSONObject:
    """A group as a binding names it."""
    return {"apiGroup": _RBAC, "kind": "Group", "name": name}


def secret(name: str, space: str, data: Mapping[str, bytes], owner: JSONObject | None = None) -> JSONObject:
    """A Secret of Karmada's own."""
    metadata: JSONObject = {"name": name, "namespace": space, "labels": dict(SYSTEM_LABELS)}
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded, "type": "Opaque"}


def decoded(tree: JSONObject) -> dict[str, bytes]:
    """The content of a Secret."""
    return {key: base64.b64decode(value) for key, value in (tree.get("data") or {}).items()}


def owned_by(cluster: JSONObject) -> JSONObject:
    """The reference that makes something go with its cluster."""
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "name": cluster["metadata"]["name"],
        "uid": cluster["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def secret_names(cluster: str) -> tuple[str, str]:
    """The cluster's two Secrets in the control plane: credentials and impersonator."""
    return cluster, names.impersonation_secret(cluster)


def registration_record(cluster: str) -> str:
    """The ClusterRoleBinding that says which registration of a cluster is current (`agent_roles`)."""
    return f"system:karmada:{cluster}:agent"


def _marked(tree: JSONObject, marks: Mapping[str, str]) -> JSONObject:
    if marks:
        tree["metadata"]["labels"] = dict(marks)
    return tree
