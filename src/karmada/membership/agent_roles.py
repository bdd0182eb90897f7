"""What an agent may do in the control plane: deal with its own Cluster, Works, Secrets and lease, and nothing else.

Narrower than in the reference: an agent there may read every Cluster and every lease, and create any Cluster. Here it
reads its own only; creating is further limited by admission (`agent_writes`), as roles cannot name what does
not exist yet. Its renewals have one fixed name, so that it can read no other request.
"""

from collections.abc import Sequence
from typing import NamedTuple

from karmada.api import names
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import objects


class Wanted(NamedTuple):
    """An object of the control plane and the collection it belongs to."""

    type: GroupVersionResource
    tree: JSONObject


def agent_objects(cluster: str, space: str = names.CLUSTER_NAMESPACE, request: str = "") -> list[Wanted]:
    """The execution space and roles of an agent, in the order in which they must be made.

    `request` is the one by which it registers: it may be withdrawn when registration fails.
    """
    works = names.execution_space(cluster)
    subject = objects.user_subject(names.agent_user(cluster))
    wide = f"system:karmada:{cluster}:agent"
    secret, work = f"{wide}-secret", f"{wide}-work"
    return [
        Wanted(objects.NAMESPACES, objects.namespace(works)),
        Wanted(objects.CLUSTER_ROLES, objects.cluster_role(wide, _wide_rules(cluster, request), {})),
        Wanted(objects.CLUSTER_ROLE_BINDINGS, objects.cluster_role_binding(wide, subject, {})),
        Wanted(objects.ROLES, objects.role(secret, space, _space_rules(cluster))),
        Wanted(objects.ROLE_BINDINGS, objects.role_binding(secret, space, subject)),
        Wanted(objects.ROLES, objects.role(work, works, _WORK_RULES)),
        Wanted(objects.ROLE_BINDINGS, objects.role_binding(work, works, subject)),
    ]


def renewal_name(cluster: str) -> str:
    """The request by which an agent renews its certificate."""
    return f"{cluster}-renewal"


def _wide_rules(cluster: str, request: str) -> list[JSONObject]:
    karmada = "cluster.karmada.io"
    requests = [renewal_name(cluster), *([request] if request else [])]
    return [
        _rule(karmada, ["clusters"], ["get", "list", "watch", "delete"], [cluster]),
        _rule(karmada, ["clusters"], ["create"]),
        _rule(karmada, ["clusters/status"], ["get", "patch", "update"], [cluster]),
        _rule(karmada, ["clusters/tunnel"], ["get"], [cluster]),
        _rule(
            "config.karmada.io",
            ["resourceinterpreterwebhookconfigurations", "resourceinterpretercustomizations"],
            ["get", "list", "watch"],
        ),
        _rule("certificates.k8s.io", ["certificatesigningrequests"], ["create"]),
        _rule("certificates.k8s.io", ["certificatesigningrequests"], ["get", "delete"], requests),
        _rule("", ["events"], ["create", "patch", "update"]),
    ]


def _space_rules(cluster: str) -> list[JSONObject]:
    return [
        _rule("", ["secrets"], ["get", "patch"], list(objects.secret_names(cluster))),
        _rule("", ["secrets"], ["create"]),
        _rule("coordination.k8s.io", ["leases"], ["get", "patch", "update"], [cluster]),
        _rule("coordination.k8s.io", ["leases"], ["create"]),
    ]


def _rule(group: str, resources: list[str], verbs: list[str], only: Sequence[str] = ()) -> JSONObject:
    rule: JSONObject = {"apiGroups": [group], "resources": resources, "verbs": verbs}
    if only:
        rule["resourceNames"] = list(only)
    return rule


_WORK_RULES = [
    _rule("work.karmada.io", ["works"], ["get", "create", "list", "watch", "update", "patch", "delete"]),
    _rule("work.karmada.io", ["works/status"], ["get", "patch", "update"]),
]
