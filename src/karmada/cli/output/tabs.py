"""Text in columns, spaced as kubectl spaces it: three blanks between columns, none shorter than six characters."""

import unicodedata
from collections.abc import Iterable, Sequence

from karmada.cli.output.controls import shown

GAP, LEAST = 3, 6


def aligned(rows: Iterable[Sequence[str]], widths: Sequence[int] = ()) -> str:
    """Rows as lines. `widths` are least widths, for rows that follow others."""
    listed = [list(map(shown, row)) for row in rows]
    columns = column_widths(listed, widths)
    return "".join(_line(row, columns) for row in listed)


def column_widths(rows: Iterable[Sequence[str]], least: Sequence[int] = ()) -> list[int]:
    """How wide each column must be, with its gap."""
    widths = list(least)
    for row in rows:
        widths += [LEAST] * (len(row) - len(widths))
        for index, cell in enumerate(row):
            widths[index] = max(widths[index], width(cell) + GAP)
    return widths


def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=False)]
    return "".join([*padded[:-1], *row[-1:]]) + "\n"
