"""What a control plane holds before the first cluster joins: roles of components, of people, of registration, and
`cluster-info`. The namespaces karmada-system and karmada-cluster exist already.

Left out on purpose is the reference's role of unlimited rights for whoever registers (`agent-rbac-generator`): the
control plane writes the roles of agents itself.
"""

import base64
from collections.abc import Sequence

import orjson

from karmada.api import labels, names
from karmada.machinery.client import Client
from karmada.machinery.committer import Committer
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import objects
from karmada.membership.agent_requests import BOOTSTRAP, RENEWAL
from karmada.membership.component_roles import rights
from karmada.membership.credentials import ensure

DEFAULTS = {labels.BOOTSTRAPPING: "rbac-defaults"}
Kinds = tuple[str, Sequence[str]]
"""A group and resources of it."""
_RBAC = "rbac.authorization.k8s.io"
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_WRITTEN_BY_PEOPLE = (
    ("autoscaling.karmada.io", ("cronfederatedhpas", "federatedhpas")),
    ("multicluster.x-k8s.io", ("serviceexports", "serviceimports")),
    ("networking.karmada.io", ("multiclusteringresses", "multiclusterservices")),
    ("policy.karmada.io", ("overridepolicies", "propagationpolicies")),
)
_BINDINGS = ("work.karmada.io", ("resourcebindings",))
"""The control plane's record of where resources go and what they use of a quota: people read it, and write policies."""
_WORKS = ("work.karmada.io", ("works",))
"""What is propagated, Secrets included: who may edit may read Secrets, who may view may not."""
_WITHOUT_STATUS = frozenset({"overridepolicies", "propagationpolicies"})
CLUSTER_INFO = "cluster-info"


async def install(hub: Client, endpoint: str = "", authority: bytes = b"") -> None:
    """Have everything exist; without an endpoint no cluster can register, as it would not know where."""
    for tree in roles():
        await ensure(hub, _type_of(tree), tree)
    if endpoint:
        await publish(hub, endpoint, authority)


async def publish(hub: Client, endpoint: str, authority: bytes) -> None:
    """Write `kube-public/cluster-info`, where those who register read the address of the control plane."""
    wanted = cluster_info(endpoint, authority)

    def decide(current: JSONObject | None) -> JSONObject:
        known = current or wanted
        return {**known, "data": {**(known.get("data") or {}), **wanted["data"]}}

    await Committer(hub.resource(objects.CONFIG_MAPS)).ensure(CLUSTER_INFO, "kube-public", decide)


def cluster_info(endpoint: str, authority: bytes) -> JSONObject:
    """The ConfigMap that says where the control plane is and whom to trust; signatures for tokens are added to it."""
    cluster = {"server": endpoint, "certificate-authority-data": base64.b64encode(authority).decode()}
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": cluster}]}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CLUSTER_INFO, "namespace": "kube-public"},
        "data": {"kubeconfig": orjson.dumps(config).decode()},
    }


def roles() -> list[JSONObject]:
    """The roles of components, of people and of registration, with those who have them."""
    proxy = {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "verbs": ["*"]}
    made = [
        *rights(),
        objects.cluster_role("cluster-proxy-admin", [proxy], {}),
        objects.cluster_role_binding("cluster-proxy-admin", objects.user_subject("system:admin"), {}),
        _people("karmada-view", "view", [(_READ, (*_WRITTEN_BY_PEOPLE, _BINDINGS))]),
        _people("karmada-edit", "edit", [(_WRITE, _WRITTEN_BY_PEOPLE), (_READ, (_WORKS,))]),
    ]
    for name, permission in (("autoapprover", BOOTSTRAP), ("selfautoapprover", RENEWAL)):
        rule = {
            "apiGroups": ["certificates.k8s.io"],
            "resources": [f"certificatesigningrequests/{permission}"],
            "verbs": ["create"],
        }
        full = f"system:karmada:certificatesigningrequest:{name}"
        made.append(objects.cluster_role(full, [rule], DEFAULTS))
    for name, role, group in (
        ("autoapprove-bootstrap", "system:karmada:certificatesigningrequest:autoapprover", names.BOOTSTRAP_GROUP),
        (
            "autoapprove-certificate-rotation",
            "system:karmada:certificatesigningrequest:selfautoapprover",
            names.AGENT_GROUP,
        ),
        ("bootstrap", "system:node-bootstrapper", names.BOOTSTRAP_GROUP),
    ):
        subject = {"apiGroup": _RBAC, "kind": "Group", "name": group}
        binding = objects.cluster_role_binding(f"system:karmada:agent-{name}", subject, DEFAULTS)
        binding["roleRef"]["name"] = role
        made.append(binding)
    made += _cluster_info_readers()
    return made


def _type_of(tree: JSONObject) -> GroupVersionResource:
    return GroupVersionResource(_RBAC, "v1", f"{tree['kind'].lower()}s")


def _cluster_info_readers() -> list[JSONObject]:
    name, space = "system:karmada:bootstrap-signer-clusterinfo", "kube-public"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [CLUSTER_INFO], "verbs": ["get"]}
    role = objects.role(name, space, [rule])
    binding = objects.role_binding(name, space, objects.user_subject("system:anonymous"))
    for tree in (role, binding):
        tree["metadata"]["labels"] = dict(DEFAULTS)
    return [role, binding]


def _people(name: str, into: str, allowed: Sequence[tuple[Sequence[str], Sequence[Kinds]]]) -> JSONObject:
    """What a person who may view or edit may do with Karmada's kinds; aggregated into Kubernetes' own roles."""
    rules = [
        {
            "apiGroups": [group],
            "resources": [
                resource
                for kind in kinds
                for resource in ([kind] if kind in _WITHOUT_STATUS else [kind, f"{kind}/status"])
            ],
            "verbs": list(verbs),
        }
        for verbs, groups in allowed
        for group, kinds in groups
    ]
    return objects.cluster_role(name, rules, {**DEFAULTS, f"{_RBAC}/aggregate-to-{into}": "true"})
