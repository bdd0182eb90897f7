"""Rights of components that no test uses, each with the reason why it is given all the same."""

from collections.abc import Iterator

from karmada.api.names import SYSTEM_NAMESPACE
from karmada.machinery.sharding.balance import MOST
from karmada.machinery.sharding.layout import lease_name, replicas_lease
from karmada.membership.component_roles import CERTIFICATE_ROLE, given_to_agents
from karmada.testing.rights import Right, granted

AGGREGATED = "system:karmada:aggregated-apiserver"
DESCHEDULER = "system:karmada:descheduler"
GATEWAY = "system:karmada:gateway"
MANAGER = "system:karmada:controller-manager"
METRICS_ADAPTER = "system:karmada:metrics-adapter"
SCHEDULER = "system:karmada:scheduler"
SEARCH = "system:karmada:search"
WEBHOOK = "system:karmada:webhook"

ANY_KIND = "any kind, known today or not, may be a template: it is found, labelled and gets its status"
CONFLICT = "read again after a conflicting write, which happens when it happens"
REPEATED = "an event that happens again is counted in the first one, if it happens again soon enough"
FIRST_LIST = "informers list where an API server does not stream what is there already"
SHARDS = "used with --shards, where every part of the work has a lease; the tests of that have other roles"
DIAGNOSTICS = "asked when somebody opens /debug or /decisions of the program with a token"

REASONS: dict[str, str] = {
    **{f"{MANAGER} {verb} *.*": ANY_KIND for verb in ("get", "list", "watch", "patch")},
    f"{MANAGER} delete secrets": "Secrets of a withdrawn registration go, in whatever namespace agents use",
    f"{AGGREGATED} get secrets": "`karmadactl join --cluster-namespace` puts a cluster's Secrets into any namespace",
    **{
        f"{AGGREGATED} list {kind}.rbac.authorization.k8s.io": FIRST_LIST
        for kind in ("clusterrolebindings", "clusterroles", "rolebindings", "roles")
    },
    f"{METRICS_ADAPTER} get secrets": "a cluster's Secrets may be in any namespace (`join --cluster-namespace`)",
    **{
        f"{METRICS_ADAPTER} {verb} {kind}.rbac.authorization.k8s.io": "the program decides from roles who may ask"
        for verb in ("list", "watch")
        for kind in ("clusterrolebindings", "clusterroles", "rolebindings", "roles")
    },
    f"{METRICS_ADAPTER} list clusters.cluster.karmada.io": FIRST_LIST,
    f"{METRICS_ADAPTER} list externalmetrics.autoscaling.karmada.io": FIRST_LIST,
    f"{DESCHEDULER} list replicaschedulingpolicies.config.karmada.io": FIRST_LIST,
    f"{DESCHEDULER} get replicaschedulingpolicies.config.karmada.io": CONFLICT,
    f"{DESCHEDULER} get resourcebindings.work.karmada.io": CONFLICT,
    **{
        f"{user} create tokenreviews.authentication.k8s.io": "asked when a client shows a token to it directly"
        for user in (AGGREGATED, METRICS_ADAPTER, SEARCH)
    },
    **{
        f"{SEARCH} {verb} {kind}.rbac.authorization.k8s.io": "the program decides from roles who may ask"
        for verb in ("list", "watch")
        for kind in ("clusterrolebindings", "clusterroles", "rolebindings", "roles")
    },
    **{
        f"{SEARCH} {verb} clusters/proxy.cluster.karmada.io": "how the program reaches members that have only a tunnel"
        for verb in ("create", "get")
    },
    f"{SEARCH} get secrets": "`karmadactl join --cluster-namespace` puts a cluster's Secrets into any namespace",
    f"{SEARCH} get resourceregistries.search.karmada.io": CONFLICT,
    **{
        f"{SEARCH} list {kind}": FIRST_LIST
        for kind in ("clusters.cluster.karmada.io", "resourceregistries.search.karmada.io")
    },
    f"{SCHEDULER} get clusterresourcebindings.work.karmada.io": CONFLICT,
    f"{SCHEDULER} get resourcebindings.work.karmada.io": CONFLICT,
    **{
        f"{GATEWAY} {verb} clusters/proxy.cluster.karmada.io": "used by the program of tests/docs, in its own process"
        for verb in ("create", "delete", "get", "patch", "update")
    },
    **{
        f"{GATEWAY} list {kind}": FIRST_LIST
        for kind in (
            "clusters.cluster.karmada.io",
            "endpointslices.discovery.k8s.io",
            "httproutes.gateway.networking.k8s.io",
            "multiclusteringresses.networking.karmada.io",
            "multiclusterservices.networking.karmada.io",
            "referencegrants.gateway.networking.k8s.io",
            "resourcebindings.work.karmada.io",
            "services",
        )
    },
    f"{CERTIFICATE_ROLE} get secrets": "the role of nobody: owners of namespaces bind it to the gateway there",
    f"{GATEWAY} get httproutes.gateway.networking.k8s.io": CONFLICT,
    f"{GATEWAY} get multiclusteringresses.networking.karmada.io": CONFLICT,
    f"{DESCHEDULER} patch events": REPEATED,
    f"{SCHEDULER} patch events": REPEATED,
    **{
        f"{user} create {review}": DIAGNOSTICS
        for user in (DESCHEDULER, GATEWAY, MANAGER, SCHEDULER, WEBHOOK)
        for review in ("subjectaccessreviews.authorization.k8s.io", "tokenreviews.authentication.k8s.io")
    },
    **{
        f"{user} {verb} leases.coordination.k8s.io {lease_name(component, shard)} in {SYSTEM_NAMESPACE}": SHARDS
        for user, component in ((MANAGER, "karmada-controller-manager"), (SCHEDULER, "karmada-scheduler"))
        for verb in ("get", "update")
        for shard in range(1, MOST)
    },
    **{
        f"{user} patch leases.coordination.k8s.io {replicas_lease(component)} in {SYSTEM_NAMESPACE}": SHARDS
        for user, component in ((MANAGER, "karmada-controller-manager"), (SCHEDULER, "karmada-scheduler"))
    },
}
"""By the right as `Right` spells it."""
FOR_AGENTS = "held only to be given: who writes the roles of agents must hold what is in them"
"""The reason of all that `given_to_agents` adds to the controller manager's role."""


def explained() -> Iterator[Right]:
    """The rights that have a reason."""
    agents = {
        (verb, group, resource)
        for rule in given_to_agents()
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    for right in granted():
        if str(right) in REASONS or (right.user == MANAGER and right[1:4] in agents):
            yield right
