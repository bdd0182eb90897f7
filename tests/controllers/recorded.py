"""Events that controllers recorded, as a test compares them."""

from karmada.machinery.transport import GroupVersionResource

EVENTS = GroupVersionResource("", "v1", "events")


async def recorded(plane, *reasons):
    """Events of some reasons: type, reason, the kind they are about, and message; each once, in order."""
    found = (await plane.client.resource(EVENTS).list()).items
    events = {(e["type"], e["reason"], e["involvedObject"]["kind"], e["message"]) for e in found}
    return sorted(event for event in events if event[1] in reasons)
