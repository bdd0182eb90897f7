"""Conversions between versions of built-in kinds that differ in shape: autoscalers v1 and v2, events old and new.

What the older form of an autoscaler cannot say travels in annotations, so that nothing is lost on the way back.
"""

from collections.abc import Callable
from typing import Any

import orjson

from karmada.apiserver.resources import ResourceType

JSONObject = dict[str, Any]
_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _BEHAVIOR = f"{_PREFIX}metrics", f"{_PREFIX}behavior"
_CONDITIONS, _CURRENT = f"{_PREFIX}conditions", f"{_PREFIX}current-metrics"
_PERCENTAGE = "targetCPUUtilizationPercentage"


class Conversion:
    """Converts objects by a function of the object and the target apiVersion."""

    def __init__(self, convert: Callable[[JSONObject], JSONObject]) -> None:
        self._convert = convert

    async def convert(self, objects: list[JSONObject], version: str) -> list[JSONObject]:
        """The objects in the other form; which one that is follows from the form they have."""
        return [self._convert(obj) for obj in objects]


def converter_of(type_: ResourceType) -> Conversion | None:
    """The conversion between a type and its storage version; None where they differ in name only."""
    if (type_.group, type_.version) == ("autoscaling", "v1"):
        return Conversion(convert_autoscaler)
    if (type_.group, type_.kind) == ("events.k8s.io", "Event"):
        return Conversion(convert_event)
    return None


def convert_autoscaler(obj: JSONObject) -> JSONObject:
    """Between autoscaling/v1 and autoscaling/v2."""
    return _to_v1(obj) if obj["apiVersion"] == "autoscaling/v2" else _to_v2(obj)


def _cpu(metric: JSONObject) -> int | None:
    """The percentage, where a metric is nothing but the utilisation of cpu."""
    resource = metric.get("resource") or {}
    target = resource.get("target") or {}
    if metric.get("type") == "Resource" and resource.get("name") == "cpu" and target.get("type") == "Utilization":
        return target.get("averageUtilization")
    return None


def _to_v1(obj: JSONObject) -> JSONObject:
    spec, status = {**obj["spec"]}, {**(obj.get("status") or {})}
    notes: dict[str, str] = {}
    metrics = spec.pop("metrics", None) or []
    others = []
    for metric in metrics:
        percentage = _cpu(metric)
        if percentage is not None and _PERCENTAGE not in spec:
            spec[_PERCENTAGE] = percentage
        else:
            others.append(metric)
    if others:
        notes[_METRICS] = orjson.dumps(others).decode()
    behavior = spec.pop("behavior", None)
    if behavior is not None:
        notes[_BEHAVIOR] = orjson.dumps(behavior).decode()
    current = status.pop("currentMetrics", None)
    if current:
        for metric in current:
            now = ((metric.get("resource") or {}).get("current") or {}).get("averageUtilization")
            if (metric.get("resource") or {}).get("name") == "cpu" and now is not None:
                status["currentCPUUtilizationPercentage"] = now
        notes[_CURRENT] = orjson.dumps(current).decode()
    conditions = status.pop("conditions", None)
    if conditions:
        notes[_CONDITIONS] = orjson.dumps(conditions).decode()
    status.setdefault("currentReplicas", 0)
    return _with(obj, "autoscaling/v1", spec, status, notes)


def _to_v2(obj: JSONObject) -> JSONObject:
    spec, status = {**obj["spec"]}, {**(obj.get("status") or {})}
    notes = {**((obj.get("metadata") or {}).get("annotations") or {})}
    metrics = _json(notes.pop(_METRICS, ""), [])
    percentage = spec.pop(_PERCENTAGE, None)
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}, *metrics]
    if metrics:
        spec["metrics"] = metrics
    behavior = _json(notes.pop(_BEHAVIOR, ""), None)
    if behavior is not None:
        spec["behavior"] = behavior
    status.pop("currentCPUUtilizationPercentage", None)
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    status["currentMetrics"] = _json(notes.pop(_CURRENT, ""), None)
    conditions = _json(notes.pop(_CONDITIONS, ""), None)
    if conditions is not None:
        status["conditions"] = conditions
    bare = {**obj, "metadata": {**obj["metadata"]}}
    bare["metadata"].pop("annotations", None)
    return _with(bare, "autoscaling/v2", spec, status, notes)


def _json(text: str, absent: Any) -> Any:
    try:
        return orjson.loads(text) if text else absent
    except orjson.JSONDecodeError:
        return absent


def _with(obj: JSONObject, api_version: str, spec: JSONObject, status: JSONObject, notes: dict[str, str]) -> JSONObject:
    metadata = {**obj["metadata"]}
    if notes:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **notes}
    return {**obj, "apiVersion": api_version, "metadata": metadata, "spec": spec, "status": status}


_EVENT_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_OLD_NAMES = {new: old for old, new in _EVENT_NAMES.items()}


def convert_event(obj: JSONObject) -> JSONObject:
    """Between core v1 and events.k8s.io/v1: the same event with other names for its fields."""
    old_form = obj["apiVersion"] == "v1"
    names = _EVENT_NAMES if old_form else _OLD_NAMES
    result = {names.get(key, key): value for key, value in obj.items()}
    result["apiVersion"] = "events.k8s.io/v1" if old_form else "v1"
    if not old_form:
        for field, absent in (("involvedObject", {}), ("source", {}), ("firstTimestamp", None)):
            result.setdefault(field, absent)
        for field, empty in (("lastTimestamp", None), ("reportingComponent", ""), ("reportingInstance", "")):
            result.setdefault(field, empty)
    return result
