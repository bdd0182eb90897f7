"""The objects inside a control plane: kinds, namespaces, rights, the aggregated group and the webhooks.

They go to Karmada's own API server once it answers, in this order; applying them again brings an older control plane
to this version. `karmada up` serves clusters and webhooks in its own process and takes the kinds and rights alone.
"""

import base64
import contextlib
from collections.abc import Iterable
from functools import cache, partial
from typing import NamedTuple

from karmada.api.crd.definition import definitions, with_conversion_webhook
from karmada.api.names import CLUSTER_NAMESPACE, SYSTEM_NAMESPACE
from karmada.install.naming import USUAL, Names
from karmada.machinery.client import Client
from karmada.machinery.committer import Committer
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import installation
from karmada.membership.objects import NAMESPACES
from karmada.webhook.configurations import CONVERSION, ClientConfig, by_url, configurations

AGGREGATED, METRICS_ADAPTER, SEARCH = "karmada-aggregated-apiserver", "karmada-metrics-adapter", "karmada-search"
WEBHOOK = "karmada-webhook"


class Group(NamedTuple):
    """A version of an API group that a component serves, with its priorities in discovery."""

    name: str
    version: str
    version_priority: int = 10
    priority: int = 2000

    @property
    def api_service(self) -> str:
        """The name of its APIService."""
        return f"{self.version}.{self.name}"


GROUPS = {
    AGGREGATED: (Group("cluster.karmada.io", "v1alpha1"),),
    METRICS_ADAPTER: (
        Group("metrics.k8s.io", "v1beta1", 100, 100),
        Group("custom.metrics.k8s.io", "v1beta2", 200, 100),
        Group("custom.metrics.k8s.io", "v1beta1", 100, 100),
        Group("external.metrics.k8s.io", "v1beta1", 100, 100),
    ),
    SEARCH: (Group("search.karmada.io", "v1alpha1"),),
}
"""What the control plane has components of its own answer for."""
CLUSTERS = GROUPS[AGGREGATED][0].api_service
SERVICE_PORT = 443
"""Of the Services of both, in the host cluster."""
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_RESOURCES = {
    "APIService": GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices"),
    "Service": GroupVersionResource("", "v1", "services"),
}


def control_plane(authority: str, namespace: str = SYSTEM_NAMESPACE, endpoint: str = "") -> list[JSONObject]:
    """All objects; `authority` is the CA of the serving certificates, PEM in base64, `namespace` the host cluster's.

    `endpoint` is where clusters register: without it none can, as it would not know where.
    """
    return [
        *map(_namespace, (SYSTEM_NAMESPACE, CLUSTER_NAMESPACE)),
        *_converted(definitions(), _webhook(authority, namespace, USUAL)),
        *installation.roles(),
        *([installation.cluster_info(endpoint, base64.b64decode(authority))] if endpoint else []),
        *components(authority, namespace),
    ]


def components(authority: str, namespace: str, names: Names = USUAL) -> list[JSONObject]:
    """How the control plane reaches those of its components that it calls."""
    return [
        *_served_by(AGGREGATED, authority, namespace, names),
        *configurations(_webhook(authority, namespace, names)),
    ]


def _webhook(authority: str, namespace: str, names: Names) -> ClientConfig:
    return by_url(f"https://{names.of(WEBHOOK)}.{namespace}.svc:{SERVICE_PORT}", authority)


def _converted(kinds: Iterable[JSONObject], webhook: ClientConfig) -> list[JSONObject]:
    """Kinds of which those with several versions are converted by the webhook."""
    return [with_conversion_webhook(kind, webhook(CONVERSION)) for kind in kinds]


async def install(hub: Client, endpoint: str = "", authority: bytes = b"") -> None:
    """Have kinds, namespaces and rights exist; `endpoint` is where clusters register, if they can."""
    await _ensure_all(hub, CRDS, _definitions())
    await _ensure_all(hub, NAMESPACES, map(_namespace, (SYSTEM_NAMESPACE, CLUSTER_NAMESPACE)))
    await installation.install(hub, endpoint, authority)


async def connect(hub: Client, namespace: str, authority: bytes, names: Names = USUAL) -> None:
    """Have the control plane call those of its components that it calls: once they are ready, or writes are refused."""
    bundle = base64.b64encode(authority).decode()
    await _ensure_all(hub, CRDS, _converted(_definitions(), _webhook(bundle, namespace, names)))
    await _ensure_each(hub, components(bundle, namespace, names))


async def connect_addon(hub: Client, component: str, namespace: str, authority: bytes, names: Names = USUAL) -> None:
    """Have the control plane answer for the groups of an addon."""
    await _ensure_each(hub, _served_by(component, base64.b64encode(authority).decode(), namespace, names))


async def disconnect_addon(hub: Client, component: str, namespace: str, names: Names = USUAL) -> None:
    """Undo `connect_addon`; what leads to another installation's addon or to another server stays."""
    service, *groups = _served_by(component, "", namespace, names)
    services, apis = (hub.resource(_RESOURCES[kind]) for kind in ("Service", "APIService"))
    about = service["metadata"]["name"], service["metadata"]["namespace"]
    with contextlib.suppress(NotFound):
        if (await services.get(*about))["spec"].get("externalName") != service["spec"]["externalName"]:
            return
        for name in (group["metadata"]["name"] for group in reversed(groups)):
            with contextlib.suppress(NotFound):
                if ((await apis.get(name))["spec"].get("service") or {}).get("name") == component:
                    await apis.delete(name)
        # Last: as long as the Service is there, some groups may be.
        await services.delete(*about)


async def serves(hub: Client, component: str = AGGREGATED) -> bool:
    """Whether the API server has reached a component for all of its groups."""
    services = hub.resource(_RESOURCES["APIService"])
    found = [await services.get(group.api_service) for group in GROUPS[component]]
    return all(_is_available(one) for one in found)


def _is_available(api_service: JSONObject) -> bool:
    conditions = (api_service.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)


async def _ensure_each(hub: Client, objects: Iterable[JSONObject]) -> None:
    for wanted in objects:
        plural = f"{wanted['kind'].lower()}s"
        type_ = _RESOURCES.get(wanted["kind"], GroupVersionResource("admissionregistration.k8s.io", "v1", plural))
        await _ensure_all(hub, type_, [wanted])


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


def _served_by(component: str, authority: str, namespace: str, names: Names = USUAL) -> list[JSONObject]:
    """A component's Service of the host cluster, by its name there, and the groups that the control plane has of it."""
    about = {"name": component, "namespace": SYSTEM_NAMESPACE}
    alias = {"type": "ExternalName", "externalName": f"{names.of(component)}.{namespace}.svc"}
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": alias},
        *(_api_service(component, group, authority) for group in GROUPS[component]),
    ]


def _api_service(component: str, group: Group, authority: str) -> JSONObject:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": group.api_service, "labels": {"app": component, "apiserver": "true"}},
        "spec": {
            "caBundle": authority,
            "group": group.name,
            "version": group.version,
            "groupPriorityMinimum": group.priority,
            "versionPriority": group.version_priority,
            "service": {"name": component, "namespace": SYSTEM_NAMESPACE},
        },
    }
