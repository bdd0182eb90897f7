"""The chain from template to members as text."""

from karmada.cli.output.tabs import aligned
from karmada.cli.output.wrapping import fitted, wrapped
from karmada.explain.why.links import Link, first_broken

_GREEN, _RED, _YELLOW, _BOLD, _PLAIN = "\033[32m", "\033[31m", "\033[33m", "\033[1m", "\033[0m"
_NARROW = 4
"""Where tables begin that would not fit otherwise."""


def lay_out(links: list[Link]) -> None:
    """Turn the tables of links into lines of their details, for programs that print them."""
    for link in links:
        link.details = [*aligned(link.table).splitlines(), *link.details]
        link.table = []


def as_text(title: str, links: list[Link], colour: bool, columns: int = 0) -> str:
    """For people, broken between words to fit so many columns."""
    width = max(len(link.name) for link in links)
    lines = [_painted(title, _BOLD, colour), ""]
    for link in links:
        mark = _mark(link, colour)
        first, *rest = wrapped(link.text, columns, width + 4)
        lines.append(f"{mark} {link.name:<{width}}  {first}")
        warnings = [
            f"{_painted('!', _YELLOW, colour) if not index else ' '} {line}"
            for text in link.warnings
            for index, line in enumerate(wrapped(text, columns, width + 6))
        ]
        lines += [f"  {'':<{width}}  {text}".rstrip() for text in (*rest, *warnings)]
        lines += _details(link, width + 4, columns)
    end = first_broken(links)
    lines.append("")
    if end is not None:
        first, *rest = wrapped(end.remedy, columns, len("What to do: "))
        lines += [f"{_painted('What to do:', _BOLD, colour)} {first}", *(f"{'':<12}{line}" for line in rest)]
    elif doubts := [text for link in links for text in link.warnings]:
        lines += wrapped(f"Nothing is broken, but is this meant? {doubts[0]}.", columns)
    else:
        lines.append("Nothing is broken.")
    return "\n".join(lines) + "\n"


def _details(link: Link, indent: int, columns: int) -> list[str]:
    """The table and the details of a link; a table that is too wide begins further left, with what is said below it."""
    table = aligned(link.table).splitlines()
    if columns and any(len(line) + indent > columns for line in table):
        indent = _NARROW
        table = fitted(link.table, columns - indent)
    table = [f"{'':<{indent}}{line}" for line in table]
    details = [f"{'':<{indent}}{line}" for text in link.details for line in wrapped(text, columns, indent)]
    return [line.rstrip() for line in (*table, *details)]


def _mark(link: Link, colour: bool) -> str:
    if link.broken:
        return _painted("✗", _RED, colour)
    return _painted("!", _YELLOW, colour) if link.warnings else _painted("✓", _GREEN, colour)


def _painted(text: str, code: str, colour: bool) -> str:
    return f"{code}{text}{_PLAIN}" if colour else text
