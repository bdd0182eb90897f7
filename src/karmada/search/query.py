"""Queries of people: free words and `field:value` terms. Pure.

    crash kind:Pod cluster:member1 label:app=web image:nginx* status:CrashLoopBackOff age>1d

Words match the beginnings of words anywhere in an object; values may hold `*`. All terms must hold.
"""

import re
import shlex
from dataclasses import dataclass, field
from typing import NamedTuple

FIELDS = ("cluster", "image", "kind", "label", "name", "namespace", "status")
LONGEST = 1000
TERMS = 20
_AGE = re.compile(r"age([<>])(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
WORD = re.compile(r"[^\W_]+")
"""A word as the index separates them."""


class QueryError(ValueError):
    """The query cannot be understood; the message says why and what can be."""


class Age(NamedTuple):
    """Older or younger than some seconds."""

    older: bool
    seconds: int


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for."""

    words: tuple[str, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    """Field and pattern."""
    ages: tuple[Age, ...] = field(default=())


def parse(text: str) -> Query:
    """Read a query; raises `QueryError`."""
    if len(text) > LONGEST:
        raise QueryError(f"the query has more than {LONGEST} characters")
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise QueryError(f"the query cannot be read: {error}") from None
    if not parts:
        raise QueryError("the query is empty: write words, or terms such as kind:Pod cluster:member1 age>1d")
    if len(parts) > TERMS:
        raise QueryError(f"the query has more than {TERMS} terms")
    words: list[str] = []
    terms: list[tuple[str, str]] = []
    ages: list[Age] = []
    for part in parts:
        name, colon, value = part.partition(":")
        if part.startswith(("age<", "age>")):
            ages.append(_age(part))
        elif colon and name in FIELDS:
            if not value:
                raise QueryError(f"{part} names no value")
            terms.append((name, value))
        elif colon and name.isidentifier() and name.islower():
            raise QueryError(f"there is no field {name}; there are: {', '.join(FIELDS)}, and age>1d, age<2h")
        else:
            words += WORD.findall(part)
    if not words and not terms and not ages:
        raise QueryError("the query has neither words nor terms")
    return Query(tuple(words), tuple(terms), tuple(ages))


def _age(part: str) -> Age:
    found = _AGE.fullmatch(part)
    if found is None:
        raise QueryError(f"{part} is no age: write age>1d or age<30m (s, m, h, d, w)")
    return Age(found[1] == ">", int(found[2]) * _SECONDS[found[3]])
