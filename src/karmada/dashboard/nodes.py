"""The nodes of a member, read there with the rights of whoever asks."""

from karmada.dashboard.names import checked_name
from karmada.dashboard.routes import Visit
from karmada.dashboard.rows import JSONObject
from karmada.machinery.transport import GroupVersionResource

NODES = GroupVersionResource("", "v1", "nodes")
MOST = 500
_ROLE = "node-role.kubernetes.io/"


async def nodes(visit: Visit) -> JSONObject:
    """The first nodes by name, and whether there are more."""
    context = visit.context
    client = context.member(checked_name(visit.arguments["name"], "a cluster"))
    page = await context.members.in_time(client.resource(NODES).page(limit=MOST))
    return {"items": [node_row(one) for one in page.items], "more": bool(page.next)}


def node_row(tree: JSONObject) -> JSONObject:
    """What is shown of a node."""
    about, spec, status = tree["metadata"], tree.get("spec") or {}, tree.get("status") or {}
    conditions = {one.get("type"): one for one in status.get("conditions") or ()}
    ready = conditions.get("Ready") or {}
    trouble = [name for name, one in conditions.items() if name != "Ready" and one.get("status") == "True"]
    state = {"True": True, "False": False}.get(ready.get("status", ""))
    return {
        "name": about["name"],
        "ready": state,
        "message": ", ".join(trouble) or ("" if state else ready.get("message") or "it has not reported"),
        "schedulable": not spec.get("unschedulable"),
        "roles": sorted(label.removeprefix(_ROLE) for label in about.get("labels") or {} if label.startswith(_ROLE)),
        "version": (status.get("nodeInfo") or {}).get("kubeletVersion", ""),
        "allocatable": {name: str(amount) for name, amount in (status.get("allocatable") or {}).items()},
        "taints": [f"{one.get('key', '')}:{one.get('effect', '')}" for one in spec.get("taints") or ()],
    }
