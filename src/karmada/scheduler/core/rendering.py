"""A decision in words: one line for conditions and events, everything for people who ask why."""

from collections.abc import Iterable

from karmada.api import conditions
from karmada.api.decision import Decision, Placed
from karmada.api.work.v1alpha2 import TargetCluster


def condition_message(decision: Decision) -> str:
    """The message of the Scheduled condition."""
    outcome = decision.outcome
    return conditions.MESSAGE_SCHEDULE_SUCCESS if isinstance(outcome, Placed) else outcome.message


def event_message(decision: Decision, *, cluster_scoped: bool = False) -> str:
    """The message of the event: the result, or what is in the way."""
    outcome = decision.outcome
    if not isinstance(outcome, Placed):
        return outcome.message
    word = "Result" if cluster_scoped else "Result:"
    return f"{conditions.MESSAGE_SCHEDULE_SUCCESS} {word} {spell(outcome.clusters)}"


def spell(clusters: Iterable[TargetCluster]) -> str:
    """`{member1:2, member2:1}`."""
    return "{" + ", ".join(f"{target.name}:{target.replicas}" for target in clusters) + "}"
