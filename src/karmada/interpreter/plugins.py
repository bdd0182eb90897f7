"""Interpreters that users write in Python and install beside Karmada.

A distribution announces them under the entry point group `karmada.interpreters`. Each entry point is a mapping from
`GroupVersionKind` to `KindRules`. They are trusted code: they run inside the control plane, without limits.
"""

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from karmada.interpreter.model import GroupVersionKind, KindRules

GROUP = "karmada.interpreters"


class Plugins(NamedTuple):
    """What could be loaded, and why the rest could not. Of two rules for a kind the one of the first name counts."""

    rules: Mapping[GroupVersionKind, KindRules]
    problems: tuple[str, ...] = ()


def installed() -> Plugins:
    """The interpreters installed in this environment."""
    return load(entry_points(group=GROUP))


def load(points: Iterable[EntryPoint]) -> Plugins:
    """One that does not load is a problem to report, and no reason not to start."""
    rules: dict[GroupVersionKind, KindRules] = {}
    problems: list[str] = []
    for point in sorted(points, key=lambda point: point.name):
        try:
            found = point.load()
        except Exception as error:
            problems.append(f"interpreter {point.name} ({point.value}) does not load: {type(error).__name__}: {error}")
            continue
        if wrong := _problem(found):
            problems.append(f"interpreter {point.name} ({point.value}) {wrong}")
            continue
        for kind, its_rules in found.items():
            rules.setdefault(kind, its_rules)
    return Plugins(rules, tuple(problems))


def _problem(found: object) -> str:
    if not isinstance(found, Mapping):
        return f"is {type(found).__name__}, not a mapping from GroupVersionKind to KindRules"
    for kind, rules in found.items():
        if not isinstance(kind, GroupVersionKind) or not isinstance(rules, KindRules):
            return f"maps {kind!r} to {type(rules).__name__}: keys must be GroupVersionKind, values KindRules"
    return ""
