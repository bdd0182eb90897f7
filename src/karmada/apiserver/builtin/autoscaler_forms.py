"""Autoscalers in the forms autoscaling/v1 and autoscaling/v2. What the older one cannot say travels in annotations, so
that nothing is lost on the way back.
"""

from typing import Any

from karmada.apiserver.builtin import autoscaler_notes as notes

JSONObject = dict[str, Any]
PERCENTAGE = "targetCPUUtilizationPercentage"
_CURRENT_PERCENTAGE = "currentCPUUtilizationPercentage"


def convert_autoscaler(obj: JSONObject) -> JSONObject:
    """Between autoscaling/v1 and autoscaling/v2."""
    return _to_v1(obj) if obj["apiVersion"] == "autoscaling/v2" else _to_v2(obj)


def new_spec(obj: JSONObject) -> JSONObject:
    """The spec of an autoscaling/v1 autoscaler in the newer form."""
    spec, noted = {**obj["spec"]}, _annotations(obj)
    metrics = notes.noted_metrics(noted)
    percentage = spec.pop(PERCENTAGE, None)
    if percentage is not None:
        metrics.append(cpu(percentage))
    if metrics:
        spec["metrics"] = metrics
    behavior = notes.noted_behavior(noted)
    if behavior is not None:
        spec["behavior"] = behavior
    return spec


def cpu(percentage: int) -> JSONObject:
    """The metric that the older form has a field for."""
    target = {"type": "Utilization", "averageUtilization": percentage}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def without_notes(obj: JSONObject) -> None:
    """Take the annotations of the older form away."""
    metadata = obj["metadata"]
    if notes.NOTES & _annotations(obj).keys():
        metadata["annotations"] = {k: v for k, v in metadata["annotations"].items() if k not in notes.NOTES}
        if not metadata["annotations"]:
            del metadata["annotations"]


def _annotations(obj: JSONObject) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("annotations") or {}


def _share(metric: JSONObject, field: str) -> int | None:
    """How much of cpu a metric wants or has; None for any other metric."""
    resource = metric.get("resource") or {}
    is_cpu = metric.get("type") == "Resource" and resource.get("name") == "cpu"
    return (resource.get(field) or {}).get("averageUtilization") if is_cpu else None


def _to_v1(obj: JSONObject) -> JSONObject:
    spec, status = {**obj["spec"]}, {**(obj.get("status") or {})}
    metrics, current = spec.pop("metrics", None) or [], status.pop("currentMetrics", None)
    shares = [share for metric in metrics if (share := _share(metric, "target")) is not None]
    if shares:
        spec[PERCENTAGE] = shares[0]
    others = [metric for metric in metrics if _share(metric, "target") is None]
    for metric in current or ():
        if (now := _share(metric, "current")) is not None:
            status[_CURRENT_PERCENTAGE] = now
    noted = notes.written(others, spec.pop("behavior", None), current, status.pop("conditions", None))
    status.setdefault("currentReplicas", 0)
    return _with(obj, "autoscaling/v1", spec, status, noted)


def _to_v2(obj: JSONObject) -> JSONObject:
    status, noted = {**(obj.get("status") or {})}, _annotations(obj)
    now = status.pop(_CURRENT_PERCENTAGE, None)
    current = notes.noted_values(noted)
    if current is None and now is not None:
        current = [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": now}}}]
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    status["currentMetrics"] = current
    conditions = notes.noted_conditions(noted)
    if conditions is not None:
        status["conditions"] = conditions
    return _with(obj, "autoscaling/v2", new_spec(obj), status, {})


def _with(obj: JSONObject, api_version: str, spec: JSONObject, status: JSONObject, noted: dict[str, str]) -> JSONObject:
    made = {**obj, "apiVersion": api_version, "metadata": {**obj["metadata"]}, "spec": spec, "status": status}
    without_notes(made)
    if noted:
        made["metadata"]["annotations"] = {**_annotations(made), **noted}
    return made
