"""The objects inside a control plane: kinds, namespaces, rights, the aggregated group and the webhooks.

They go to Karmada's own API server once it answers, in this order; applying them again brings an older control plane
to this version. `karmada up` serves clusters and webhooks in its own process and takes the kinds and rights alone.
"""

import base64
from collections.abc import Iterable
from functools import cache, partial

from karmada.api import names
from karmada.api.crd.definition import definitions
from karmada.machinery.client import Client
from karmada.machinery.committer import Committer
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import installation
from karmada.membership.component_roles import SYSTEM
from karmada.webhook.configurations import by_url, configurations

AGGREGATED, WEBHOOK = "karmada-aggregated-apiserver", "karmada-webhook"
CLUSTERS = "v1alpha1.cluster.karmada.io"
SERVICE_PORT = 443
"""Of the Services of both, in the host cluster."""
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
_GROUPS = {
    "APIService": GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices"),
    "Service": GroupVersionResource("", "v1", "services"),
}


def control_plane(authority: str, namespace: str = SYSTEM) -> list[JSONObject]:
    """All objects; `authority` is the CA of the serving certificates, PEM in base64, `namespace` the host cluster's."""
    return [
        *map(_namespace, (SYSTEM, names.CLUSTER_NAMESPACE)),
        *definitions(),
        *installation.roles(),
        *components(authority, namespace),
    ]


def components(authority: str, namespace: str) -> list[JSONObject]:
    """How the control plane reaches those of its components that it calls."""
    return [
        _alias(f"{AGGREGATED}.{namespace}.svc"),
        _api_service(authority),
        *configurations(by_url(f"https://{WEBHOOK}.{namespace}.svc:{SERVICE_PORT}", authority)),
    ]


async def install(hub: Client, endpoint: str = "", authority: bytes = b"") -> None:
    """Have kinds, namespaces and rights exist; `endpoint` is where clusters register, if they can."""
    await _ensure_all(hub, CRDS, _definitions())
    await _ensure_all(hub, NAMESPACES, map(_namespace, (SYSTEM, names.CLUSTER_NAMESPACE)))
    await installation.install(hub, endpoint, authority)


async def connect(hub: Client, namespace: str, authority: bytes) -> None:
    """Have the control plane call those of its components that it calls: once they are ready, or writes are refused."""
    for wanted in components(base64.b64encode(authority).decode(), namespace):
        plural = f"{wanted['kind'].lower()}s"
        type_ = _GROUPS.get(wanted["kind"], GroupVersionResource("admissionregistration.k8s.io", "v1", plural))
        await _ensure_all(hub, type_, [wanted])


async def serves_clusters(hub: Client) -> bool:
    """Whether the API server has reached the one that serves clusters."""
    found = await hub.resource(_GROUPS["APIService"]).get(CLUSTERS)
    conditions = (found.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)


async def _ensure_all(hub: Client, type_: GroupVersionResource, wanted: Iterable[JSONObject]) -> None:
    resource = hub.resource(type_)
    known = {_key(tree): tree for tree in (await resource.list()).items}
    for tree in wanted:
        space, name = key = _key(tree)
        await Committer(resource).ensure(name, space, partial(_content, tree), known.get(key))


def _key(tree: JSONObject) -> tuple[str, str]:
    return tree["metadata"].get("namespace", ""), tree["metadata"]["name"]


def _content(wanted: JSONObject, current: JSONObject | None) -> JSONObject:
    """The wanted content in the object that is there; what others added to its parts stays."""
    if current is None:
        return wanted
    parts = {key: value for key, value in wanted.items() if key not in ("apiVersion", "kind", "metadata")}
    merged = {
        key: {**current[key], **value} if isinstance(value, dict) and isinstance(current.get(key), dict) else value
        for key, value in parts.items()
    }
    return {**current, **merged}


@cache
def _definitions() -> list[JSONObject]:
    """Karmada's kinds, made once in a process; read only."""
    return definitions()


def _namespace(name: str) -> JSONObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _alias(host: str) -> JSONObject:
    """The Service of the host cluster, known to the control plane by its name there."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": AGGREGATED, "namespace": SYSTEM},
        "spec": {"type": "ExternalName", "externalName": host},
    }


def _api_service(authority: str) -> JSONObject:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": CLUSTERS, "labels": {"app": AGGREGATED, "apiserver": "true"}},
        "spec": {
            "caBundle": authority,
            "group": "cluster.karmada.io",
            "version": "v1alpha1",
            "groupPriorityMinimum": 2000,
            "versionPriority": 10,
            "service": {"name": AGGREGATED, "namespace": SYSTEM},
        },
    }
