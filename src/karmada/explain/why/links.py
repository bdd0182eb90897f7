"""A link of the chain, whole or broken."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Link:
    """One step from template to members."""

    name: str
    text: str
    """One sentence."""
    broken: bool = False
    remedy: str = ""
    """What to do, where it is broken: one sentence."""
    details: list[str] = field(default_factory=list)
    table: list[list[str]] = field(default_factory=list)
    """Rows, the headings first, that go before the details."""
    data: dict[str, Any] = field(default_factory=dict)
    """The same for programs."""
    warnings: list[str] = field(default_factory=list)
    """What is probably not meant so, although nothing is broken by it."""


def broken(name: str, text: str, remedy: str, *details: str, table: list[list[str]] | None = None, **data: Any) -> Link:
    """A link at which the chain ends."""
    return Link(name, text, True, remedy, list(details), table or [], data)


def first_broken(links: list[Link]) -> Link | None:
    """Where the chain ends, if it does not reach the members whole."""
    return next((link for link in links if link.broken), None)


def as_data(title: str, links: list[Link]) -> dict[str, Any]:
    """The chain for programs."""
    end = first_broken(links)
    return {
        "subject": title,
        "broken": end.name if end else None,
        "remedy": end.remedy if end else None,
        "links": [
            {
                "name": link.name,
                "ok": not link.broken,
                "message": link.text,
                "details": link.details,
                "warnings": link.warnings,
                **link.data,
            }
            for link in links
        ],
    }
