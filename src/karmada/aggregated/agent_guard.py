"""What roles cannot say about agents: an agent creates nothing but its own Cluster, Secrets, lease and requests.

Roles name objects that exist; the right to create holds for every name. A hostile agent could otherwise make a Cluster
whose Secret is another member's, and have the control plane send that member's token wherever it likes.
"""

from typing import Any

from karmada.api import names
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.failures import forbidden
from karmada.membership import objects

_CLUSTERS, _SECRETS, _LEASES = ("cluster.karmada.io", "clusters"), ("", "secrets"), ("coordination.k8s.io", "leases")


class AgentGuard:
    """Limits what agents may write. An `AdmissionPlugin`."""

    def applies(self, request: AdmissionRequest) -> bool:
        """Only agents, and only what they may write at all."""
        return request.user.name.startswith(names.AGENT_USER_PREFIX) and request.object is not None

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing is changed."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Refuse what is not the agent's own."""
        cluster = request.user.name.removeprefix(names.AGENT_USER_PREFIX)
        kind = (request.type.group, request.type.plural)
        tree = request.object or {}
        if kind == _CLUSTERS:
            problem = _cluster_problem(cluster, request.name, tree.get("spec") or {})
        elif kind == _SECRETS:
            problem = _secret_problem(cluster, request.name, tree)
        elif kind == _LEASES and request.name != cluster:
            problem = "an agent renews the lease of its own cluster only"
        else:
            return
        if problem:
            raise forbidden(request.type.group, request.type.plural, request.name, problem)


def _cluster_problem(cluster: str, name: str, spec: dict[str, Any]) -> str:
    if name != cluster:
        return f"the agent of {cluster} may write no other cluster"
    if spec.get("syncMode") != "Pull":
        return "a cluster with an agent is in Pull mode"
    own, impersonator = objects.secret_names(cluster)
    for field, wanted in (("secretRef", own), ("impersonatorSecretRef", impersonator)):
        reference = spec.get(field)
        if reference and (reference.get("name"), reference.get("namespace")) != (wanted, names.CLUSTER_NAMESPACE):
            return f"spec.{field} must be {names.CLUSTER_NAMESPACE}/{wanted}"
    return ""


def _secret_problem(cluster: str, name: str, tree: dict[str, Any]) -> str:
    if name not in objects.secret_names(cluster):
        return f"the agent of {cluster} may write no other secrets than {', '.join(objects.secret_names(cluster))}"
    return "" if tree.get("type", "Opaque") == "Opaque" else "the secrets of a cluster are Opaque"
