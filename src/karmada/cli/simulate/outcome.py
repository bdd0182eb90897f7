"""Before and after of one subject, and how they are shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.decision import Decision, Placed
from karmada.cli.output.tabs import aligned
from karmada.cli.simulate.subjects import Subject, displaced
from karmada.scheduler.core.decide import NoPlacement, decide
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

    @property
    def changed(self) -> bool:
        """Whether anything would move."""
        return self.before != self.after


def outcome(subject: Subject, clusters: Sequence[Cluster], snapshot: Snapshot) -> Outcome:
    """Decide about one subject."""
    before = {target.name: target.replicas for target in subject.before.spec.clusters} if subject.before else {}
    if subject.wanted is None:
        return Outcome(subject.name, before, before, NO_POLICY)
    wanted = displaced(subject.wanted, clusters)
    try:
        decision = decide(snapshot, wanted, {})
    except NoPlacement:
        return Outcome(subject.name, before, before, NO_PLACEMENT)
    if isinstance(decision.outcome, Placed):
        after = {target.name: target.replicas for target in decision.outcome.clusters}
        return Outcome(subject.name, before, after, decision=decision)
    kept = {target.name: target.replicas for target in wanted.spec.clusters}
    return Outcome(subject.name, before, kept, decision.outcome.message, decision)


def table(outcomes: Sequence[Outcome]) -> str:
    """One line each."""
    rows = [["RESOURCE", "BEFORE", "AFTER", "CHANGE"]]
    rows += [[one.name, _spelled(one.before), _spelled(one.after), one.refused or _change(one)] for one in outcomes]
    return aligned(rows) + "\n" + summary(outcomes) + "\n"


def diff(outcomes: Sequence[Outcome], colours: bool = False) -> str:
    """Lines that go and lines that come, for what changes."""
    lines: list[str] = []
    for one in outcomes:
        if not one.changed and not one.refused:
            continue
        lines.append(f"{one.name}" + (f": {one.refused}" if one.refused else ""))
        for name in sorted({*one.before, *one.after}):
            old, new = one.before.get(name), one.after.get(name)
            if old == new:
                lines.append(f"  {name}: {old}")
                continue
            lines += [_painted(f"- {name}: {old}", 31, colours)] if old is not None else []
            lines += [_painted(f"+ {name}: {new}", 32, colours)] if new is not None else []
    return "".join(f"{line}\n" for line in (*lines, summary(outcomes)))


def data(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """For programs."""
    import orjson

    from karmada.api.decision import encode

    return {
        "items": [
            {
                "resource": one.name,
                "before": one.before,
                "after": one.after,
                "changed": one.changed,
                "refused": one.refused or None,
                "decision": orjson.loads(encode(one.decision)) if one.decision else None,
            }
            for one in outcomes
        ]
    }


def summary(outcomes: Sequence[Outcome]) -> str:
    """All of it in one line."""
    moved = sum(1 for one in outcomes if one.changed)
    refused = sum(1 for one in outcomes if one.refused)
    text = f"{len(outcomes)} resources, {moved} would change"
    return f"{text}, {refused} could not be placed." if refused else f"{text}."


def _spelled(shares: Shares) -> str:
    return " ".join(f"{name}:{count}" if count else name for name, count in sorted(shares.items())) or "-"


def _change(one: Outcome) -> str:
    parts = []
    for name in sorted({*one.before, *one.after}):
        old, new = one.before.get(name), one.after.get(name)
        if old == new:
            continue
        if not old and not new:
            parts.append(f"+{name}" if new is not None else f"-{name}")
        else:
            parts.append(f"{name} {(new or 0) - (old or 0):+d}")
    return ", ".join(parts) or "none"


def _painted(text: str, code: int, colours: bool) -> str:
    return f"\033[{code}m{text}\033[0m" if colours else text
