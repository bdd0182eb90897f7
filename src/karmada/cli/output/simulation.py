"""The outcome of a simulation as text."""

from collections.abc import Sequence

from karmada.cli.output.tabs import aligned
from karmada.explain.simulate.outcome import Outcome, Shares, summary
from karmada.explain.simulate.terms import Terms


def table(outcomes: Sequence[Outcome], terms: Terms) -> str:
    """One line each."""
    rows = [["RESOURCE", "BEFORE", "AFTER", "CHANGE"]]
    rows += [[one.name, _spelled(one.before), _spelled(one.after), one.refused or _change(one)] for one in outcomes]
    return f"{aligned(rows)}\n{summary(outcomes)}\n{terms}\n"


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
    return "".join(f"{line}\n" for line in (*lines, summary(outcomes), terms))


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
