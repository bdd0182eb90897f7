"""Rules of the metrics of HorizontalPodAutoscalers: one source of the type that is named, with a target it can have.

Of several sources the first one is judged, in the order of `_SOURCES`; the others may not be there in the first place.
"""

from collections.abc import Callable

from karmada.api.field_errors import forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    positive,
    quantity_of,
    unsupported,
)
from karmada.apiserver.builtin.strategies.compute_resources import container_resource
from karmada.apiserver.schema.metadata import path_segment

_FIELDS = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_TARGET_TYPES = ("Utilization", "Value", "AverageValue")


def metric_errors(metric: JSONObject, path: str) -> Errors:
    """What is wrong with one metric."""
    kind = metric.get("type") or ""
    wrong_type = [] if kind in _FIELDS else [unsupported(f"{path}.type", kind, _FIELDS)]
    errors: Errors = [] if kind else [required(f"{path}.type", "must specify a metric source type")]
    errors += wrong_type
    present = [field for field in _SOURCES if metric.get(field) is not None]
    if present:
        errors += _SOURCES[present[0]](metric[present[0]], f"{path}.{present[0]}")
    expected = _FIELDS.get(kind)
    if expected is not None and expected not in present:
        errors.append(required(f"{path}.{expected}", "must populate information for the given metric source"))
    errors += wrong_type
    if len(present) > 1:
        text = "must populate the given metric source only"
        errors += [forbidden(f"{path}.{field}", text) for field in present if field != expected]
    return errors


def reference(target: JSONObject, path: str) -> Errors:
    """The kind, name and version of an object."""
    errors: Errors = []
    for field in ("kind", "name"):
        text = target.get(field) or ""
        if not text:
            errors.append(required(f"{path}.{field}"))
        errors += [invalid(f"{path}.{field}", text, problem) for problem in path_segment(text)]
    version = target.get("apiVersion") or ""
    if version.count("/") > 1:
        errors.append(invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    return errors


def _object(source: JSONObject, path: str) -> Errors:
    errors = reference(source.get("describedObject") or {}, f"{path}.describedObject")
    errors += _identifier(source, path) + _target(source, path)
    target = source.get("target") or {}
    if target.get("value") is None and target.get("averageValue") is None:
        errors.append(required(f"{path}.target.averageValue", "must set either a target value or averageValue"))
    return errors


def _external(source: JSONObject, path: str) -> Errors:
    neither = "must set either a target value for metric or a per-pod target"
    both = "may not set both a target value for metric and a per-pod target"
    return _identifier(source, path) + _either(source, path, "averageValue", neither, "value", both)


def _pods(source: JSONObject, path: str) -> Errors:
    errors = _identifier(source, path) + _target(source, path)
    average = (source.get("target") or {}).get("averageValue")
    if average is None:
        errors.append(required(f"{path}.target.averageValue", "must specify a positive target averageValue"))
    return errors


def _resource(source: JSONObject, path: str) -> Errors:
    errors: Errors = [] if source.get("name") else [required(f"{path}.name", "must specify a resource name")]
    return errors + _share_or_amount(source, path)


def _container_resource(source: JSONObject, path: str) -> Errors:
    name, container = source.get("name") or "", source.get("container") or ""
    errors: Errors = [] if name else [required(f"{path}.name", "must specify a resource name")]
    errors += container_resource(f"{path}.name", name) if name else []
    if container:
        errors += dns_label(f"{path}.container", container)
    else:
        errors.append(required(f"{path}.container", "must specify a container"))
    return errors + _share_or_amount(source, path)


def _share_or_amount(source: JSONObject, path: str) -> Errors:
    """A resource is wanted at a share of what is requested or as an amount, not as both."""
    neither = "must set either a target raw value or a target utilization"
    both = "may not set both a target raw value and a target utilization"
    return _either(source, path, "averageUtilization", neither, "averageValue", both)


def _either(source: JSONObject, path: str, wanted: str, neither: str, other: str, both: str) -> Errors:
    """A target that has one of two fields."""
    errors = _target(source, path)
    target = source.get("target") or {}
    missing = [target.get(wanted), target.get(other)].count(None)
    if missing == 2:
        errors.append(required(f"{path}.target.{wanted}", neither))
    elif missing == 0:
        errors.append(forbidden(f"{path}.target.{other}", both))
    return errors


def _identifier(source: JSONObject, path: str) -> Errors:
    name = (source.get("metric") or {}).get("name") or ""
    if not name:
        return [required(f"{path}.metric.name", "must specify a metric name")]
    return [invalid(f"{path}.metric.name", name, problem) for problem in path_segment(name)]


def _target(source: JSONObject, path: str) -> Errors:
    target = source.get("target") or {}
    kind = target.get("type") or ""
    errors: Errors = [] if kind else [required(f"{path}.target.type", "must specify a metric target type")]
    if kind not in _TARGET_TYPES:
        errors.append(invalid(f"{path}.target.type", kind, "must be either Utilization, Value, or AverageValue"))
    amounts = {field: target.get(field) for field in ("value", "averageValue")}
    errors += [
        invalid(f"{path}.target.{field}", amount, "must be positive")
        for field, amount in amounts.items()
        if amount is not None and quantity_of(amount).sign() <= 0
    ]
    return errors + positive(f"{path}.target.averageUtilization", target.get("averageUtilization"))


_SOURCES: dict[str, Callable[[JSONObject, str], Errors]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}
