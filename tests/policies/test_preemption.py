"""Who may take a resource over from the policy that has claimed it."""

from typing import Any

import pytest

from karmada.api.codec import from_tree
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy
from karmada.policies.claims import Claim
from karmada.policies.election import Policy
from karmada.policies.preemption import may_preempt


def own(name: str, priority: int | None, namespace: str = "default") -> PropagationPolicy:
    tree: dict[str, Any] = {"metadata": {"name": name, "namespace": namespace}, "spec": {"priority": priority}}
    return from_tree(tree, PropagationPolicy)


def wide(name: str, priority: int | None) -> ClusterPropagationPolicy:
    return from_tree({"metadata": {"name": name}, "spec": {"priority": priority}}, ClusterPropagationPolicy)


def preempts(policy: Policy, holder: Policy | None) -> bool:
    claim = Claim(holder.metadata.namespace, holder.metadata.name, "id") if holder is not None else None

    def find(wanted: Claim) -> Policy:
        assert holder is not None
        assert wanted == claim
        return holder

    return may_preempt(policy, claim, find)


@pytest.mark.parametrize(
    ("policy", "holder", "expected"),
    [
        (own("a", 5), None, False),
        (own("a", 5), own("b", 4), True),
        (own("a", 5), own("b", 5), False),
        (own("a", 5), own("b", 6), False),
        (own("a", 1), own("b", None), True),
        (own("a", None), own("b", -1), True),
        (own("a", 5), own("a", 4), False),
        (own("a", 5), own("a", 4, "elsewhere"), True),
        (own("a", -9), wide("b", 9), True),
        (own("a", -9), wide("a", 9), True),
        (wide("a", 9), own("b", -9), False),
        (wide("a", 9), own("a", -9), False),
        (wide("a", 5), wide("b", 4), True),
        (wide("a", 5), wide("b", 5), False),
        (wide("a", 5), wide("a", 4), False),
        (wide("a", 5), None, False),
    ],
)
def test_only_a_strictly_higher_priority_takes_over_and_namespaces_go_first(
    policy: Policy, holder: Policy | None, expected: bool
) -> None:
    assert preempts(policy, holder) is expected
