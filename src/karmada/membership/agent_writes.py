"""What roles cannot say about agents: an agent creates nothing but what is its own. Without I/O.

Roles name objects that exist; the right to create holds for every name. A hostile agent could otherwise make a Cluster
whose Secret is another member's, and have the control plane send that member's token wherever it likes; a Secret for
which the control plane mints a token of an account of its own; a request that stands in the way of another agent's; or
events that seem to be about other clusters. What an agent reports has the bounds that the control plane keeps to where
it reports itself, since others read it with every decision. Applied by the servers of this project as admission, and by
karmada-webhook beside any other API server.
"""

from typing import Any

import msgspec

from karmada.api import annotations, labels, names
from karmada.machinery.limits import ENABLEMENTS, STATUS, SUMMARY
from karmada.membership import objects
from karmada.membership.agent_roles import is_own_request

CLUSTERS, SECRETS, LEASES = ("cluster.karmada.io", "clusters"), ("", "secrets"), ("coordination.k8s.io", "leases")
REQUESTS, EVENTS = ("certificates.k8s.io", "certificatesigningrequests"), ("", "events")
WORKS = ("work.karmada.io", "works")
JUDGED = (CLUSTERS, SECRETS, LEASES, REQUESTS, EVENTS, WORKS)
"""(group, plural) of what agents may write and others own as well."""
REPORTED = (CLUSTERS, WORKS)
"""Those of them whose statuses agents write."""
BINDING_MARKS = {
    "labels": (labels.RESOURCE_BINDING_PERMANENT_ID, labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID),
    "annotations": (
        annotations.RESOURCE_BINDING_NAMESPACE,
        annotations.RESOURCE_BINDING_NAME,
        annotations.CLUSTER_RESOURCE_BINDING_NAME,
    ),
}
"""By which a Work says that it was made for a binding."""


def problem(
    user: str, kind: tuple[str, str], name: str, tree: dict[str, Any], before: dict[str, Any] | None = None
) -> str:
    """Why an agent may not write an object; empty when it may, or when roles alone decide."""
    cluster = user.removeprefix(names.AGENT_USER_PREFIX)
    status = tree.get("status")
    # What is stored stays as it is.
    reported = status if isinstance(status, dict) and status != (before or {}).get("status") else {}
    if kind == CLUSTERS:
        return _cluster_problem(cluster, name, tree.get("spec") or {}) or _state_problem(reported)
    if kind == SECRETS:
        return _secret_problem(cluster, name, tree)
    if kind == LEASES and name != cluster:
        return "an agent renews the lease of its own cluster only"
    if kind == REQUESTS and not is_own_request(cluster, name):
        return f"a request of the agent of {cluster} is called {cluster}-renewal"
    if kind == EVENTS:
        return _event_problem(cluster, tree)
    if kind == WORKS and _marks(tree) != _marks(before or {}):
        return "a Work is made for a binding by the control plane only: agents collect endpoints into Works of nobody's"
    return _report_problem(reported) if kind == WORKS else ""


def _marks(work: dict[str, Any]) -> list[Any]:
    """How a Work says for which binding it was made."""
    metadata = work.get("metadata") or {}
    return [(metadata.get(field) or {}).get(key) for field, keys in BINDING_MARKS.items() for key in keys]


def keep_remedies(cluster: dict[str, Any], before: dict[str, Any]) -> None:
    """Have a Cluster's status ask for what Remedies ask for, whatever its agent reports: one that traffic is kept from
    may not say that it is not."""
    asked, status = (before.get("status") or {}).get("remedyActions"), cluster.get("status") or {}
    if isinstance(status, dict):  # else it is refused
        kept = {key: value for key, value in status.items() if key != "remedyActions"}
        cluster["status"] = kept | ({"remedyActions": asked} if asked else {})


def _event_problem(cluster: str, tree: dict[str, Any]) -> str:
    """Tools find events about objects without a namespace in all namespaces, by the name and kind they are about."""
    about = tree.get("involvedObject") or {}
    if about.get("kind") == "Cluster" and about.get("name") != cluster:
        return f"the agent of {cluster} may write no events about other clusters"
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


def _state_problem(status: dict[str, Any]) -> str:
    """What is too much in the status of a Cluster: the scheduler reads it for every binding."""
    for field, value in status.items():
        most = ENABLEMENTS if field == "apiEnablements" else SUMMARY
        if _size(value) > most:
            return f"status.{field} of a Cluster has at most {most} bytes: report less of the member"
    grades = [item.get("grade", 0) for item in _items(status.get("resourceSummary"), "allocatableModelings")]
    if len(grades) != len({str(grade) for grade in grades}):
        return "status.resourceSummary.allocatableModelings has two counts for one grade: report their sum"
    return ""


def _report_problem(status: dict[str, Any]) -> str:
    """What is too much in the status of a Work: statuses are copied into the status of its binding."""
    statuses = [item["status"] for item in _items(status, "manifestStatuses") if item.get("status") is not None]
    if sum(map(_size, statuses)) > STATUS:
        return (
            f"statuses in status.manifestStatuses of a Work have at most {STATUS} bytes together: leave large ones out"
        )
    return ""


def _items(tree: Any, field: str) -> list[dict[str, Any]]:
    """The objects of a list; what has another type is refused elsewhere."""
    found = tree.get(field) if isinstance(tree, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _size(value: Any) -> int:
    return len(msgspec.json.encode(value))


def _secret_problem(cluster: str, name: str, tree: dict[str, Any]) -> str:
    if name not in objects.secret_names(cluster):
        return f"the agent of {cluster} may write no other secrets than {', '.join(objects.secret_names(cluster))}"
    return "" if tree.get("type", "Opaque") == "Opaque" else "the secrets of a cluster are Opaque"
