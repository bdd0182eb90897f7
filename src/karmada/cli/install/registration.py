"""What a new control plane holds before anybody uses it: Karmada's kinds, roles, and the way to its components."""

import base64
from functools import partial
from typing import Any

from karmada.api import names
from karmada.api.crd.definition import definitions
from karmada.machinery.client import Client
from karmada.machinery.committer import Committer
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.component_roles import SYSTEM
from karmada.membership.installation import install
from karmada.webhook.configurations import by_url, configurations

JSONObject = dict[str, Any]
AGGREGATED, WEBHOOK, WEBHOOK_PORT = "karmada-aggregated-apiserver", "karmada-webhook", 8443
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
SERVICES = GroupVersionResource("", "v1", "services")
API_SERVICES = GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices")


async def register(hub: Client, namespace: str, domain: str, endpoint: str, authority: bytes) -> None:
    """Write all of it; what is there already gets the content of this version."""
    for definition in definitions():
        await _ensure(hub, CRDS, definition)
    for name in dict.fromkeys((namespace, SYSTEM, names.CLUSTER_NAMESPACE)):
        await _ensure(hub, NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    await install(hub, endpoint, authority)
    await _ensure(hub, SERVICES, _alias(namespace, domain))
    bundle = base64.b64encode(authority).decode()
    await _ensure(hub, API_SERVICES, _clusters(namespace, bundle))
    where = f"https://{WEBHOOK}.{namespace}.svc:{WEBHOOK_PORT}"
    for configuration in configurations(by_url(where, bundle)):
        plural = configuration["kind"].lower() + "s"
        await _ensure(hub, GroupVersionResource("admissionregistration.k8s.io", "v1", plural), configuration)


def _alias(namespace: str, domain: str) -> JSONObject:
    """By this name the API server finds the one that serves clusters, which runs in the host cluster."""
    about = {"name": AGGREGATED, "namespace": namespace}
    spec = {"type": "ExternalName", "externalName": f"{AGGREGATED}.{namespace}.svc.{domain}"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": spec}


def _clusters(namespace: str, bundle: str) -> JSONObject:
    spec = {
        "group": "cluster.karmada.io",
        "version": "v1alpha1",
        "groupPriorityMinimum": 2000,
        "versionPriority": 10,
        "service": {"name": AGGREGATED, "namespace": namespace, "port": 443},
        "caBundle": bundle,
    }
    about = {"name": "v1alpha1.cluster.karmada.io"}
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": about, "spec": spec}


async def _ensure(hub: Client, type_: GroupVersionResource, wanted: JSONObject) -> None:
    about = wanted["metadata"]
    await Committer(hub.resource(type_)).ensure(about["name"], about.get("namespace", ""), partial(_content, wanted))


def _content(wanted: JSONObject, current: JSONObject | None) -> JSONObject:
    """The wanted content in the object that is there; a Namespace's own spec stays."""
    if current is None:
        return wanted
    parts = {key: value for key, value in wanted.items() if key not in ("apiVersion", "kind", "metadata")}
    merged = {
        key: {**current[key], **value} if isinstance(value, dict) and isinstance(current.get(key), dict) else value
        for key, value in parts.items()
    }
    return {**current, **merged}
