"""Conversions between versions of built-in kinds that differ in shape: autoscalers v1 and v2, events old and new."""

from collections.abc import Callable
from typing import Any

from karmada.apiserver.builtin.autoscaler_forms import convert_autoscaler
from karmada.apiserver.resources import ResourceType

JSONObject = dict[str, Any]


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
    if old_form:
        for field in ("reportingController", "reportingInstance"):
            if result.get(field) == "":
                del result[field]
    else:
        for field, absent in (("involvedObject", {}), ("source", {}), ("firstTimestamp", None)):
            result.setdefault(field, absent)
        for field, empty in (("lastTimestamp", None), ("reportingComponent", ""), ("reportingInstance", "")):
            result.setdefault(field, empty)
    return result
