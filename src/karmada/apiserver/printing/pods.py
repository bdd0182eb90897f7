"""Rows of pods: the one status that says most about all containers."""

from typing import Any

from karmada.apiserver.printing import cells
from karmada.apiserver.printing.model import JSONObject, Printer, Printers, columns

_COMPLETED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def _row(pod: JSONObject, now: float) -> list[Any]:
    spec, status = cells.part(pod, "spec"), cells.part(pod, "status")
    state = _State(pod)
    restarts = str(state.restarts)
    if state.restarts and state.last_restart:
        restarts += f" ({cells.since(state.last_restart, now)} ago)"
    ips = status.get("podIPs") or [{}]
    return [
        cells.name_of(pod),
        f"{state.ready}/{state.total}",
        state.reason,
        restarts,
        cells.age(pod, now),
        ips[0].get("ip") or cells.NONE,
        spec.get("nodeName") or cells.NONE,
        status.get("nominatedNodeName") or cells.NONE,
        _readiness_gates(pod),
    ]


class _State:
    """What containers add up to: a reason, ready and total containers, restarts."""

    def __init__(self, pod: JSONObject) -> None:
        spec, status = cells.part(pod, "spec"), cells.part(pod, "status")
        self.sidecars = {
            item["name"] for item in spec.get("initContainers") or () if item.get("restartPolicy") == "Always"
        }
        self.total = len(spec.get("containers") or ()) + len(self.sidecars)
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""
        self.reason = str(status.get("reason") or status.get("phase") or "")
        scheduled = cells.condition(pod, "PodScheduled")
        if scheduled is not None and scheduled.get("reason") == "SchedulingGated":
            self.reason = "SchedulingGated"
        if not self._initializing(spec, status) or _is_true(pod, "Initialized"):
            self._containers(pod, status)
        if "deletionTimestamp" in pod["metadata"]:
            if status.get("reason") == "NodeLost":
                self.reason = "Unknown"
            elif status.get("phase") not in ("Succeeded", "Failed"):
                self.reason = "Terminating"

    def _initializing(self, spec: JSONObject, status: JSONObject) -> bool:
        """Go through init containers up to the first unfinished one, which gives the reason."""
        for position, item in enumerate(status.get("initContainerStatuses") or ()):
            self._count_restarts(item)
            state = item.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting") or {}
            if terminated is not None and not terminated.get("exitCode"):
                continue
            if item.get("name") in self.sidecars and item.get("started"):
                self.ready += bool(item.get("ready"))
                continue
            if terminated is not None:
                self.reason = "Init:" + (terminated.get("reason") or _exit(terminated))
            elif waiting.get("reason") not in (None, "", "PodInitializing"):
                self.reason = "Init:" + waiting["reason"]
            else:
                self.reason = f"Init:{position}/{len(spec.get('initContainers') or ())}"
            return True
        return False

    def _containers(self, pod: JSONObject, status: JSONObject) -> None:
        self.restarts, self.last_restart = 0, ""
        for item in status.get("initContainerStatuses") or ():
            if item.get("name") in self.sidecars:
                self._count_restarts(item)
        running = False
        for item in reversed(status.get("containerStatuses") or ()):
            self._count_restarts(item)
            state = item.get("state") or {}
            terminated = state.get("terminated")
            if (state.get("waiting") or {}).get("reason"):
                self.reason = state["waiting"]["reason"]
            elif terminated is not None:
                self.reason = terminated.get("reason") or _exit(terminated)
            elif item.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed" and running:
            self.reason = "Running" if _is_true(pod, "Ready") else "NotReady"

    def _count_restarts(self, item: JSONObject) -> None:
        self.restarts += cells.count(item, "restartCount")
        finished = cells.part(item, "lastState", "terminated").get("finishedAt") or ""
        self.last_restart = max(self.last_restart, finished)


def _exit(terminated: JSONObject) -> str:
    signal = terminated.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{terminated.get('exitCode', 0)}"


def _is_true(pod: JSONObject, kind: str) -> bool:
    return (cells.condition(pod, kind) or {}).get("status") == "True"


def _readiness_gates(pod: JSONObject) -> str:
    gates = cells.part(pod, "spec").get("readinessGates") or ()
    open_gates = sum(_is_true(pod, gate.get("conditionType", "")) for gate in gates)
    return f"{open_gates}/{len(gates)}" if gates else cells.NONE


def _conditions(pod: JSONObject) -> list[JSONObject]:
    phase = cells.part(pod, "status").get("phase", "")
    if phase not in _COMPLETED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _COMPLETED[phase]}]


def _template_row(template: JSONObject, now: float) -> list[Any]:
    inner = cells.part(template, "template")
    names, images = cells.containers(cells.part(inner, "spec"))
    return [cells.name_of(template), names, images, cells.labels(cells.part(inner, "metadata").get("labels"))]


PRINTERS: Printers = {
    ("", "pods"): Printer(
        columns("Name", "Ready", "Status", "Restarts", "Age", "+IP", "+Node", "+Nominated Node", "+Readiness Gates"),
        _row,
        _conditions,
    ),
    ("", "podtemplates"): Printer(columns("Name", "Containers", "Images", "Pod Labels"), _template_row),
}
