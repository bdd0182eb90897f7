"""Facts about one Deployment, made by hand."""

from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, OverridePolicy, PropagationPolicy
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.explain.why.facts import Facts, MemberFacts
from karmada.machinery.discovery import ApiResource
from karmada.machinery.transport import GroupVersionResource

KIND = ApiResource(GroupVersionResource("apps", "v1", "deployments"), "Deployment", True)
ENABLED = [{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}]
HELD = {"propagationpolicy.karmada.io/permanent-id": "id"}
HOLDER = {"propagationpolicy.karmada.io/namespace": "default", "propagationpolicy.karmada.io/name": "web"}


def cluster(name: str, labels: dict[str, str] | None = None, cpu: str = "8", used: str = "0") -> Cluster:
    summary = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}, "allocated": {"cpu": used, "pods": "1"}}
    ready = {"type": "Ready", "status": "True"}
    tree = {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"region": "north"},
        "status": {"apiEnablements": ENABLED, "conditions": [ready], "resourceSummary": summary},
    }
    return from_tree(tree, Cluster)


def deployment(name: str = "web", replicas: int = 3, ready: int = 3, **metadata: Any) -> dict[str, Any]:
    about = {"name": name, "namespace": "default", "labels": {"app": name} | HELD, "annotations": HOLDER}
    container = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": "500m"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": about | metadata,
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [container]}}},
        "status": {"readyReplicas": ready},
    }


def policy(name: str = "web", *selectors: dict[str, Any], **spec: Any) -> PropagationPolicy:
    chosen = [_selector(one) for one in selectors or ({"name": "web"},)]
    tree = {"metadata": {"name": name, "namespace": "default"}, "spec": {"resourceSelectors": chosen} | spec}
    return from_tree(tree, PropagationPolicy)


def wide_policy(name: str, *selectors: dict[str, Any]) -> ClusterPropagationPolicy:
    spec = {"resourceSelectors": [_selector(one) for one in selectors]}
    return from_tree({"metadata": {"name": name}, "spec": spec}, ClusterPropagationPolicy)


def _selector(parts: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment"} | parts


def override(name: str, cluster: str, **overriders: Any) -> OverridePolicy:
    rule = {"targetCluster": {"clusterNames": [cluster]}, "overriders": overriders}
    tree = {"metadata": {"name": name, "namespace": "default"}, "spec": {"overrideRules": [rule]}}
    return from_tree(tree, OverridePolicy)


def binding(placement: dict[str, Any], shares: dict[str, int], replicas: int = 3, **status: Any) -> ResourceBinding:
    spec = {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
        "replicas": replicas,
        "replicaRequirements": {"resourceRequest": {"cpu": "500m"}},
        "placement": placement,
        "clusters": [{"name": name, "replicas": count} for name, count in shares.items()],
    }
    about = {"name": "web-deployment", "namespace": "default", "generation": 1}
    return from_tree({"metadata": about, "spec": spec, "status": status}, ResourceBinding)


def work(cluster: str) -> Work:
    about = {"name": "web", "namespace": f"karmada-es-{cluster}"}
    applied = {"type": "Applied", "status": "True"}
    return from_tree({"metadata": about, "spec": {}, "status": {"conditions": [applied]}}, Work)


def copy(replicas: int, ready: int | None = None, conditions: tuple[dict[str, str], ...] = ()) -> dict[str, Any]:
    """The Deployment in a member."""
    made = deployment(replicas=replicas, ready=replicas if ready is None else ready)
    made["status"]["conditions"] = list(conditions)
    return made


def facts(
    placement: dict[str, Any], shares: dict[str, int], clusters: list[Cluster], status: Any = None, **changes: Any
) -> Facts:
    """A Deployment that went its way as far as `shares` say."""
    made = Facts(KIND, "default", "web", deployment(), [policy()], clusters=clusters)
    made.binding = binding(placement, shares, **(status or {}))
    made.works = {name: work(name) for name in shares}
    made.members = {name: MemberFacts(copy(count)) for name, count in shares.items()}
    for name, value in changes.items():
        setattr(made, name, value)
    return made
