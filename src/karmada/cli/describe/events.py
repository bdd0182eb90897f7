"""The events about an object at the end of its description."""

import time
from typing import Any

from karmada.cli.describe.page import Page
from karmada.explain.events import last_seen

JSONObject = dict[str, Any]


def describe(page: Page, found: list[JSONObject]) -> None:
    """The events as a table at the end of a description."""
    if not found:
        page.field(0, "Events", "<none>")
        return
    page.line(0, "Events:")
    page.line(1, "Type", "Reason", "Age", "From", "Message")
    page.line(1, "----", "------", "----", "----", "-------")
    for event in found:
        source = (event.get("source") or {}).get("component") or event.get("reportingComponent") or ""
        message = str(event.get("message", "")).strip()
        page.line(1, str(event.get("type", "")), str(event.get("reason", "")), age(event), source, message)


def age(event: JSONObject) -> str:
    """`3m (x5 over 1h)`."""
    from karmada.api.duration import human
    from karmada.api.timestamps import parse

    def ago(text: str) -> str:
        return human(time.time() - parse(text).timestamp()) if text else "<unknown>"

    last = last_seen(event)
    count = int((event.get("series") or {}).get("count") or event.get("count") or 1)
    if count <= 1:
        return ago(last)
    return f"{ago(last)} (x{count} over {ago(str(event.get('firstTimestamp') or event.get('eventTime') or last))})"
