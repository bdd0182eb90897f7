"""Who the components are in the control plane, and what each of them may do there.

Every component has a certificate of its own (`system:karmada:<component>`) and rights for its own job. The controller
manager reads and updates templates of every kind there may ever be, so it alone has rights that name no kinds: to read
and to update, never to create, delete or impersonate.
"""

from collections.abc import Sequence
from typing import Any

from karmada.membership import objects

JSONObject = dict[str, Any]
READ = ("get", "list", "watch")
UPDATE = ("patch", "update")
WRITE = ("create", "delete", *UPDATE)
SYSTEM = "karmada-system"


def user_of(component: str) -> str:
    """The name in a component's certificate."""
    return f"system:karmada:{component.removeprefix('karmada-')}"


def rights() -> list[JSONObject]:
    """The roles of all components and who has them."""
    made: list[JSONObject] = []
    for component, rules in _RULES.items():
        user = user_of(component)
        subject = objects.user_subject(user)
        made.append(objects.cluster_role(user, [dict(rule) for rule in rules], {}))
        made.append(objects.cluster_role_binding(user, subject, {}))
        if component in _ELECTED:
            made.append(objects.role(user, SYSTEM, _lease_rules(component)))
            made.append(objects.role_binding(user, SYSTEM, subject))
    reader = objects.role_binding("karmada-aggregated-apiserver-auth-reader", "kube-system", _aggregated())
    reader["roleRef"]["name"] = "extension-apiserver-authentication-reader"
    delegator = objects.cluster_role_binding("karmada-aggregated-apiserver-auth-delegator", _aggregated(), {})
    delegator["roleRef"]["name"] = "system:auth-delegator"
    return [*made, reader, delegator]


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str], only: Sequence[str] = ()) -> JSONObject:
    rule: JSONObject = {"apiGroups": [group], "resources": list(resources), "verbs": sorted(verbs)}
    return rule | {"resourceNames": list(only)} if only else rule


def _lease_rules(component: str) -> list[JSONObject]:
    leases = "coordination.k8s.io"
    return [_rule(leases, ["leases"], ["create"]), _rule(leases, ["leases"], ["get", "update"], [component])]


def _aggregated() -> JSONObject:
    return objects.user_subject(user_of("karmada-aggregated-apiserver"))


_EVENTS = _rule("", ["events"], ["create", *UPDATE])
_REVIEWS = (
    _rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
    _rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
)
_BINDINGS = ("clusterresourcebindings", "resourcebindings")
_ROLES = ("clusterrolebindings", "clusterroles", "rolebindings", "roles")
_ELECTED = frozenset({"karmada-controller-manager", "karmada-descheduler", "karmada-scheduler"})
_RULES: dict[str, tuple[JSONObject, ...]] = {
    "karmada-aggregated-apiserver": (
        _rule("", ["secrets"], ["get"]),
        # It decides from the control plane's own roles who may do what with clusters.
        _rule("rbac.authorization.k8s.io", _ROLES, READ),
    ),
    "karmada-controller-manager": (
        _rule("*", ["*"], (*READ, *UPDATE)),
        _rule("work.karmada.io", [*_BINDINGS, "works"], ("create", "delete", "deletecollection")),
        _rule("cluster.karmada.io", ["clusters"], ("create", "delete")),
        _rule("", ["events", "namespaces", "secrets"], ("create", "delete")),
        _rule("", ["endpoints", "services"], ("create", "delete")),
        _rule("apps.karmada.io", ["workloadrebalancers"], ("delete",)),
        _rule("certificates.k8s.io", ["certificatesigningrequests"], ("create", "delete")),
        _rule("certificates.k8s.io", ["signers"], ("approve",), ["kubernetes.io/kube-apiserver-client"]),
        _rule("coordination.k8s.io", ["leases"], ("create", "delete")),
        _rule("discovery.k8s.io", ["endpointslices"], ("create", "delete")),
        _rule("multicluster.x-k8s.io", ["serviceexports", "serviceimports"], ("create", "delete")),
        _rule(
            "rbac.authorization.k8s.io",
            _ROLES,
            ("create", "delete"),
        ),
        *_REVIEWS,
    ),
    "karmada-descheduler": (
        _rule("cluster.karmada.io", ["clusters"], READ),
        _rule("policy.karmada.io", ["replicaschedulingpolicies"], (*READ, *UPDATE)),
        _rule("work.karmada.io", ["resourcebindings"], (*READ, *UPDATE)),
        _rule("work.karmada.io", ["resourcebindings/status"], UPDATE),
        _EVENTS,
        *_REVIEWS,
    ),
    "karmada-scheduler": (
        _rule("cluster.karmada.io", ["clusters"], READ),
        _rule("work.karmada.io", _BINDINGS, (*READ, *UPDATE)),
        _rule("work.karmada.io", [f"{plural}/status" for plural in _BINDINGS], UPDATE),
        _EVENTS,
        *_REVIEWS,
    ),
    "karmada-webhook": (
        _rule("config.karmada.io", ["resourceinterpretercustomizations"], READ),
        _rule("policy.karmada.io", ["federatedresourcequotas"], READ),
        _rule("policy.karmada.io", ["federatedresourcequotas/status"], UPDATE),
        *_REVIEWS,
    ),
}
