"""The objects inside the control plane: kinds, namespaces, rights, the aggregated group and the webhooks.

They go to Karmada's own API server once it answers, in this order; applying them again changes nothing.
"""

from typing import Any

from karmada.api.crd.definition import definitions
from karmada.membership.component_roles import SYSTEM, rights
from karmada.webhook.configurations import by_url, configurations

JSONObject = dict[str, Any]
AGGREGATED, WEBHOOK = "karmada-aggregated-apiserver", "karmada-webhook"


def control_plane(authority: str, namespace: str = SYSTEM) -> list[JSONObject]:
    """All objects; `authority` is the CA of the serving certificates, PEM in base64."""
    host = f"{AGGREGATED}.{namespace}.svc"
    return [
        *(_namespace(name) for name in (SYSTEM, "karmada-cluster")),
        *definitions(),
        *rights(),
        _alias(host),
        _api_service(authority),
        *configurations(by_url(f"https://{WEBHOOK}.{namespace}.svc:443", authority)),
    ]


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
        "metadata": {"name": "v1alpha1.cluster.karmada.io", "labels": {"app": AGGREGATED, "apiserver": "true"}},
        "spec": {
            "caBundle": authority,
            "group": "cluster.karmada.io",
            "version": "v1alpha1",
            "groupPriorityMinimum": 2000,
            "versionPriority": 10,
            "service": {"name": AGGREGATED, "namespace": SYSTEM},
        },
    }
