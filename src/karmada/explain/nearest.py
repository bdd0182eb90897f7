"""The name somebody meant."""

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

ALIKE = 0.6
"""From so much on (1 is equal) names look as if one were meant for the other."""


def likeness(one: str, other: str) -> float:
    """How alike two names are, 1 if they are equal."""
    return SequenceMatcher(None, one, other).ratio()


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like one that is not; empty if none is."""
    return next(iter(get_close_matches(name, sorted(known), 1, ALIKE)), "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to be put behind a sentence; empty if no name is near."""
    found = nearest(name, known)
    return f" (did you mean {found}?)" if found else ""
