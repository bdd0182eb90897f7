"""What roles cannot say about agents: an agent creates nothing but its own Cluster, Secrets and lease. Without I/O.

Roles name objects that exist; the right to create holds for every name. A hostile agent could otherwise make a Cluster
whose Secret is another member's, and have the control plane send that member's token wherever it likes; or a Secret for
which the control plane mints a token of an account of its own. Applied by the servers of this project as admission, and
by karmada-webhook beside any other API server.
"""

from typing import Any

from karmada.api import names
from karmada.membership import objects

CLUSTERS, SECRETS, LEASES = ("cluster.karmada.io", "clusters"), ("", "secrets"), ("coordination.k8s.io", "leases")
JUDGED = (CLUSTERS, SECRETS, LEASES)
"""(group, plural) of what agents may write and others own as well."""


def is_agent(user: str) -> bool:
    """Whether a user is an agent of some cluster."""
    return user.startswith(names.AGENT_USER_PREFIX)


def problem(user: str, kind: tuple[str, str], name: str, tree: dict[str, Any]) -> str:
    """Why an agent may not write an object; empty when it may, or when roles alone decide."""
    cluster = user.removeprefix(names.AGENT_USER_PREFIX)
    if kind == CLUSTERS:
        return _cluster_problem(cluster, name, tree.get("spec") or {})
    if kind == SECRETS:
        return _secret_problem(cluster, name, tree)
    if kind == LEASES and name != cluster:
        return "an agent renews the lease of its own cluster only"
    return ""


def _cluster_problem(cluster: str, name: str, spec: dict[str, Any]) -> str:
    if name != cluster:
        return f"the agent of {cluster} may write no other cluster"
    if spec.get("syncMode") != "Pull":
        return "a cluster with an agent is in Pull mode"
    own, impersonator = objects.secret_names(cluster)
    for field, wanted in (("secretRef", own), ("impersonatorSecretRef", impersonator)):
        reference = spec.get(field)
        if reference and (reference.get("name"), reference.get("namespace")) != (wanted, names.CLUSTER_NAMESPACE):
            return f"spec.{field} must be {names.CLUSTER_NAMESPACE}/{wanted}"
    return ""


def _secret_problem(cluster: str, name: str, tree: dict[str, Any]) -> str:
    if name not in objects.secret_names(cluster):
        return f"the agent of {cluster} may write no other secrets than {', '.join(objects.secret_names(cluster))}"
    return "" if tree.get("type", "Opaque") == "Opaque" else "the secrets of a cluster are Opaque"
