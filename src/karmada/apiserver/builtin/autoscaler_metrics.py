"""Metrics of autoscalers in the form of autoscaling/v2, and in the flat one that older versions had."""

from typing import Any, NamedTuple

JSONObject = dict[str, Any]


class _Field(NamedTuple):
    """One field of a metric in both forms; the newer one may be inside of an object."""

    new: tuple[str, ...]
    old: str
    zero: Any = None
    """What the older form says where the newer one says nothing."""


_NAME, _METRIC = _Field(("name",), "name", ""), _Field(("metric", "name"), "metricName", "")
_SELECTOR = _Field(("metric", "selector"), "selector")
_OBJECT = _Field(("describedObject",), "target", {})
Table = dict[str, tuple[_Field, ...]]
WANTED: Table = {
    "object": (
        _OBJECT,
        _METRIC,
        _Field(("target", "value"), "targetValue", "0"),
        _SELECTOR,
        _Field(("target", "averageValue"), "averageValue"),
    ),
    "pods": (_METRIC, _Field(("target", "averageValue"), "targetAverageValue", "0"), _SELECTOR),
    "resource": (
        _NAME,
        _Field(("target", "averageUtilization"), "targetAverageUtilization"),
        _Field(("target", "averageValue"), "targetAverageValue"),
    ),
    "containerResource": (
        _NAME,
        _Field(("target", "averageUtilization"), "targetAverageUtilization"),
        _Field(("target", "averageValue"), "targetAverageValue"),
        _Field(("container",), "container", ""),
    ),
    "external": (
        _METRIC,
        _Field(("metric", "selector"), "metricSelector"),
        _Field(("target", "value"), "targetValue"),
        _Field(("target", "averageValue"), "targetAverageValue"),
    ),
}
"""What is wanted of a metric, by its source."""
FOUND: Table = {
    "object": (
        _OBJECT,
        _METRIC,
        _Field(("current", "value"), "currentValue", "0"),
        _SELECTOR,
        _Field(("current", "averageValue"), "averageValue"),
    ),
    "pods": (_METRIC, _Field(("current", "averageValue"), "currentAverageValue", "0"), _SELECTOR),
    "resource": (
        _NAME,
        _Field(("current", "averageUtilization"), "currentAverageUtilization"),
        _Field(("current", "averageValue"), "currentAverageValue", "0"),
    ),
    "containerResource": (
        _NAME,
        _Field(("current", "averageUtilization"), "currentAverageUtilization"),
        _Field(("current", "averageValue"), "currentAverageValue", "0"),
        _Field(("container",), "container", ""),
    ),
    "external": (
        _METRIC,
        _Field(("metric", "selector"), "metricSelector"),
        _Field(("current", "value"), "currentValue", "0"),
        _Field(("current", "averageValue"), "currentAverageValue"),
    ),
}
"""What was found."""


def flat(metric: JSONObject, table: Table) -> JSONObject:
    """A metric in the older form."""
    flat = {"type": metric.get("type") or ""}
    for source, fields in table.items():
        if metric.get(source) is None:
            continue
        made: JSONObject = {}
        for field in fields:
            value: Any = metric[source]
            for key in field.new:
                value = (value or {}).get(key)
            value = field.zero if value is None else value
            if value is not None:
                made[field.old] = value
        flat[source] = made
    return flat


def nested(metric: Any, table: Table) -> Any:
    """A metric in the newer form; what is no metric stays what it is."""
    if not isinstance(metric, dict):
        return metric
    made = {"type": metric.get("type")}
    for source, fields in table.items():
        old = metric.get(source)
        if not isinstance(old, dict):
            made[source] = old
            continue
        new: JSONObject = {}
        for field in fields:
            value = old.get(field.old)
            value = field.zero if value is None else value
            if value is not None:
                holder = new
                for key in field.new[:-1]:
                    holder = holder.setdefault(key, {})
                holder[field.new[-1]] = value
        made[source] = new
    return made


def typed(metric: Any, old: Any) -> Any:
    """A metric with the types of its targets, which the older form does not say."""
    if not isinstance(metric, dict):
        return metric
    for source in WANTED:
        if not isinstance(metric.get(source), dict):
            continue
        target = metric[source].setdefault("target", {})
        if source == "object" and old["object"].get("averageValue") is not None and target["value"] in ("0", 0):
            del target["value"]
        target["type"] = _target_type(source, target)
    return metric


def _target_type(source: str, target: JSONObject) -> str:
    if target.get("averageUtilization") is not None:
        return "Utilization"
    if source == "object":
        return "AverageValue" if target.get("averageValue") is not None else "Value"
    return "Value" if target.get("value") is not None else "AverageValue"
