"""The winner among the policies that choose a resource.

Order: larger `spec.priority`, closer match, alphabetically smaller name. A policy that is being deleted never
competes. A namespaced policy goes before every cluster-wide one, whatever their priorities.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy
from karmada.policies.matching import Match, Subject, effort, fit

Policy = PropagationPolicy | ClusterPropagationPolicy
P = TypeVar("P", PropagationPolicy, ClusterPropagationPolicy)


def explicit_priority(policy: Policy) -> int:
    """`spec.priority`; absent counts as 0."""
    return policy.spec.priority or 0


def elect(policies: Iterable[P], subject: Subject) -> P | None:
    """The winner among policies of one kind (for namespaced ones: of the resource's namespace)."""
    winner = None
    for best, _ in election(policies, subject):
        winner = best
    return winner


def election(policies: Iterable[P], subject: Subject) -> Iterator[tuple[P | None, int]]:
    """The winner so far after each policy, and the effort of comparing that one: who elects among many lets others have
    their turn in between."""
    winner: P | None = None
    rank = (0, Match.NONE)
    for policy in policies:
        how = fit(policy, subject) if policy.metadata.deletion_timestamp is None else Match.NONE
        candidate = (explicit_priority(policy), how)
        if how is not Match.NONE and (
            winner is None or candidate > rank or (candidate == rank and policy.metadata.name < winner.metadata.name)
        ):
            winner, rank = policy, candidate
        yield winner, 1 + effort(policy.spec.resource_selectors)
