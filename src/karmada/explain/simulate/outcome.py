"""Before and after of one subject."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.counting import counted
from karmada.api.decision import Decision, Placed
from karmada.explain.simulate.subjects import Subject, displaced
from karmada.explain.simulate.terms import Terms
from karmada.scheduler.core.decide import NoPlacement, decide
from karmada.scheduler.core.request import Settings
from karmada.scheduler.core.snapshot import Snapshot

Shares = dict[str, int]
NO_POLICY = "no policy selects it"
NO_PLACEMENT = "it has no placement of its own: it follows what needs it"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What would happen to one subject."""

    name: str
    before: Shares
    after: Shares
    refused: str = ""
    decision: Decision | None = None
    evicted: dict[str, int] = field(default_factory=dict)
    """By cluster that taints drive it from, after how many seconds."""

    @property
    def changed(self) -> bool:
        """Whether anything would move."""
        return self.before != self.after

    @property
    def lost(self) -> int:
        """Replicas that would run nowhere."""
        return max(0, sum(self.before.values()) - sum(self.after.values()))


def outcome(subject: Subject, clusters: Sequence[Cluster], snapshot: Snapshot, terms: Terms) -> Outcome:
    """Decide about one subject."""
    before = {target.name: target.replicas for target in subject.before.spec.clusters} if subject.before else {}
    if subject.wanted is None:
        return Outcome(subject.name, before, before, NO_POLICY)
    wanted, evicted = displaced(subject.wanted, clusters, evicts=terms.evicts)
    try:
        decision = decide(snapshot, wanted, {}, Settings(terms.gates))
    except NoPlacement:
        return Outcome(subject.name, before, before, NO_PLACEMENT)
    if isinstance(decision.outcome, Placed):
        after = {target.name: target.replicas for target in decision.outcome.clusters}
        return Outcome(subject.name, before, after, decision=decision, evicted=evicted)
    kept = {target.name: target.replicas for target in wanted.spec.clusters}
    return Outcome(subject.name, before, kept, decision.outcome.message, decision, evicted)


def data(outcomes: Sequence[Outcome], terms: Terms) -> dict[str, Any]:
    """For programs."""
    import orjson

    from karmada.api.decision import encode

    return {
        "terms": terms.data(),
        "items": [
            {
                "resource": one.name,
                "before": one.before,
                "after": one.after,
                "changed": one.changed,
                "lostReplicas": one.lost,
                "refused": one.refused or None,
                "evictedAfterSeconds": one.evicted,
                "decision": orjson.loads(encode(one.decision)) if one.decision else None,
            }
            for one in outcomes
        ],
    }


def delays(outcomes: Sequence[Outcome]) -> list[str]:
    """Sentences about what leaves a cluster later than its taint comes."""
    return [
        f"{one.name} would be evicted from {name} {seconds} s after the taint: its toleration ends then."
        for one in outcomes
        for name, seconds in sorted(one.evicted.items())
        if seconds
    ]


def summary(outcomes: Sequence[Outcome]) -> str:
    """All of it in one line."""
    moved = sum(1 for one in outcomes if one.changed)
    refused = sum(1 for one in outcomes if one.refused)
    text = f"{counted(len(outcomes), 'resource')}, {moved} would change"
    return f"{text}, {refused} could not be placed." if refused else f"{text}."
