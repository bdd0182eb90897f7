"""Whether a policy may take a resource over from the one that has claimed it.

A namespaced policy takes from another one of strictly lower priority, and from any cluster-wide one. A cluster-wide
policy takes from another of strictly lower priority, and never from a namespaced one. Unclaimed resources are left
to the ordinary election.
"""

from collections.abc import Callable

from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy
from karmada.policies.claims import Claim
from karmada.policies.election import Policy, explicit_priority

FindPolicy = Callable[[Claim], Policy]
"""The policy that holds a claim; raises when it does not exist."""


def may_preempt(policy: PropagationPolicy | ClusterPropagationPolicy, holder: Claim | None, find: FindPolicy) -> bool:
    """Whether `policy` takes the resource from the holder of its claim."""
    if holder is None:
        return False
    if isinstance(policy, PropagationPolicy):
        if holder.is_cluster_wide:
            return True
        if (holder.namespace, holder.name) == (policy.metadata.namespace, policy.metadata.name):
            return False
    elif not holder.is_cluster_wide or holder.name == policy.metadata.name:
        return False
    return explicit_priority(policy) > explicit_priority(find(holder))
