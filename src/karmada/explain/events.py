"""The events about an object, oldest first."""

from typing import TYPE_CHECKING, Any

from karmada.machinery.errors import ApiError
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource

if TYPE_CHECKING:
    from karmada.machinery.client import Client

JSONObject = dict[str, Any]
EVENTS = GroupVersionResource("", "v1", "events")


async def events_of(client: "Client", item: JSONObject) -> list[JSONObject]:
    """All events about an object; none where they cannot be read."""
    about = item["metadata"]
    fields = f"involvedObject.name={about['name']},involvedObject.kind={item.get('kind', '')}"
    if about.get("uid"):
        fields += f",involvedObject.uid={about['uid']}"
    scope = Scope(about.get("namespace") or "", fields=fields)
    try:
        found = (await client.resource(EVENTS).list(scope)).items
    except ApiError:
        return []
    return sorted(found, key=last_seen)


def last_seen(event: JSONObject) -> str:
    """When an event happened last."""
    series = event.get("series") or {}
    return str(series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or "")
