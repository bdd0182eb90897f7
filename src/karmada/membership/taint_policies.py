"""Taints that ClusterTaintPolicies put on a cluster and take off it, decided without I/O."""

from collections.abc import Iterable, Sequence

from karmada.api.cluster.v1alpha1 import Cluster, Taint
from karmada.api.meta import Condition, find_condition
from karmada.api.policy.v1alpha1 import ClusterTaintPolicy, MatchCondition
from karmada.policies.cluster_affinity import cluster_matches


def apply_taint_policies(cluster: Cluster, policies: Iterable[ClusterTaintPolicy], now: str) -> tuple[Taint, ...]:
    """The cluster's taints after all policies, oldest first; within a policy adding comes before removing."""
    taints = cluster.spec.taints
    for policy in sorted(policies, key=lambda p: (p.metadata.creation_timestamp or "", p.metadata.name)):
        spec = policy.spec
        if spec.target_clusters is not None and not cluster_matches(spec.target_clusters, cluster):
            continue
        conditions = cluster.status.conditions
        if _all_hold(spec.add_on_conditions, conditions):
            present = {(taint.key, taint.effect) for taint in taints}
            taints += tuple(
                Taint(key=wanted.key, value=wanted.value, effect=wanted.effect, time_added=now)
                for wanted in spec.taints
                if (wanted.key, wanted.effect) not in present
            )
        if _all_hold(spec.remove_on_conditions, conditions):
            unwanted = {(taint.key, taint.effect) for taint in spec.taints}
            taints = tuple(taint for taint in taints if (taint.key, taint.effect) not in unwanted)
    return taints


def _all_hold(tests: Sequence[MatchCondition], conditions: Sequence[Condition]) -> bool:
    """Whether every test holds; no test at all never does."""
    return bool(tests) and all(_holds(test, conditions) for test in tests)


def _holds(test: MatchCondition, conditions: Sequence[Condition]) -> bool:
    found = find_condition(conditions, test.condition_type)
    if found is None:
        return False
    return (found.status in test.status_values) is (test.operator == "In")
