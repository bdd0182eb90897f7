"""karmada-operator itself in a host cluster: its kind, its identity, its rights, and what runs it."""

from typing import Any

from karmada.api.crd.definition import definitions
from karmada.api.kinds import Home
from karmada.machinery.transport import JSONObject
from karmada.membership import objects

NAME = "karmada-operator"
HEALTH = 10359
LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "karmada"}
_KEEP = ("create", "delete", "get", "list", "patch")


def operator(namespace: str, image: str, replicas: int = 1) -> list[JSONObject]:
    """All objects, in the order in which they are applied."""
    about = {"name": NAME, "namespace": namespace, "labels": LABELS}
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": namespace}
    return [
        *definitions(Home.HOST),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": about},
        *rights(namespace, subject),
        _deployment(about, image, replicas),
    ]


def rights(namespace: str, subject: JSONObject) -> list[JSONObject]:
    """What the operator may do in the host cluster.

    It reads Secrets by their names only. Whoever may create pods in a namespace can read its Secrets, and the operator
    makes what creates pods: so it is as mighty as an administrator of every namespace, and bound to its own job by this
    program alone. Bind the role in single namespaces where that is too much.
    """
    role = objects.cluster_role(NAME, _rules(), dict(LABELS))
    binding = objects.cluster_role_binding(NAME, subject, dict(LABELS))
    lease = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    leases = [lease | {"verbs": ["create"]}, lease | {"verbs": ["get", "update"], "resourceNames": [NAME]}]
    return [role, binding, objects.role(NAME, namespace, leases), objects.role_binding(NAME, namespace, subject)]


def _rules() -> list[JSONObject]:
    def rule(group: str, resources: list[str], *verbs: str) -> JSONObject:
        return {"apiGroups": [group], "resources": resources, "verbs": sorted(verbs)}

    return [
        rule("operator.karmada.io", ["karmadas"], "get", "list", "patch", "watch"),
        rule("operator.karmada.io", ["karmadas/status"], "patch"),
        rule("apps", ["deployments", "statefulsets"], *_KEEP),
        rule("", ["serviceaccounts", "services"], *_KEEP),
        rule("", ["secrets"], "create", "delete", "get", "patch"),
        rule("policy", ["poddisruptionbudgets"], *_KEEP),
        rule("networking.k8s.io", ["networkpolicies"], *_KEEP),
        # The address of a node port.
        rule("", ["nodes"], "list"),
        rule("", ["events"], "create", "patch"),
        # Who may read its profiles.
        rule("authentication.k8s.io", ["tokenreviews"], "create"),
        rule("authorization.k8s.io", ["subjectaccessreviews"], "create"),
    ]


def _deployment(about: JSONObject, image: str, replicas: int) -> JSONObject:
    probe = {"path": "/healthz", "port": HEALTH, "scheme": "HTTP"}
    container: dict[str, Any] = {
        "name": NAME,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [
            f"/bin/{NAME}",
            f"--image={image}",
            f"--leader-elect-resource-namespace={about['namespace']}",
            f"--health-probe-bind-address=:{HEALTH}",
            "--metrics-bind-address=:8080",
        ],
        "ports": [{"containerPort": 8080, "name": "metrics", "protocol": "TCP"}],
        "livenessProbe": {"httpGet": probe, "initialDelaySeconds": 15, "periodSeconds": 15, "timeoutSeconds": 5},
        "readinessProbe": {"httpGet": probe, "periodSeconds": 5, "timeoutSeconds": 5},
        "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "temporary", "mountPath": "/tmp"}],
    }
    pod = {
        "serviceAccountName": NAME,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": "temporary", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}}],
    }
    labels = {"app.kubernetes.io/name": NAME}
    template = {"metadata": {"labels": LABELS}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": about, "spec": spec}
