"""The events about an object, oldest first."""

import time
from typing import Any

from karmada.cli.access import Access
from karmada.cli.describe.page import Page
from karmada.machinery.errors import ApiError
from karmada.machinery.resource import Scope

JSONObject = dict[str, Any]


async def events_of(access: Access, item: JSONObject) -> list[JSONObject]:
    """All events about an object; none where they cannot be read."""
    about = item["metadata"]
    fields = f"involvedObject.name={about['name']},involvedObject.kind={item.get('kind', '')}"
    if about.get("uid"):
        fields += f",involvedObject.uid={about['uid']}"
    scope = Scope(about.get("namespace") or "", fields=fields)
    try:
        found = (await access.resource("", "v1", "events").list(scope)).items
    except ApiError:
        return []
    return sorted(found, key=last_seen)


def last_seen(event: JSONObject) -> str:
    """When an event happened last."""
    series = event.get("series") or {}
    return str(series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or "")


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
