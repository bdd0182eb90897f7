"""Rules of Events, in the older and the newer group: both are stored in the older form."""

from karmada.api.field_errors import invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, qualified_name, strategy
from karmada.apiserver.builtin.strategies.tables import Check, every, fields, needed
from karmada.apiserver.schema.metadata import path_segment
from karmada.apiserver.selectable import fields as selectable_fields

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
_UNSET = (*_FIXED[4:7], _FIXED[3])


def _said(controller: str) -> Check:
    """Who acted, what they did and why: events with a time must say it, within limits."""
    return fields(
        (controller, every(needed(), qualified_name)),
        ("reportingInstance action reason", every(needed(), _at_most(128))),
    )


def _at_most(longest: int, shown: str = "") -> Check:
    text = f"can have at most {longest} characters"

    def check(path: str, value: str | None) -> Errors:
        return [invalid(shown or path, "", text)] if len((value or "").encode()) > longest else []

    return check


_OLD_FORM = (fields(("message", _at_most(1024))), _said("reportingComponent"), "involvedObject")
_NEW_FORM = (fields(("note", _at_most(1024, "message"))), _said("reportingController"), "regarding")


def _either_event(obj: JSONObject, form: tuple[Check, Check, str]) -> Errors:
    """What both groups ask of an event: those with a time may be about objects of any namespace."""
    short, said, about = form
    wanted, own = (obj.get(about) or {}).get("namespace") or "", obj["metadata"].get("namespace") or ""
    timed = bool(obj.get("eventTime"))
    free = ("default", "kube-system") if timed else ("", "default")
    wrong = own not in free if not wanted else wanted != own and not timed
    text = "does not match event.namespace"
    errors = [invalid("involvedObject.namespace", wanted, text)] if wrong else []
    return errors + said("", obj) + short("", obj) if timed else errors


def _validate_event(obj: JSONObject, old: JSONObject | None) -> Errors:
    return _either_event(obj, _OLD_FORM)


def _validate_new_event(obj: JSONObject, old: JSONObject | None) -> Errors:
    """Events of the newer group have a time, and nothing of what the older counted by."""
    errors = _either_event(obj, _NEW_FORM)
    if old is not None:
        return errors + _changed(obj, old)
    errors += _series(obj.get("series"))
    errors += [] if obj.get("eventTime") else [required("eventTime")]
    if obj.get("type") not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {obj.get('type') or ''}"))
    return errors + [invalid(shown, "", "needs to be unset") for field, shown in _UNSET if obj.get(field)]


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
    selectable={**selectable_fields(*_EVENT_FIELDS), "source": _event_source},
)
NEW_EVENT = strategy(validate=_validate_new_event, create_on_update=True, selected_as=_NEW_EVENT_FIELDS)
