"""Who the components are in the control plane, and what each of them may do there: the one table of it.

`karmadactl init`, the chart, `karmada up`, the test fixtures and the stage use it, so tests run with the rights of
production. Every component has a user of its own (`system:karmada:<component>`) and rights for its own job. The
controller manager reads and updates templates of every kind there may ever be, so it alone has rights that name no
kinds: to read and to patch, never to create, delete or impersonate.

A right that no test uses must be explained in `tests/security/unused_rights.py`.
"""

from collections.abc import Sequence
from typing import Any

from karmada.api.names import SYSTEM_NAMESPACE
from karmada.machinery.sharding.balance import MOST
from karmada.machinery.sharding.layout import lease_name, replicas_lease
from karmada.membership import objects
from karmada.membership.agent_roles import agent_objects

JSONObject = dict[str, Any]
COMPONENTS = (
    "karmada-aggregated-apiserver",
    "karmada-controller-manager",
    "karmada-descheduler",
    "karmada-gateway",
    "karmada-metrics-adapter",
    "karmada-scheduler",
    "karmada-search",
    "karmada-webhook",
)
FOLLOW = ("list", "watch")
CERTIFICATE_ROLE = "karmada-gateway-certificates"
"""Lets read Secrets; bound to the gateway only in namespaces whose ingresses have certificates, by their owners."""


USER_PREFIX = "system:karmada:"
"""With it begin the names of components and agents, and of nobody else."""


def user_of(component: str) -> str:
    """The name in a component's certificate."""
    return f"{USER_PREFIX}{component.removeprefix('karmada-')}"


def rights() -> list[JSONObject]:
    """The roles of all components and who has them."""
    made: list[JSONObject] = []
    for component, rules in _rules().items():
        user = user_of(component)
        subject = objects.user_subject(user)
        made.append(objects.cluster_role(user, [dict(rule) for rule in rules], {}))
        made.append(objects.cluster_role_binding(user, subject, {}))
        if component in _ELECTED:
            made.append(objects.role(user, SYSTEM_NAMESPACE, _lease_rules(component)))
            made.append(objects.role_binding(user, SYSTEM_NAMESPACE, subject))
    certificates = objects.cluster_role(CERTIFICATE_ROLE, [_rule("", ["secrets"], ["get"])], {})
    return [*made, *map(_authentication_reader, _GROUP_SERVERS), certificates]


def _authentication_reader(component: str) -> JSONObject:
    """Lets a group server read whose certificates the API server believes."""
    made = objects.role_binding(f"{component}-auth-reader", "kube-system", objects.user_subject(user_of(component)))
    made["roleRef"]["name"] = "extension-apiserver-authentication-reader"
    return made


def gateway_in_members() -> list[JSONObject]:
    """What lets the gateway see the endpoints of a member and reach its pods; applied in each member by its owner."""
    user = user_of("karmada-gateway")
    rules = [
        _rule("discovery.k8s.io", ["endpointslices"], FOLLOW),
        _rule("", ["pods/proxy"], ("create", "delete", "get", "patch", "update")),
    ]
    return [objects.cluster_role(user, rules, {}), objects.cluster_role_binding(user, objects.user_subject(user), {})]


def controller_manager_in_members() -> list[JSONObject]:
    """What lets FederatedHPAs count the pods of a member in Pull mode through its agent's tunnel; applied by its owner.

    Nothing is written there: the agent does that.
    """
    user = user_of("karmada-controller-manager")
    rules = [
        _rule("", ["pods"], ("list",)),
        _rule("metrics.k8s.io", ["pods"], ("list",)),
        _rule("custom.metrics.k8s.io", ["*"], ("get",)),
        # Whatever kind a FederatedHPA scales.
        _rule("*", ["*/scale"], ("get",)),
        # Whether it is the cluster that joined.
        _rule("", ["namespaces"], ("get",), ["kube-system"]),
    ]
    return [objects.cluster_role(user, rules, {}), objects.cluster_role_binding(user, objects.user_subject(user), {})]


def metrics_adapter_in_members() -> list[JSONObject]:
    """What lets the metrics adapter read a member in Pull mode through its agent's tunnel; applied by its owner."""
    user = user_of("karmada-metrics-adapter")
    rules = [
        _rule("metrics.k8s.io", ["nodes", "pods"], ("get", "list")),
        _rule("custom.metrics.k8s.io", ["*"], ("get", "list")),
        # Whether it is the cluster that joined.
        _rule("", ["namespaces"], ("get",), ["kube-system"]),
    ]
    return [objects.cluster_role(user, rules, {}), objects.cluster_role_binding(user, objects.user_subject(user), {})]


def search_in_members() -> list[JSONObject]:
    """What lets search cache pods, events and nodes of a member that only its tunnel reaches, and ask who may see them.

    Its owner applies it there, with more kinds where more are cached.
    """
    user = user_of("karmada-search")
    rules = [
        _rule("", ["events", "nodes", "pods"], FOLLOW),
        _rule("", ["namespaces"], ["get"]),
        _rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    ]
    return [objects.cluster_role(user, rules, {}), objects.cluster_role_binding(user, objects.user_subject(user), {})]


def given_to_agents() -> list[JSONObject]:
    """What agents get in their roles, for any cluster: who writes those roles must hold it too."""
    roles = [wanted.tree for wanted in agent_objects("any", "any", request="any") if "rules" in wanted.tree]
    rules = [
        {key: rule[key] for key in ("apiGroups", "resources", "verbs")} for role in roles for rule in role["rules"]
    ]
    held = ("get", "list", "watch", "patch")
    kept = [{**rule, "verbs": [verb for verb in rule["verbs"] if verb not in held]} for rule in rules]
    return [rule for rule in kept if rule["verbs"]]


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str], only: Sequence[str] = ()) -> JSONObject:
    rule: JSONObject = {"apiGroups": [group], "resources": list(resources), "verbs": sorted(verbs)}
    return rule | {"resourceNames": list(only)} if only else rule


def _lease_rules(component: str) -> list[JSONObject]:
    leases = "coordination.k8s.io"
    shards = range(1, MOST) if component in _DIVIDED else ()
    names = [component, *(lease_name(component, shard) for shard in shards)]
    rules = [_rule(leases, ["leases"], ["create"]), _rule(leases, ["leases"], ["get", "update"], names)]
    return [*rules, _rule(leases, ["leases"], ["patch"], [replicas_lease(component)])] if shards else rules


_EVENTS = _rule("", ["events"], ["create", "patch"])
_REVIEWS = (
    _rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
    _rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
)
_BINDINGS = ("clusterresourcebindings", "resourcebindings")
_ROLES = ("clusterrolebindings", "clusterroles", "rolebindings", "roles")
_GROUP_SERVERS = ("karmada-aggregated-apiserver", "karmada-metrics-adapter", "karmada-search")
_ELECTED = frozenset({"karmada-controller-manager", "karmada-descheduler", "karmada-scheduler"})

_DIVIDED = frozenset({"karmada-controller-manager", "karmada-scheduler"})
"""Whose replicas can divide the work, with a lease for each part."""


def _rules() -> dict[str, tuple[JSONObject, ...]]:
    """The rules of each component everywhere. Writes are patches, so hardly anybody may update."""
    return {
        "karmada-aggregated-apiserver": (
            _rule("", ["secrets"], ["get"]),
            # It decides from the control plane's own roles who may do what with clusters.
            _rule("rbac.authorization.k8s.io", _ROLES, FOLLOW),
            # Whose a token is that a client shows to it directly.
            _rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
            # The record of an agent's registration says which fields of its Cluster the agent may choose.
            _rule("rbac.authorization.k8s.io", ["clusterrolebindings"], ["get"]),
            # What would move if a cluster failed (clusters/failurereview).
            _rule("work.karmada.io", _BINDINGS, ["list"]),
            # Gates and flags of the control plane are shown to those who may list clusters.
            _rule("cluster.karmada.io", ["clusters"], ["list"]),
        ),
        "karmada-controller-manager": (
            _rule("*", ["*"], ("get", *FOLLOW, "patch")),
            _rule("work.karmada.io", _BINDINGS, ("create",)),
            _rule("work.karmada.io", ["works"], ("create", "delete")),
            _rule("cluster.karmada.io", ["clusters"], ("create", "delete")),
            _rule("apps.karmada.io", ["workloadrebalancers"], ("delete",)),
            _rule("", ["namespaces"], ("create", "delete")),
            _rule("", ["secrets"], ("create", "delete")),
            # The Services and EndpointSlices of ServiceImports.
            _rule("", ["services"], ("create", "delete")),
            _rule("discovery.k8s.io", ["endpointslices"], ("create", "delete")),
            _rule("", ["events"], ("create",)),
            _rule("certificates.k8s.io", ["certificatesigningrequests"], ("delete",)),
            _rule("certificates.k8s.io", ["certificatesigningrequests/approval"], ("update",)),
            _rule("certificates.k8s.io", ["signers"], ("approve",), ["kubernetes.io/kube-apiserver-client"]),
            _rule("rbac.authorization.k8s.io", _ROLES, ("create", "delete")),
            *_REVIEWS,
            *given_to_agents(),
        ),
        "karmada-descheduler": (
            _rule("cluster.karmada.io", ["clusters"], FOLLOW),
            _rule("config.karmada.io", ["replicaschedulingpolicies"], ("get", *FOLLOW)),
            _rule("config.karmada.io", ["replicaschedulingpolicies/status"], ("patch",)),
            _rule("work.karmada.io", ["resourcebindings"], ("get", *FOLLOW, "patch")),
            _EVENTS,
            *_REVIEWS,
        ),
        "karmada-gateway": (
            _rule("", ["services"], FOLLOW),
            _rule("cluster.karmada.io", ["clusters"], FOLLOW),
            # In members it is a user of its own, with the rights of `gateway_in_members`.
            _rule("cluster.karmada.io", ["clusters/proxy"], ("create", "delete", "get", "patch", "update")),
            _rule("discovery.k8s.io", ["endpointslices"], FOLLOW),
            # Where somebody installs their kinds.
            _rule("gateway.networking.k8s.io", ["httproutes"], ("get", *FOLLOW)),
            _rule("gateway.networking.k8s.io", ["httproutes/status"], ("patch",)),
            _rule("gateway.networking.k8s.io", ["referencegrants"], FOLLOW),
            _rule("networking.karmada.io", ["multiclusteringresses"], ("get", *FOLLOW)),
            _rule("networking.karmada.io", ["multiclusteringresses/status"], ("patch",)),
            _rule("networking.karmada.io", ["multiclusterservices"], FOLLOW),
            _rule("work.karmada.io", ["resourcebindings"], FOLLOW),
            *_REVIEWS,
        ),
        "karmada-metrics-adapter": (
            _rule("autoscaling.karmada.io", ["externalmetrics"], FOLLOW),
            _rule("cluster.karmada.io", ["clusters"], FOLLOW),
            # Members in Pull mode, where it has the rights of `metrics_adapter_in_members`.
            _rule("cluster.karmada.io", ["clusters/proxy"], ("get",)),
            # Where it is a program of its own, it reaches members by their Secrets and decides from roles who may ask.
            _rule("", ["secrets"], ["get"]),
            _rule("rbac.authorization.k8s.io", _ROLES, FOLLOW),
            _rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
        ),
        "karmada-scheduler": (
            _rule("cluster.karmada.io", ["clusters"], FOLLOW),
            _rule("work.karmada.io", _BINDINGS, ("get", *FOLLOW, "patch")),
            _rule("work.karmada.io", [f"{plural}/status" for plural in _BINDINGS], ("patch",)),
            _EVENTS,
            *_REVIEWS,
        ),
        "karmada-search": (
            # What it caches of a member is read with the credentials in the cluster's Secret.
            _rule("", ["secrets"], ["get"]),
            _rule("cluster.karmada.io", ["clusters"], FOLLOW),
            _rule("search.karmada.io", ["resourceregistries"], ("get", *FOLLOW)),
            _rule("search.karmada.io", ["resourceregistries/status"], ("patch",)),
            # Members that have no Secret are reached by their tunnel, with the rights of `search_in_members` there.
            _rule("cluster.karmada.io", ["clusters/proxy"], ("create", "get")),
            # In the view of templates these own what members made of them.
            _rule("work.karmada.io", _BINDINGS, FOLLOW),
            # Where it is a program of its own, it decides from the control plane's roles who may ask.
            _rule("rbac.authorization.k8s.io", _ROLES, FOLLOW),
            _rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
        ),
        "karmada-webhook": (
            _rule("cluster.karmada.io", ["clusters"], ("get",)),
            _rule("config.karmada.io", ["resourceinterpretercustomizations"], ("list",)),
            # Quotas may select namespaces by their labels.
            _rule("", ["namespaces"], ("get",)),
            _rule("policy.karmada.io", ["federatedresourcequotas"], ("list",)),
            _rule("policy.karmada.io", ["federatedresourcequotas/status"], ("update",)),
            *_REVIEWS,
        ),
    }
