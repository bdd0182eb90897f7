"""Remedies: the actions that the conditions of a cluster call for."""

from collections.abc import Iterable, Sequence

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import Condition
from karmada.api.remedy.v1alpha1 import DecisionMatch, Remedy


def is_about(remedy: Remedy, cluster: str) -> bool:
    """Whether a remedy covers a cluster: one without an affinity covers all."""
    affinity = remedy.spec.cluster_affinity
    return affinity is None or cluster in affinity.cluster_names


def actions(remedies: Iterable[Remedy], cluster: Cluster) -> tuple[str, ...]:
    """The sorted actions of all remedies that cover a cluster and one of whose decision matches holds."""
    called_for = {
        action
        for remedy in remedies
        if is_about(remedy, cluster.metadata.name) and _holds(remedy.spec.decision_matches, cluster.status.conditions)
        for action in remedy.spec.actions
    }
    return tuple(sorted(called_for))


def _holds(matches: Sequence[DecisionMatch], conditions: Iterable[Condition]) -> bool:
    """Without matches always; else when one of them compares as wanted. An absent condition compares with nothing."""
    present = {condition.type: condition.status for condition in conditions}
    return not matches or any(_matches(match, present) for match in matches)


def _matches(match: DecisionMatch, present: dict[str, str]) -> bool:
    wanted = match.cluster_condition_match
    if wanted is None or wanted.condition_type not in present:
        return False
    is_equal = present[wanted.condition_type] == wanted.condition_status
    return is_equal if wanted.operator == "Equal" else not is_equal if wanted.operator == "NotEqual" else False
