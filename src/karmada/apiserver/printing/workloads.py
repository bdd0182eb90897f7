"""Rows of workloads: apps, batch and autoscaling, and replication controllers."""

from typing import Any

from karmada.api import duration
from karmada.apiserver.printing import cells
from karmada.apiserver.printing.model import JSONObject, Printer, Printers, columns

_WIDE = ("+Containers", "+Images", "+Selector")


def _pod_spec(obj: JSONObject) -> JSONObject:
    return cells.part(obj, "spec", "template", "spec")


def _deployment(obj: JSONObject, now: float) -> list[Any]:
    status = cells.part(obj, "status")
    return [
        cells.name_of(obj),
        f"{cells.count(status, 'readyReplicas')}/{cells.count(obj['spec'], 'replicas')}",
        cells.count(status, "updatedReplicas"),
        cells.count(status, "availableReplicas"),
        cells.age(obj, now),
        *cells.containers(_pod_spec(obj)),
        cells.selector(obj["spec"].get("selector")),
    ]


def _stateful_set(obj: JSONObject, now: float) -> list[Any]:
    ready = f"{cells.count(cells.part(obj, 'status'), 'readyReplicas')}/{cells.count(obj['spec'], 'replicas')}"
    return [cells.name_of(obj), ready, cells.age(obj, now), *cells.containers(_pod_spec(obj))]


def _replicas(obj: JSONObject, now: float) -> list[Any]:
    status = cells.part(obj, "status")
    return [
        cells.name_of(obj),
        cells.count(cells.part(obj, "spec"), "replicas"),
        cells.count(status, "replicas"),
        cells.count(status, "readyReplicas"),
        cells.age(obj, now),
        *cells.containers(_pod_spec(obj)),
    ]


def _replica_set(obj: JSONObject, now: float) -> list[Any]:
    return [*_replicas(obj, now), cells.selector(cells.part(obj, "spec").get("selector"))]


def _replication_controller(obj: JSONObject, now: float) -> list[Any]:
    return [*_replicas(obj, now), cells.labels(cells.part(obj, "spec").get("selector"))]


def _daemon_set(obj: JSONObject, now: float) -> list[Any]:
    status = cells.part(obj, "status")
    numbers = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")
    return [
        cells.name_of(obj),
        *(cells.count(status, number) for number in (*numbers, "updatedNumberScheduled", "numberAvailable")),
        cells.labels(_pod_spec(obj).get("nodeSelector")),
        cells.age(obj, now),
        *cells.containers(_pod_spec(obj)),
        cells.selector(cells.part(obj, "spec").get("selector")),
    ]


def _controller_revision(obj: JSONObject, now: float) -> list[Any]:
    owner = next((ref for ref in obj["metadata"].get("ownerReferences") or () if ref.get("controller")), None)
    controller = cells.NONE
    if owner is not None:
        group = owner["apiVersion"].rpartition("/")[0]
        kind = owner["kind"].lower() + (f".{group}" if group else "")
        controller = f"{kind}/{owner['name']}"
    return [cells.name_of(obj), controller, cells.count(obj, "revision"), cells.age(obj, now)]


def _job(obj: JSONObject, now: float) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    succeeded = cells.count(status, "succeeded")
    if spec.get("completions") is not None:
        completions = f"{succeeded}/{spec['completions']}"
    elif cells.count(spec, "parallelism") > 1:
        completions = f"{succeeded}/1 of {spec['parallelism']}"
    else:
        completions = f"{succeeded}/1"
    started = status.get("startTime")
    finished = status.get("completionTime")
    took = duration.human((cells.seconds(finished) if finished else now) - cells.seconds(started)) if started else ""
    return [
        cells.name_of(obj),
        _job_status(obj),
        completions,
        took,
        cells.age(obj, now),
        *cells.containers(_pod_spec(obj)),
        cells.selector(spec.get("selector")),
    ]


def _job_status(obj: JSONObject) -> str:
    def holds(kind: str) -> bool:
        return (cells.condition(obj, kind) or {}).get("status") == "True"

    if holds("Complete"):
        return "Complete"
    if holds("Failed"):
        return "Failed"
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    later = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((kind for kind in later if holds(kind)), "Running")


def _cron_job(obj: JSONObject, now: float) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    last = status.get("lastScheduleTime")
    job = cells.part(spec, "jobTemplate", "spec")
    return [
        cells.name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or cells.NONE,
        cells.text(spec.get("suspend")),
        len(status.get("active") or ()),
        cells.since(last, now) if last else cells.NONE,
        cells.age(obj, now),
        *cells.containers(cells.part(job, "template", "spec")),
        cells.selector(job.get("selector")),
    ]


def _autoscaler(obj: JSONObject, now: float) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    target = cells.part(spec, "scaleTargetRef")
    minimum = spec.get("minReplicas")
    return [
        cells.name_of(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec, status),
        cells.UNSET if minimum is None else str(minimum),
        cells.count(spec, "maxReplicas"),
        cells.count(status, "currentReplicas"),
        cells.age(obj, now),
    ]


def _metrics(spec: JSONObject, status: JSONObject) -> str:
    if "targetCPUUtilizationPercentage" in spec:
        used = _percent(status.get("currentCPUUtilizationPercentage"), cells.UNKNOWN)
        return f"cpu: {used}/{spec['targetCPUUtilizationPercentage']}%"
    wanted = spec.get("metrics") or []
    current = status.get("currentMetrics") or []
    shown = [_metric(metric, current[i] if i < len(current) else {}) for i, metric in enumerate(wanted)]
    return cells.limited(shown, 2, separator=", ") if shown else cells.NONE


def _metric(metric: JSONObject, status: JSONObject) -> str:
    """One metric as `current/target`; resources with their name, averages of totals marked as such."""
    kind = metric.get("type", "")
    source = kind[:1].lower() + kind[1:]
    if source not in ("external", "pods", "object", "resource", "containerResource"):
        return "<unknown type>"
    target = cells.part(metric, source, "target")
    now = cells.part(status, source, "current")
    average = target.get("averageValue")
    if source in ("resource", "containerResource"):
        name = cells.part(metric, source).get("name", "")
        if average is not None:
            return f"{name}: {now.get('averageValue', cells.UNKNOWN)}/{average}"
        used = _percent(now.get("averageUtilization"), cells.UNKNOWN)
        return f"{name}: {used}/{_percent(target.get('averageUtilization'), '<auto>')}"
    if source == "pods":
        return f"{now.get('averageValue', cells.UNKNOWN)}/{average}"
    if average is not None:
        return f"{now.get('averageValue', cells.UNKNOWN)}/{average} (avg)"
    return f"{now.get('value', cells.UNKNOWN)}/{target.get('value', '')}"


def _percent(value: Any, absent: str) -> str:
    return absent if value is None else f"{value}%"


_REPLICAS = columns("Name", "Desired:integer", "Current:integer", "Ready:integer", "Age", *_WIDE)

PRINTERS: Printers = {
    ("apps", "deployments"): Printer(columns("Name", "Ready", "Up-to-date", "Available", "Age", *_WIDE), _deployment),
    ("apps", "statefulsets"): Printer(columns("Name", "Ready", "Age", "+Containers", "+Images"), _stateful_set),
    ("apps", "replicasets"): Printer(_REPLICAS, _replica_set),
    ("", "replicationcontrollers"): Printer(_REPLICAS, _replication_controller),
    ("apps", "daemonsets"): Printer(
        columns(
            *("Name", "Desired:integer", "Current:integer", "Ready:integer", "Up-to-date:integer"),
            *("Available:integer", "Node Selector", "Age", *_WIDE),
        ),
        _daemon_set,
        hidden="deprecated.daemonset.template.generation",
    ),
    ("apps", "controllerrevisions"): Printer(columns("Name", "Controller", "Revision", "Age"), _controller_revision),
    ("batch", "jobs"): Printer(columns("Name", "Status", "Completions", "Duration", "Age", *_WIDE), _job),
    ("batch", "cronjobs"): Printer(
        columns(
            *("Name", "Schedule", "Timezone", "Suspend:boolean", "Active:integer", "Last Schedule", "Age", *_WIDE),
        ),
        _cron_job,
    ),
    ("autoscaling", "horizontalpodautoscalers"): Printer(
        columns("Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"), _autoscaler
    ),
}
