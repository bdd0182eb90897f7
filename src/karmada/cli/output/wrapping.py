"""Sentences broken between words, so that a terminal need not break them inside one."""

import re
import textwrap
from collections.abc import Sequence

from karmada.cli.output.controls import shown
from karmada.cli.output.tabs import aligned, column_widths

_LEAST = 20
"""Columns that a text needs to be worth breaking."""
_NUMBERED = re.compile(r": (?=\d)")
"""What stays together: `member1: 3`."""
_UNBROKEN = "\u00a0"


def wrapped(text: str, columns: int, indent: int = 0) -> list[str]:
    """The lines of a text that begins `indent` columns from the left; 0 columns: there is no terminal to fit."""
    text, width = shown(text), columns - indent
    if columns <= 0 or width < _LEAST:
        return text.splitlines() or [""]
    found: list[str] = []
    for line in text.splitlines() or [""]:
        kept = _NUMBERED.sub(f":{_UNBROKEN}", line)
        lines = textwrap.wrap(kept, width, break_long_words=False, break_on_hyphens=False) or [""]
        found += [one.replace(_UNBROKEN, " ") for one in lines]
    return found


def fitted(rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    """The lines of a table whose last column is broken to fit; where nothing is left beside, it goes below its row."""
    rows = [list(map(shown, row)) for row in rows]
    lines = aligned(rows).splitlines()
    if columns <= 0 or all(len(line) <= columns for line in lines):
        return lines
    start = sum(column_widths([row[:-1] for row in rows]))
    beside = columns - start >= _LEAST
    indent = start if beside else 2
    found: list[str] = []
    for row, line in zip(rows, lines, strict=True):
        if len(line) <= columns:
            found.append(line)
            continue
        first, *rest = wrapped(row[-1], columns, indent)
        if beside:
            found.append(line[:start] + first)
        else:
            found += [line[:start].rstrip(), f"{'':<{indent}}{first}"]
        found += [f"{'':<{indent}}{text}" for text in rest]
    return found
