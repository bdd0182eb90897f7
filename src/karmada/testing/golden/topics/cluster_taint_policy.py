"""Topic `cluster-taint-policy`: taints put on and taken off by policies."""

from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree, to_tree
from karmada.api.policy.v1alpha1 import ClusterTaintPolicy
from karmada.membership.taint_policies import apply_taint_policies
from karmada.testing.golden.case import Topic

NEW = "2026-01-01T00:00:00Z"


def _reconcile(given: dict[str, Any]) -> dict[str, Any]:
    cluster = from_tree(given["cluster"], Cluster)
    policies = [
        from_tree({**policy, "spec": {"taints": [], **policy["spec"]}}, ClusterTaintPolicy)
        for policy in given.get("policies") or []
    ]
    taints = []
    for taint in apply_taint_policies(cluster, policies, NEW):
        tree = to_tree(taint)
        added = tree.pop("timeAdded", None)
        taints.append({"value": "", **tree, "isNew": added == NEW})
    return {"taints": taints}


TOPIC = Topic("cluster-taint-policy", {"clustertaintpolicy.Reconcile": _reconcile})
