"""Rules of Events, in the older and the newer group: both are stored in the older form."""

from karmada.api.field_errors import invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, qualified_name, strategy
from karmada.apiserver.schema.metadata import path_segment
from karmada.apiserver.selectable import fields

_FIXED = (
    ("regarding", "involvedObject"),
    ("reason", "reason"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)
"""What never changes, with the older names by which refusals call it; the series alone goes on."""


def _validate_event(obj: JSONObject, old: JSONObject | None) -> Errors:
    return _namespace(obj, obj.get("involvedObject"))


def _namespace(obj: JSONObject, about: JSONObject | None) -> Errors:
    wanted = (about or {}).get("namespace") or ""
    if (wanted or "default") != (obj["metadata"].get("namespace") or ""):
        return [invalid("involvedObject.namespace", wanted, "does not match event.namespace")]
    return []


def _validate_new_event(obj: JSONObject, old: JSONObject | None) -> Errors:
    """Events of the newer group say who did what, and when."""
    errors = _namespace(obj, obj.get("regarding"))
    if old is not None:
        return errors + _changed(obj, old)
    errors += [] if obj.get("eventTime") else [required("eventTime")]
    controller = obj.get("reportingController") or ""
    errors += qualified_name("reportingController", controller) if controller else [required("reportingController")]
    for field in ("reportingInstance", "action", "reason"):
        text = obj.get(field) or ""
        if not text:
            errors.append(required(field))
        elif len(text) > 128:
            errors.append(invalid(field, "", "can have at most 128 characters"))
    if len(obj.get("note") or "") > 1024:
        errors.append(invalid("message", "", "can have at most 1024 characters"))
    if obj.get("type") not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {obj.get('type') or ''}"))
    errors += _series(obj.get("series"))
    return errors + [invalid(shown, "", "needs to be unset") for field, shown in _FIXED[3:7] if obj.get(field)]


def _series(series: JSONObject | None) -> Errors:
    if series is None:
        return []
    few = (series.get("count") or 0) < 2
    errors = [invalid("series.count", "", "should be at least 2")] if few else []
    return errors if series.get("lastObservedTime") else [*errors, required("series.lastObservedTime")]


def _changed(obj: JSONObject, old: JSONObject) -> Errors:
    """Nothing but the series of an event changes; the reason is looked at twice."""
    errors = _series(obj.get("series")) if obj.get("series") != old.get("series") else []
    for field, shown in _FIXED:
        new, before = obj.get(field), old.get(field)
        if new != before and (new or before or field == "related"):
            absent = None if field == "eventTime" else ""
            error = invalid(shown, absent if new is None else new, "field is immutable")
            errors += [error, error] if field == "reason" else [error]
    return errors


_EVENT_FIELDS = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "type",
)
_NEW_EVENT_FIELDS = {
    name.replace("involvedObject", "regarding").replace("reportingComponent", "reportingController"): name
    for name in _EVENT_FIELDS
}
"""By the names of events.k8s.io; both are stored in the older form."""


def _event_source(event: JSONObject) -> str:
    source = event.get("source") or {}
    return str(source.get("component") or event.get("reportingComponent") or "")


EVENT = strategy(
    validate=_validate_event,
    name=path_segment,
    create_on_update=True,
    selectable={**fields(*_EVENT_FIELDS), "source": _event_source},
)
NEW_EVENT = strategy(validate=_validate_new_event, create_on_update=True, selected_as=_NEW_EVENT_FIELDS)
