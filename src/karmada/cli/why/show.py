"""The chain as text or as data."""

from typing import Any

from karmada.cli.session import Session
from karmada.cli.why.links import Link, first_broken

_GREEN, _RED, _BOLD, _PLAIN = "\033[32m", "\033[31m", "\033[1m", "\033[0m"


def as_text(session: Session, title: str, links: list[Link]) -> str:
    """For people."""
    colour = session.colours
    width = max(len(link.name) for link in links)
    lines = [_painted(title, _BOLD, colour), ""]
    for link in links:
        mark = _painted("✗", _RED, colour) if link.broken else _painted("✓", _GREEN, colour)
        first, *rest = link.said.splitlines() or [""]
        lines.append(f"{mark} {link.name:<{width}}  {first}")
        lines += [f"  {'':<{width}}  {text}".rstrip() for text in (*rest, *link.details)]
    end = first_broken(links)
    lines.append("")
    if end is not None:
        lines.append(f"{_painted('What to do:', _BOLD, colour)} {end.remedy}")
    else:
        lines.append("Nothing is broken.")
    return "\n".join(lines) + "\n"


def as_data(title: str, links: list[Link]) -> dict[str, Any]:
    """For programs."""
    end = first_broken(links)
    return {
        "subject": title,
        "broken": end.name if end else None,
        "remedy": end.remedy if end else None,
        "links": [
            {"name": link.name, "ok": not link.broken, "message": link.said, "details": link.details, **link.data}
            for link in links
        ],
    }


def _painted(text: str, code: str, colour: bool) -> str:
    return f"{code}{text}{_PLAIN}" if colour else text
