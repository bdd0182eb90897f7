"""Rules of ResourceQuotas and LimitRanges."""

import math

from karmada.api.field_errors import duplicate, forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    qualified_name,
    quantity_of,
    strategy,
)
from karmada.apiserver.builtin.strategies.compute_resources import (
    STANDARD,
    container_resource,
    is_extended,
    may_be_overcommitted,
)

_STANDARD = frozenset(
    (
        *("cpu", "memory", "ephemeral-storage", "pods", "resourcequotas", "services", "replicationcontrollers"),
        *("secrets", "persistentvolumeclaims", "configmaps", "services.nodeports", "services.loadbalancers"),
        *("requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage"),
        *("limits.cpu", "limits.memory", "limits.ephemeral-storage"),
    )
)
_LIMITED = ("Container", "PersistentVolumeClaim", "Pod")
_SCOPES = frozenset(
    (
        *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass"),
        *("CrossNamespacePodAffinity", "VolumeAttributesClass"),
    )
)
_COMPUTE = frozenset(
    (
        *("cpu", "memory", "pods", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"),
        *("ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage"),
    )
)


_EXISTING = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity")
_WHOLE = frozenset(
    (
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    )
)


def _resource(field: str, name: str) -> Errors:
    errors = qualified_name(field, name)
    if "/" not in name and name not in _STANDARD and not name.startswith(("requests.hugepages-", "hugepages-")):
        errors.append(invalid(field, name, "must be a standard resource for quota"))
    return errors


def _validate_quota(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    hard = spec.get("hard") or {}
    errors: Errors = []
    for name, amount in hard.items():
        errors += _resource(f"spec.hard[{name}]", name)
        errors += _quota_amount(f"spec.hard[{name}]", name, amount)
    scopes = spec.get("scopes") or []
    # Complaints quote the whole list, which must not be spelled out for each of its items.
    unknown = invalid("spec.scopes", scopes, "unsupported scope")
    unfit = invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(unknown)
        elif _unfit(scope, hard):
            errors.append(unfit)
    conflicts = ({"Terminating", "NotTerminating"}, {"BestEffort", "NotBestEffort"})
    if any(pair <= set(scopes) for pair in conflicts):
        errors.append(invalid("spec.scopes", scopes, "conflicting scopes"))
    if spec.get("scopeSelector") is not None:
        errors += _scope_selector(spec["scopeSelector"], hard)
    if old is not None and scopes != (old["spec"].get("scopes") or []):
        errors.append(invalid("spec.scopes", scopes, "field is immutable"))
    return errors


def _quota_amount(field: str, name: str, amount: str) -> Errors:
    errors: Errors = []
    if quantity_of(amount).sign() < 0:
        errors.append(invalid(field, amount, "must be greater than or equal to 0"))
    if (name in _WHOLE or is_extended(name)) and quantity_of(amount).milli_value() % 1000:
        errors.append(invalid(field, amount, "must be an integer"))
    return errors


def _scope_selector(value: JSONObject, hard: JSONObject) -> Errors:
    field = "spec.scopeSelector.matchExpressions"
    wanted = value.get("matchExpressions") or []
    shown = {
        "MatchExpressions": [
            {
                "ScopeName": one.get("scopeName") or "",
                "Operator": one.get("operator") or "",
                "Values": one.get("values"),
            }
            for one in wanted
        ]
        or None
    }
    errors: Errors = []
    unfit = invalid(field, shown, "unsupported scope applied to resource")
    for one in wanted:
        scope, operator, values = one.get("scopeName") or "", one.get("operator") or "", one.get("values") or []
        if scope not in _SCOPES:
            errors.append(invalid(f"{field}.scopeName", scope, "unsupported scope"))
        errors += [unfit] * len(_unfit(scope, hard))
        if scope in _EXISTING and operator != "Exists":
            names = [f"ResourceQuotaScope{name}" for name in _EXISTING]
            text = f"must be 'Exists' when scope is any of {', '.join(names[:-1])} or {names[-1]}"
            errors.append(invalid(f"{field}.operator", operator, text))
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                errors.append(required(f"{field}.values", text))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                errors.append(invalid(f"{field}.values", values, text))
        else:
            errors.append(invalid(f"{field}.operator", operator, "not a valid selector operator"))
    return errors


def _unfit(scope: str, hard: JSONObject) -> list[str]:
    """Resources that a quota cannot count by a scope."""
    return [name for name in _STANDARD if name in hard and not _fits(scope, name)]


def _fits(scope: str, resource: str) -> bool:
    if scope == "VolumeAttributesClass":
        return resource in ("persistentvolumeclaims", "requests.storage")
    return resource == "pods" if scope == "BestEffort" else resource in _COMPUTE


def _default_limits(obj: JSONObject) -> None:
    for item in obj["spec"].get("limits") or ():
        if item.get("type") != "Container":
            continue
        default = item.get("default") or {}
        default = {**(item.get("max") or {}), **default}
        requested = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
        if default:
            item["default"] = default
        if requested:
            item["defaultRequest"] = requested


def _validate_limits(obj: JSONObject, old: JSONObject | None) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, item in enumerate(obj["spec"].get("limits") or ()):
        path = f"spec.limits[{index}]"
        kind = item.get("type") or ""
        errors += _limit_type(f"{path}.type", kind)
        if kind in seen:
            errors.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        errors += _limit(item, kind, path)
    return errors


def _limit(item: JSONObject, kind: str, path: str) -> Errors:
    fields = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
    given: dict[str, dict[str, str]] = {field: item.get(field) or {} for field in fields}
    errors: Errors = []
    if kind == "Pod":
        text = "may not be specified when `type` is 'Pod'"
        errors += [forbidden(f"{path}.{field}", text) for field in ("default", "defaultRequest") if given[field]]
        given |= {"default": {}, "defaultRequest": {}}
    for field, values in given.items():
        for name in values:
            errors += _limited_resource(kind, f"{path}.{field}[{name}]", name)
    if kind == "PersistentVolumeClaim" and "storage" not in given["min"] and "storage" not in given["max"]:
        text = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(f"{path}.limits", text))
    for name in sorted({name for values in given.values() for name in values}):
        errors += _bounds_of(name, path, *(given[field].get(name) for field in fields))
    return errors


def _bounds_of(
    name: str,
    path: str,
    high: str | None,
    low: str | None,
    default: str | None,
    requested: str | None,
    ratio: str | None,
) -> Errors:
    place = f"{path}.defaultRequest[{name}]"
    errors = _order(f"{path}.min[{name}]", low, high, "min", "max")
    errors += _order(place, low, requested, "min", "default request", shown=requested)
    errors += _order(place, requested, high, "default request", "max")
    errors += _order(place, requested, default, "default request", "default limit")
    errors += _order(f"{path}.default[{name}]", low, default, "min", "default")
    errors += _order(f"{path}.default[{name}]", default, high, "default", "max", shown=high)
    if ratio is not None:
        errors += _ratio(f"{path}.maxLimitRequestRatio[{name}]", ratio, low, high)
    differ = default is not None and requested is not None and quantity_of(default) != quantity_of(requested)
    if differ and not may_be_overcommitted(name):
        text = f"default value {default} must equal to defaultRequest value {requested} in {name}"
        errors.append(invalid(place, requested, text))
    return errors


def _ratio(field: str, ratio: str, low: str | None, high: str | None) -> Errors:
    errors: Errors = []
    if quantity_of(ratio) < quantity_of("1"):
        errors.append(invalid(field, ratio, f"ratio {ratio} is less than 1"))
    if low is not None and high is not None:
        least, most = quantity_of(low).milli_value(), quantity_of(high).milli_value()
        possible = most / least if least else math.inf if most else math.nan
        if quantity_of(ratio).milli_value() / 1000 > possible:
            errors.append(invalid(field, ratio, f"ratio {ratio} is greater than max/min = {possible:f}"))
    return errors


def _limited_resource(kind: str, field: str, name: str) -> Errors:
    if kind in ("Pod", "Container"):
        return container_resource(field, name)
    errors = qualified_name(field, name)
    if not errors and "/" not in name and name not in STANDARD:
        errors.append(invalid(field, name, "must be a standard resource type or fully qualified"))
    return errors


def _limit_type(field: str, kind: str) -> Errors:
    errors = qualified_name(field, kind)
    if not errors and "/" not in kind and kind not in _LIMITED:
        errors.append(invalid(field, kind, "must be a standard limit type or fully qualified"))
    return errors


def _order(
    field: str, small: str | None, large: str | None, first: str, second: str, shown: str | None = None
) -> Errors:
    if small is None or large is None or quantity_of(small) <= quantity_of(large):
        return []
    return [invalid(field, shown or small, f"{first} value {small} is greater than {second} value {large}")]


def _validate_quota_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    errors: Errors = []
    for field in ("hard", "used"):
        for name, amount in ((obj.get("status") or {}).get(field) or {}).items():
            place = f"status.{field}[{name}]"
            errors += _resource(place, name) + _quota_amount(place, name, amount)
    return errors


RESOURCE_QUOTA = strategy(validate=_validate_quota, validate_status=_validate_quota_status)
LIMIT_RANGE = strategy(_default_limits, _validate_limits, create_on_update=True)
