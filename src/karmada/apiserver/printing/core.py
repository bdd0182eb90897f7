"""Rows of nodes, namespaces, configuration, quotas and events."""

from typing import Any

from karmada.apiserver.printing import cells
from karmada.apiserver.printing.model import JSONObject, Printer, Printers, columns

_ROLE_PREFIX = "node-role.kubernetes.io/"


def _node(obj: JSONObject, now: float) -> list[Any]:
    info = cells.part(obj, "status", "nodeInfo")
    kernel, architecture = info.get("kernelVersion"), info.get("architecture")
    if kernel and architecture:
        kernel = f"{kernel} ({architecture})"
    return [
        cells.name_of(obj),
        _node_status(obj),
        ",".join(_roles(obj["metadata"].get("labels") or {})) or cells.NONE,
        cells.age(obj, now),
        info.get("kubeletVersion", ""),
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        info.get("osImage") or cells.UNKNOWN,
        kernel or cells.UNKNOWN,
        info.get("containerRuntimeVersion") or cells.UNKNOWN,
    ]


def _node_status(obj: JSONObject) -> str:
    ready = cells.condition(obj, "Ready")
    status = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return status + ",SchedulingDisabled" if cells.part(obj, "spec").get("unschedulable") else status


def _roles(labels: dict[str, str]) -> list[str]:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return sorted(role for role in roles if role)


def _address(obj: JSONObject, kind: str) -> str:
    addresses = cells.part(obj, "status").get("addresses") or ()
    return next((item["address"] for item in addresses if item.get("type") == kind), cells.NONE)


def _namespace(obj: JSONObject, now: float) -> list[Any]:
    return [cells.name_of(obj), cells.part(obj, "status").get("phase", ""), cells.age(obj, now)]


def _config_map(obj: JSONObject, now: float) -> list[Any]:
    return [cells.name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), cells.age(obj, now)]


def _secret(obj: JSONObject, now: float) -> list[Any]:
    return [cells.name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), cells.age(obj, now)]


def _service_account(obj: JSONObject, now: float) -> list[Any]:
    return [cells.name_of(obj), cells.age(obj, now)]


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
    ("", "nodes"): Printer(
        columns(
            *("Name", "Status", "Roles", "Age", "Version", "+Internal-IP", "+External-IP"),
            *("+OS-Image", "+Kernel-Version", "+Container-Runtime"),
        ),
        _node,
    ),
    ("", "namespaces"): Printer(columns("Name", "Status", "Age"), _namespace),
    ("", "configmaps"): Printer(columns("Name", "Data", "Age"), _config_map),
    ("", "secrets"): Printer(columns("Name", "Type", "Data", "Age"), _secret),
    ("", "serviceaccounts"): Printer(columns("Name", "Age"), _service_account),
    ("", "resourcequotas"): Printer(columns("Name", "Request", "Limit", "Age"), _quota),
    ("", "componentstatuses"): Printer(columns("Name", "Status", "Message", "Error"), _component),
    ("", "events"): Printer(_EVENT_COLUMNS, _event),
    ("events.k8s.io", "events"): Printer(_EVENT_COLUMNS, _event),
}
