"""Rules of ResourceQuotas and LimitRanges."""

from karmada.api.field_errors import duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    qualified_name,
    quantity_of,
    strategy,
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
        if quantity_of(amount).unscaled < 0:
            errors.append(invalid(f"spec.hard[{name}]", amount, "must be greater than or equal to 0"))
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid("spec.scopes", scopes, "unsupported scope"))
        elif any(not _fits(scope, name) for name in hard):
            errors.append(invalid("spec.scopes", scopes, "unsupported scope applied to resource"))
    conflicts = ({"Terminating", "NotTerminating"}, {"BestEffort", "NotBestEffort"})
    if any(pair <= set(scopes) for pair in conflicts):
        errors.append(invalid("spec.scopes", scopes, "conflicting scopes"))
    if old is not None and scopes != (old["spec"].get("scopes") or []):
        errors.append(invalid("spec.scopes", scopes, "field is immutable"))
    return errors


def _fits(scope: str, resource: str) -> bool:
    if resource not in _STANDARD:
        return True
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
        low, high = item.get("min") or {}, item.get("max") or {}
        if kind == "PersistentVolumeClaim" and "storage" not in low and "storage" not in high:
            text = "either minimum or maximum storage value is required, but neither was provided"
            errors.append(required(f"{path}.limits", text))
        default, requested = item.get("default") or {}, item.get("defaultRequest") or {}
        for name in sorted({*low, *high, *default, *requested}):
            errors += qualified_name(f"{path}.max[{name}]", name) if name in high else []
            errors += _order(f"{path}.min[{name}]", low.get(name), high.get(name), "min", "max")
            place = f"{path}.defaultRequest[{name}]"
            errors += _order(place, requested.get(name), high.get(name), "default request", "max")
            errors += _order(place, requested.get(name), default.get(name), "default request", "default limit")
            errors += _order(f"{path}.default[{name}]", default.get(name), high.get(name), "default", "max")
    return errors


def _limit_type(field: str, kind: str) -> Errors:
    errors = qualified_name(field, kind)
    if not errors and "/" not in kind and kind not in _LIMITED:
        errors.append(invalid(field, kind, "must be a standard limit type or fully qualified"))
    return errors


def _order(field: str, small: str | None, large: str | None, first: str, second: str) -> Errors:
    if small is None or large is None or quantity_of(small) <= quantity_of(large):
        return []
    return [invalid(field, small, f"{first} value {small} is greater than {second} value {large}")]


RESOURCE_QUOTA = strategy(validate=_validate_quota)
LIMIT_RANGE = strategy(_default_limits, _validate_limits)
