"""The objects of an installation, in the order in which they are written."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from karmada.api.version import IMAGE
from karmada.install.control_plane import SERVICE_PORT

JSONObject = dict[str, Any]
PORT, METRICS_PORT = 5443, 8080
CONFIG, PKI, DATA = "/etc/karmada/config", "/etc/karmada/pki", "/var/lib/karmada"
LABELS = {"app.kubernetes.io/managed-by": "karmadactl"}
CONFIG_KEY, ETCD_CLIENT = "karmada.config", "karmada-etcd-client-cert"


@dataclass(frozen=True, slots=True)
class Component:
    """A program that runs beside the API server."""

    name: str
    replicas: int = 1
    priority_class: str = "system-node-critical"
    arguments: Sequence[str] = ()
    port: int = 0
    """The container's port that others call, by its Service; 0: nobody does."""
    serves: bool = False
    """Whether it has a serving certificate."""
    probe: tuple[str, int, str] = ("", 0, "")
    """Path, port and scheme that show whether it is ready; without a port nothing does."""
    stateful: bool = False
    """Whether it keeps objects of its own, in a volume like the API server's."""
    uses_etcd: bool = False
    """Whether it has the API server's certificate for an etcd elsewhere."""
    config: tuple[str, str] = ("", "")
    """Secret and key of its kubeconfig, if not its own one for the control plane."""


@dataclass(frozen=True, slots=True)
class Installation:
    """What is installed."""

    namespace: str
    image: str = IMAGE
    pull_policy: str = "IfNotPresent"
    pull_secrets: Sequence[str] = ()
    node_port: int = 32443
    storage: str = "hostPath"
    storage_path: str = "/var/lib/karmada-etcd"
    storage_size: str = "5Gi"
    storage_class: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    server_arguments: Sequence[str] = ()
    server_priority_class: str = "system-node-critical"
    components: Sequence[Component] = ()
    secrets: Sequence[JSONObject] = field(default=(), repr=False)
    """Certificates and kubeconfigs, those of each component apart."""
    external_etcd: bool = False
    """Whether the API server has a certificate for an etcd elsewhere."""


def foundation(wanted: Installation) -> list[JSONObject]:
    """The API server and what it needs; `control_plane.install` fills it before the components start."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": wanted.namespace}},
        *wanted.secrets,
        service(wanted.namespace, "karmada-apiserver", PORT, PORT, wanted.node_port),
        server(wanted),
    ]


def components(wanted: Installation, *, called: bool) -> list[JSONObject]:
    """What runs beside the API server: those whom it calls, to be ready before it does, or all others."""
    found: list[JSONObject] = []
    caller = {"podSelector": {"matchLabels": {"app": "karmada-apiserver"}}}
    for component in wanted.components:
        if bool(component.port) != called:
            continue
        if called:
            found.append(service(wanted.namespace, component.name, SERVICE_PORT, component.port))
        found.append(reachable(wanted.namespace, component.name, component.port, [caller]))
        found.append(deployment(wanted, component))
        if component.replicas > 1 and not component.stateful:
            found.append(_budget(wanted.namespace, component.name))
    return found


def secret(namespace: str, name: str, data: Mapping[str, bytes]) -> JSONObject:
    """A Secret."""
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": _metadata(namespace, name), "data": encoded}


def service(namespace: str, name: str, port: int, target: int, node_port: int = 0) -> JSONObject:
    """A Service; with a node port it can be reached from outside."""
    entry: JSONObject = {"name": "https", "port": port, "targetPort": target}
    if node_port:
        entry["nodePort"] = node_port
    spec = {"type": "NodePort" if node_port else "ClusterIP", "selector": {"app": name}, "ports": [entry]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(namespace, name), "spec": spec}


def server(wanted: Installation) -> JSONObject:
    """The API server with its storage."""
    arguments = [f"--data-dir={DATA}", "--bind-address=0.0.0.0", f"--secure-port={PORT}"]
    arguments += [f"--tls-cert-file={PKI}/server/tls.crt", f"--tls-private-key-file={PKI}/server/tls.key"]
    arguments += [f"--client-ca-file={PKI}/ca/tls.crt", *wanted.server_arguments]
    mounts = {f"{PKI}/server": serving_secret("karmada-apiserver"), f"{PKI}/ca": "karmada-ca"}
    if wanted.external_etcd:
        mounts[f"{PKI}/etcd-client"] = ETCD_CLIENT
    pod = _pod(wanted, "karmada-apiserver", arguments, wanted.server_priority_class, mounts)
    pod["containers"][0]["ports"] = [{"containerPort": PORT}]
    pod["containers"][0]["readinessProbe"] = _readiness("/readyz", PORT, "HTTPS")
    return _keeping(wanted, "karmada-apiserver", pod, wanted.storage_path)


def _keeping(wanted: Installation, name: str, pod: JSONObject, host_path: str) -> JSONObject:
    """One pod that keeps what it writes to its data folder."""
    pod["containers"][0]["volumeMounts"].append({"name": "data", "mountPath": DATA})
    spec: JSONObject = {"replicas": 1, "serviceName": name, **_template(name, pod)}
    match wanted.storage:
        case "PVC":
            claim: JSONObject = {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": wanted.storage_size}},
            }
            if wanted.storage_class:
                claim["storageClassName"] = wanted.storage_class
            spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
        case "emptyDir":
            pod["volumes"].append({"name": "data", "emptyDir": {}})
        case _:
            path = {"path": host_path, "type": "DirectoryOrCreate"}
            pod["volumes"].append({"name": "data", "hostPath": path})
    if wanted.node_selector:
        pod["nodeSelector"] = dict(wanted.node_selector)
    about = _metadata(wanted.namespace, name)
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": about, "spec": spec}


def deployment(wanted: Installation, component: Component) -> JSONObject:
    """What runs a component: with a kubeconfig of its own, and a serving certificate of its own if it is called."""
    config, key = component.config if component.config[0] else (f"{component.name}-config", CONFIG_KEY)
    arguments = [f"--kubeconfig={CONFIG}/{key}", *component.arguments]
    mounts = {CONFIG: config}
    if component.serves:
        mounts[f"{PKI}/server"] = serving_secret(component.name)
    if component.uses_etcd:
        mounts[f"{PKI}/etcd-client"] = ETCD_CLIENT
    pod = _pod(wanted, component.name, arguments, component.priority_class, mounts)
    if component.port:
        pod["containers"][0]["ports"] = [{"containerPort": component.port}]
    if component.probe[1]:
        pod["containers"][0]["readinessProbe"] = _readiness(*component.probe)
    if component.stateful:
        return _keeping(wanted, component.name, pod, f"{wanted.storage_path}-{component.name}")
    _restrict(pod)
    pod["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": component.name}},
        }
    ]
    spec = {"replicas": component.replicas, **_template(component.name, pod)}
    about = _metadata(wanted.namespace, component.name)
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": about, "spec": spec}


def reachable(namespace: str, name: str, port: int = 0, peers: Sequence[JSONObject] | None = None) -> JSONObject:
    """Who may reach a component: everybody its metrics, and peers (None: everybody) what it serves.

    Probes come from the pod's own node, which is always allowed.
    """
    ingress: list[JSONObject] = [{"ports": [{"port": METRICS_PORT, "protocol": "TCP"}]}]
    if port:
        rule: JSONObject = {"ports": [{"port": port, "protocol": "TCP"}]}
        ingress.append(rule if peers is None else {"from": list(peers), **rule})
    selector = {"matchLabels": {"app": name}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(namespace, name),
        "spec": {"podSelector": selector, "policyTypes": ["Ingress"], "ingress": ingress},
    }


def _budget(namespace: str, name: str) -> JSONObject:
    """Lets nodes be drained one at a time."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": name}}}
    about = _metadata(namespace, name)
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": about, "spec": spec}


def serving_secret(name: str) -> str:
    """The Secret with the certificate and key that a component serves with."""
    return f"{name}-cert"


def _readiness(path: str, port: int, scheme: str) -> JSONObject:
    return {"httpGet": {"path": path, "port": port, "scheme": scheme}, "periodSeconds": 5, "timeoutSeconds": 5}


def _restrict(pod: JSONObject) -> None:
    """What a program needs that writes nowhere and listens above port 1024: as little as the chart gives it."""
    user = {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532}
    pod["securityContext"] = user | {"seccompProfile": {"type": "RuntimeDefault"}}
    container = pod["containers"][0]
    container["securityContext"] |= {"readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    container["volumeMounts"].append({"name": "temporary", "mountPath": "/tmp"})
    pod["volumes"].append({"name": "temporary", "emptyDir": {}})


def _pod(
    wanted: Installation, name: str, arguments: list[str], priority_class: str, secrets: Mapping[str, str]
) -> JSONObject:
    """A pod that mounts the Secrets at their paths, and no others."""
    named = [(path.rsplit("/", 1)[1], path, secret) for path, secret in secrets.items()]
    mounts = [{"name": volume, "mountPath": path, "readOnly": True} for volume, path, _ in named]
    container = {
        "name": name,
        "image": wanted.image,
        "imagePullPolicy": wanted.pull_policy,
        "command": [name, *arguments],
        "volumeMounts": mounts,
        "securityContext": {"allowPrivilegeEscalation": False},
    }
    pod: JSONObject = {
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": volume, "secret": {"secretName": secret}} for volume, _, secret in named],
    }
    if priority_class:
        pod["priorityClassName"] = priority_class
    if wanted.pull_secrets:
        pod["imagePullSecrets"] = [{"name": one} for one in wanted.pull_secrets]
    return pod


def _template(name: str, pod: JSONObject) -> JSONObject:
    labels = {"app": name}
    return {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}


def _metadata(namespace: str, name: str) -> JSONObject:
    labels = {"app": name, **LABELS}
    return {"name": name, "namespace": namespace, "labels": labels}
