"""Rows of nodes, namespaces, configuration, quotas and events."""

from collections.abc import Callable
from typing import Any

from karmada.apiserver.printing import cells
from karmada.apiserver.printing.model import JSONObject, Printer, Printers, columns, table

_ROLE_PREFIX = "node-role.kubernetes.io/"


def _node_status(obj: JSONObject) -> str:
    ready = cells.condition(obj, "Ready")
    status = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return status + ",SchedulingDisabled" if cells.part(obj, "spec").get("unschedulable") else status


def _roles(obj: JSONObject) -> str:
    labels = obj["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return ",".join(sorted(role for role in roles if role)) or cells.NONE


def _address(kind: str) -> Callable[[JSONObject], str]:
    def read(obj: JSONObject) -> str:
        addresses = cells.part(obj, "status").get("addresses") or ()
        return next((item["address"] for item in addresses if item.get("type") == kind), cells.NONE)

    return read


def _kernel(obj: JSONObject) -> str:
    info = cells.part(obj, "status", "nodeInfo")
    kernel, architecture = info.get("kernelVersion"), info.get("architecture")
    return f"{kernel} ({architecture})" if kernel and architecture else kernel or cells.UNKNOWN


def _keys(obj: JSONObject) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


def _quota(obj: JSONObject, now: float) -> list[Any]:
    status = cells.part(obj, "status")
    used, hard = status.get("used") or {}, status.get("hard") or {}
    requests: list[str] = []
    limits: list[str] = []
    for resource in sorted(hard):
        column = limits if resource.startswith("limits.") else requests
        column.append(f"{resource}: {used.get(resource, '0')}/{hard[resource]}")
    return [cells.name_of(obj), ", ".join(requests), ", ".join(limits), cells.age(obj, now)]


def _component(obj: JSONObject, now: float) -> list[Any]:
    conditions: list[JSONObject] = obj.get("conditions") or []
    healthy = next((item for item in conditions if item.get("type") == "Healthy"), None)
    if healthy is None:
        return [cells.name_of(obj), "Unknown", "", ""]
    status = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [cells.name_of(obj), status, healthy.get("message", ""), healthy.get("error", "")]


def _event(obj: JSONObject, now: float) -> list[Any]:
    """An event in either of its forms; the newer one calls the old fields deprecated."""
    first = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime")
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp") or first
    times = cells.count(obj, "count") or cells.count(obj, "deprecatedCount") or 1
    series = obj.get("series")
    if series:
        last, times = series.get("lastObservedTime"), cells.count(series, "count")
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    kind, name = about.get("kind", "").lower(), about.get("name")
    return [
        cells.since(last, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        about.get("fieldPath", ""),
        _source(obj),
        (obj.get("message") or obj.get("note") or "").strip(),
        cells.since(first, now),
        times,
        cells.name_of(obj),
    ]


def _source(obj: JSONObject) -> str:
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    host = source.get("host") or obj.get("reportingInstance")
    return f"{component}, {host}" if host else component


_EVENT_COLUMNS = columns(
    *("Last Seen", "Type", "Reason", "Object", "+Subobject", "+Source", "Message", "+First Seen", "+Count", "+Name")
)

PRINTERS: Printers = {
    ("", "nodes"): table(
        "Name",
        ("Status", _node_status),
        ("Roles", _roles),
        "Age",
        ("Version", "status.nodeInfo.kubeletVersion"),
        ("+Internal-IP", _address("InternalIP")),
        ("+External-IP", _address("ExternalIP")),
        ("+OS-Image", "status.nodeInfo.osImage", cells.UNKNOWN),
        ("+Kernel-Version", _kernel),
        ("+Container-Runtime", "status.nodeInfo.containerRuntimeVersion", cells.UNKNOWN),
    ),
    ("", "namespaces"): table("Name", ("Status", "status.phase"), "Age"),
    ("", "configmaps"): table("Name", ("Data", _keys), "Age"),
    ("", "secrets"): table("Name", ("Type", "type"), ("Data", _keys), "Age"),
    ("", "serviceaccounts"): table("Name", "Age"),
    ("", "resourcequotas"): Printer(columns("Name", "Request", "Limit", "Age"), _quota),
    ("", "componentstatuses"): Printer(columns("Name", "Status", "Message", "Error"), _component),
    ("", "events"): Printer(_EVENT_COLUMNS, _event),
    ("events.k8s.io", "events"): Printer(_EVENT_COLUMNS, _event),
}
