"""A decision in words: one line for conditions and events, everything for people who ask why."""

from collections.abc import Iterable

from karmada.api import conditions
from karmada.api.counting import counted
from karmada.api.decision import Attempt, Decision, Placed
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


def in_full(decision: Decision) -> str:
    """All there is to say, for a terminal."""
    lines = [f"before   {spell(decision.previous)}"]
    outcome = decision.outcome
    lines.append(
        f"after    {spell(outcome.clusters)}" if isinstance(outcome, Placed) else f"refused  {outcome.message}"
    )
    for attempt in decision.attempts:
        lines += _attempt(attempt)
    return "\n".join(lines) + "\n"


def _attempt(attempt: Attempt) -> Iterable[str]:
    yield ""
    yield f"affinity {attempt.affinity}" if attempt.affinity else "clusters"
    chosen = set(attempt.selected)
    for name in sorted({*attempt.rejections, *attempt.scores}):
        rejections = attempt.rejections.get(name, ())
        if rejections:
            reasons = "; ".join(f"{rejection.plugin}: {rejection.reason}" for rejection in rejections)
            yield f"  - {name}: {reasons}"
            continue
        scores = ", ".join(f"{plugin} {score}" for plugin, score in attempt.scores[name].items())
        room = f", room for {attempt.estimates[name]}" if name in attempt.estimates else ""
        yield f"  {'*' if name in chosen else '+'} {name}: {scores}{room}"
    if attempt.groups:
        yield f"groups, of {attempt.combinations} combinations"
        for group in attempt.groups:
            size = counted(group.clusters, "cluster")
            yield f"  {'*' if group.chosen else '-'} {group.name}: {size}, weight {group.weight}"
    for division in attempt.divisions:
        yield f"division of {division.replicas} by {division.strategy}, {division.mode}"
        for name, weight in division.weights.items():
            held = division.held.get(name, 0)
            yield f"    {name}: weight {weight}" + (f", holds {held}" if held else "")
    if isinstance(attempt.outcome, Placed):
        yield f"result   {spell(attempt.outcome.clusters)}"
    else:
        yield f"result   {attempt.outcome.message}"
