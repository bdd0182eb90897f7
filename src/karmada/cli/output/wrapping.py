"""Sentences broken between words, so that a terminal need not break them inside one."""

import textwrap


def wrapped(text: str, columns: int, indent: int = 0) -> list[str]:
    """The lines of a text that begins `indent` columns from the left; 0 columns: there is no terminal to fit."""
    width = columns - indent
    if columns <= 0 or width < 20:
        return text.splitlines() or [""]
    found: list[str] = []
    for line in text.splitlines() or [""]:
        found += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    return found
