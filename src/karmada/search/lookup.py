"""Queries as lookups in the full-text index, and what of a text matched. Pure.

The index intersects the words and terms of a query and gives its rows from new to old, so nothing is scanned.
Beginnings of as many characters as it has prefixes of (`PREFIXES`) are looked up as whole words are. Longer ones would
be gathered from all words that begin so before the first row comes. The quick way looks up what they begin with and
compares rows: it finds a page of what is common at once. What is so rare that it does not, is gathered quickly: that is
the full way. Values with `*` on both sides have no lookup: SQLite compares them itself, which spares most rows the way
into Python.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Any, NamedTuple

from karmada.search import terms
from karmada.search.database import PREFIXES, id_at
from karmada.search.query import WORD, Query

QUICK, VISITS = 1000, 10_000
"""Rows that are compared for one page, on the quick way and on the full one."""
AROUND = 4
"""Words that an excerpt shows before the first match, and after it."""
COLUMNS = ("id", "cluster", "api", "version", "plural", "kind", "namespace", "name", "created", "status")
_FROM = {"api": "c", "version": "c", "plural": "c"}
_LINES = {"label": "labels", "image": "images"}
"""Fields that have several values, one on a line."""


class Way(NamedTuple):
    """One way to look a query up."""

    matching: str
    """The FTS5 expression; empty where the query has ages only."""
    visits: int
    """How many rows are compared."""
    compares_words: bool
    """Whether rows may lack the words of the query."""


class Lookup:
    """One query at a time of the clock."""

    def __init__(self, query: Query, now: float) -> None:
        found = [f'"{word}"*' for word in query.words]
        found += [each for term in query.terms for each in terms.lookups(*term)]
        self._ages = [(age.older, id_at(now - age.seconds)) for age in query.ages]
        self._words = [_beginning(word) for word in query.words]
        self._patterns = [_pattern(*term) for term in query.terms]
        self._values = [_column(name) for name, _ in query.terms]
        self._likes = [(_column(name), _like(pattern)) for name, pattern in query.terms if _is_scanned(name, pattern)]
        self.ways = [Way(" AND ".join(found), VISITS, compares_words=False)]
        """Another way is needed where one finds neither a page nor everything."""
        quick = " AND ".join(map(_shortened, found))
        if quick != self.ways[0].matching and all(map(str.isascii, query.words)):
            self.ways.insert(0, Way(quick, QUICK, bool(query.words)))

    def candidates(self, way: Way, before: int | None = None) -> tuple[str, list[Any]]:
        """SQL for the objects to compare, from new to old, with ids below `before`: the id, then what is compared."""
        newest, values = self._newest(way, before)
        compared = ["newest.id", *self._values, *(["w.text"] if way.compares_words else [])]
        values_of = " cross join objects o on o.id = newest.id" if self._values else ""
        text = " cross join words w on w.rowid = newest.id" if way.compares_words else ""
        like = " and ".join(f"{column} like ? escape '!'" for column, _ in self._likes)
        only = f" where {like}" if like else ""
        selected = f"select {', '.join(compared)} from ({newest}) as newest{values_of}{text}{only}"
        return selected, [*values, *(pattern for _, pattern in self._likes)]

    def visited(self, way: Way, before: int | None = None) -> tuple[str, list[Any]] | None:
        """SQL for how many objects were looked at; none where every one of them is a candidate."""
        newest, values = self._newest(way, before)
        return (f"select count(*) from ({newest})", values) if self._likes else None

    def _newest(self, way: Way, before: int | None) -> tuple[str, list[Any]]:
        table, column = ("words", "rowid") if way.matching else ("objects", "id")
        tests: list[str] = ["words match ?"] if way.matching else []
        values: list[Any] = [way.matching] if way.matching else []
        for below, number in [*self._ages, *([(True, before)] if before is not None else [])]:
            tests.append(f"{column} {'<' if below else '>='} ?")
            values.append(number)
        where = f" where {' and '.join(tests)}" if tests else ""
        return f"select {column} as id from {table}{where} order by {column} desc limit {way.visits:d}", values

    def matches(self, way: Way, row: tuple[Any, ...]) -> bool:
        """Whether a candidate matches: values share tokens, and what was looked up may be less than was asked for."""
        compared = row[1:]
        if not all(pattern.search(value) for pattern, value in zip(self._patterns, compared, strict=False)):
            return False
        if not way.compares_words:
            return True
        text = _folded(compared[-1])
        return all(word.search(text) for word in self._words)


def rows_of(ids: list[int]) -> str:
    """SQL for objects, from new to old: `COLUMNS`."""
    shown = ", ".join(f"{_FROM.get(name, 'o')}.{name}" for name in COLUMNS)
    return (
        f"select {shown} from objects o cross join collections c on c.id = o.collection"
        f" where o.id in ({', '.join(map(str, ids))}) order by o.id desc"
    )


def excerpt(text: str, words: tuple[str, ...]) -> str:
    """The words around the first match, matches in brackets; empty where none is seen."""
    folded = _folded(text)
    match = _beginning(*words)
    first = match.search(folded) if words else None
    if first is None:
        return ""
    before = [word.start() for word in WORD.finditer(folded, max(first.start() - 40 * AROUND, 0), first.start())]
    after = [word.end() for word, _ in zip(WORD.finditer(folded, first.end()), range(AROUND), strict=False)]
    begin, end = (before[-AROUND:] or [first.start()])[0], (after or [first.end()])[-1]
    shown, at = [], begin
    for found in match.finditer(folded, begin, end):
        shown += [text[at : found.start()], "[", text[found.start() : found.end()], "]"]
        at = found.end()
    cut = WORD.search(folded, 0, begin) is not None, WORD.search(folded, end) is not None
    return f"{'...' if cut[0] else ''}{''.join(shown)}{text[at:end]}{'...' if cut[1] else ''}"


def _beginning(*words: str) -> re.Pattern[str]:
    """Finds words with one of some beginnings in a folded text."""
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(re.escape(_folded(word)) for word in words)})[^\W_]*")


def _folded(text: str) -> str:
    """A text as the index compares it, without case and accents, every character in its place."""
    return text.lower() if text.isascii() else "".join(map(_base, text))


@lru_cache(maxsize=4096)
def _base(character: str) -> str:
    return unicodedata.normalize("NFD", character)[0].lower()[:1]


def _pattern(field: str, pattern: str) -> re.Pattern[str]:
    """Finds a value that matches a pattern, in which only `*` is special."""
    first, *more = map(re.escape, pattern.split("*"))
    inner = first
    if more:
        # The next place of every part between two stars is as good as any later one: nothing is tried again.
        between = "".join(f"(?>[^\n]*?{part})" for part in more[:-1])
        inner = f"{first}{between}[^\n]*{more[-1]}"
    return re.compile(f"\n{inner}\n" if field in _LINES else f"\\A{inner}\\Z", re.IGNORECASE)


def _column(field: str) -> str:
    return f"o.{_LINES.get(field, field)}"


def _is_scanned(field: str, pattern: str) -> bool:
    """Whether there is no lookup for a pattern; SQLite ignores the case of ASCII only."""
    return pattern.isascii() and not terms.lookups(field, pattern)


def _like(pattern: str) -> str:
    """The LIKE of SQL that holds for every value with a match in it."""
    return "%" + re.sub("[!%_]", r"!\g<0>", pattern).replace("*", "%") + "%"


def _shortened(lookup: str) -> str:
    """A lookup of a beginning as one that the index answers at once."""
    if not lookup.endswith("*"):
        return lookup
    token = lookup[1:-2]
    return f'"{token[: max(length for length in PREFIXES if length <= len(token))]}"*'
