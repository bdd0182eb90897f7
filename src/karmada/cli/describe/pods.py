"""Pods and the templates they are made from."""

from typing import Any

from karmada.cli.describe import metadata
from karmada.cli.describe.containers import containers, seccomp
from karmada.cli.describe.page import Page
from karmada.cli.describe.related import Related
from karmada.cli.describe.volumes import volumes

JSONObject = dict[str, Any]


def pod(page: Page, item: JSONObject, _: Related) -> None:
    """A Pod."""
    about, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    metadata.name(page, item)
    page.field(0, "Priority", spec.get("priority", 0))
    for title, key in (("Priority Class Name", "priorityClassName"), ("Runtime Class Name", "runtimeClassName")):
        if spec.get(key):
            page.field(0, title, spec[key])
    if spec.get("serviceAccountName"):
        page.field(0, "Service Account", spec["serviceAccountName"])
    node = spec.get("nodeName")
    page.field(0, "Node", f"{node}/{status.get('hostIP', '')}" if node else "<none>")
    if status.get("startTime"):
        page.field(0, "Start Time", metadata.time(status["startTime"]))
    metadata.marks(page, item)
    metadata.phase(page, item, status.get("phase", ""))
    if about.get("deletionTimestamp"):
        page.field(0, "Termination Grace Period", f"{about.get('deletionGracePeriodSeconds', 0)}s")
    for title in ("reason", "message"):
        if status.get(title):
            page.field(0, title.title(), status[title])
    seccomp(page, 0, spec.get("securityContext"))
    page.field(0, "IP", status.get("podIP", ""))
    addresses = status.get("podIPs") or ()
    page.line(0, *(("IPs:",) if addresses else ("IPs:", "<none>")))
    for address in addresses:
        page.field(1, "IP", address.get("ip", ""))
    metadata.owner(page, item)
    if status.get("nominatedNodeName"):
        page.field(0, "NominatedNodeName", status["nominatedNodeName"])
    containers(page, 0, spec, item)
    _conditions(page, spec, status)
    volumes(page, 0, spec.get("volumes"), "  ")
    page.field(0, "QoS Class", status.get("qosClass") or "BestEffort")
    _where(page, spec, 0)
    spread = sorted(_constraint(one) for one in spec.get("topologySpreadConstraints") or ())
    if spread:
        page.several(0, "Topology Spread Constraints", spread)


def _conditions(page: Page, spec: JSONObject, status: JSONObject) -> None:
    states = {one["type"]: one.get("status", "") for one in status.get("conditions") or ()}
    gates = [one["conditionType"] for one in spec.get("readinessGates") or ()]
    for title, rows in (
        ("Readiness Gates", [(f"{gate} ", f"{states.get(gate, '<none>')} ") for gate in gates]),
        ("Conditions", [(f"{kind} ", f"{state} ") for kind, state in states.items()]),
    ):
        if rows:
            page.line(0, f"{title}:")
            page.table(1, ("Type", "Status"), rows, ruled=False)


def _constraint(one: JSONObject) -> str:
    text = f"{one['topologyKey']}:{one['whenUnsatisfiable']} when max skew {one['maxSkew']} is exceeded"
    return text + (f" for selector {metadata.selector(one['labelSelector'])}" if one.get("labelSelector") else "")


def _where(page: Page, spec: JSONObject, level: int) -> None:
    page.several(level, "Node-Selectors", metadata.pairs(spec.get("nodeSelector")))
    tolerations = sorted(spec.get("tolerations") or (), key=lambda one: str(one.get("key", "")))
    page.several(level, "Tolerations", [toleration(one) for one in tolerations])


def template(page: Page, found: JSONObject) -> None:
    """The template of pods."""
    page.line(0, "Pod Template:")
    about, spec = found.get("metadata") or {}, found.get("spec") or {}
    metadata.labels(page, about.get("labels"), level=1)
    if about.get("annotations"):
        metadata.annotations(page, about["annotations"], level=1)
    if spec.get("serviceAccountName"):
        page.field(1, "Service Account", spec["serviceAccountName"])
    containers(page, 1, spec, None)
    volumes(page, 1, spec.get("volumes"), "   ")
    spread = sorted(_constraint(one) for one in spec.get("topologySpreadConstraints") or ())
    if spread:
        page.several(1, "Topology Spread Constraints", spread)
    if spec.get("priorityClassName"):
        page.field(1, "Priority Class Name", spec["priorityClassName"])
    _where(page, spec, 1)


def toleration(one: JSONObject) -> str:
    """`key=value:Effect op=Exists for 300s`."""
    text = str(one.get("key", ""))
    if one.get("value"):
        text += f"={one['value']}"
    if one.get("effect"):
        text += f":{one['effect']}"
    if one.get("operator") == "Exists" and not one.get("value"):
        text += " op=Exists"
    if one.get("tolerationSeconds") is not None:
        text += f" for {one['tolerationSeconds']}s"
    return text.strip()
