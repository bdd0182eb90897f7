"""The outcome of a simulation as text."""

from collections.abc import Sequence

from karmada.api.counting import counted
from karmada.cli.output.wrapping import fitted, wrapped
from karmada.explain.simulate.outcome import Outcome, Shares, delays, summary
from karmada.explain.simulate.terms import Terms

NOT_BY_ITSELF = "With the gates as they are nothing is evicted by itself: this is what would follow if it were."


def table(outcomes: Sequence[Outcome], terms: Terms, columns: int = 0) -> str:
    """One line each, broken to fit so many columns."""
    rows = [["RESOURCE", "BEFORE", "AFTER", "CHANGE"]]
    rows += [[one.name, _spelled(one.before), _spelled(one.after), one.refused or _change(one)] for one in outcomes]
    return _page(rows, [*delays(outcomes), summary(outcomes), str(terms)], columns)


def moves(outcomes: Sequence[Outcome], terms: Terms | None = None, columns: int = 0) -> str:
    """What leaves its cluster, one line each: where it goes, what is lost, what has no room."""
    concerned = [one for one in outcomes if one.changed or one.refused]
    if not concerned:
        return "Nothing would move.\n"
    rows = [["RESOURCE", "BEFORE", "AFTER", "EFFECT"]]
    rows += [[one.name, _spelled(one.before), _spelled(one.after), _effect(one)] for one in concerned]
    moved = sum(1 for one in concerned if not one.refused and not one.lost)
    lost = sum(1 for one in concerned if one.lost and not one.refused)
    refused = sum(1 for one in concerned if one.refused)
    text = f"{moved} would move whole, {lost} would lose replicas, {refused} have no room."
    under = [] if terms is None else [str(terms)] if terms.evicts else [NOT_BY_ITSELF, str(terms)]
    return _page(rows, [*delays(concerned), text, *under], columns)


def _page(rows: list[list[str]], sentences: list[str], columns: int) -> str:
    lines = [*fitted(rows, columns), "", *(line for text in sentences for line in wrapped(text, columns))]
    return "".join(f"{line}\n" for line in lines)


def _effect(one: Outcome) -> str:
    if one.refused:
        return f"no room: {one.refused}"
    total = sum(one.before.values())
    if one.lost:
        return f"loses {one.lost} of {counted(total, 'replica')}"
    return "moves" if one.after else "goes nowhere"


def diff(outcomes: Sequence[Outcome], terms: Terms, colours: bool = False) -> str:
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
    return "".join(f"{line}\n" for line in (*lines, *delays(outcomes), summary(outcomes), terms))


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
