"""Rules of PriorityClasses and RuntimeClasses."""

from karmada.api.field_errors import duplicate, forbidden, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    immutable,
    repeated,
    strategy,
    unsupported,
)
from karmada.apiserver.builtin.strategies.compute_resources import resource_errors
from karmada.apiserver.builtin.strategies.internal_form import toleration as internal
from karmada.apiserver.builtin.strategies.tolerations import toleration_errors
from karmada.apiserver.schema.metadata import labels

_HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_POLICIES = ("PreemptLowerPriority", "Never")


def _default_priority_class(obj: JSONObject) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _validate_priority_class(obj: JSONObject, old: JSONObject | None) -> Errors:
    value, policy = obj.get("value") or 0, obj["preemptionPolicy"]
    if old is not None:
        changed = value != (old.get("value") or 0)
        errors: Errors = [forbidden("value", "may not be changed in an update.")] if changed else []
        return errors + immutable("preemptionPolicy", policy, old.get("preemptionPolicy"))
    errors = _priority(obj["metadata"].get("name") or "", value)
    if not policy:
        errors.append(required("preemptionPolicy"))
    elif policy not in _POLICIES:
        errors.append(unsupported("preemptionPolicy", policy, _POLICIES))
    return errors


def _priority(name: str, value: int) -> Errors:
    if not name.startswith("system-"):
        text = f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}"
        return [forbidden("value", text)] if value > _HIGHEST_USER_PRIORITY else []
    if SYSTEM_PRIORITIES.get(name) == value:
        return []
    why = f"{name} is not a known system priority class"
    if name in SYSTEM_PRIORITIES:
        why = f"value of {name} PriorityClass must be {SYSTEM_PRIORITIES[name]}"
    text = f"priority class names with 'system-' prefix are reserved for system use only. error: {why}"
    return [forbidden("metadata.name", text)]


def _validate_runtime_class(obj: JSONObject, old: JSONObject | None) -> Errors:
    handler = obj.get("handler") or ""
    errors = dns_label("handler", handler) if handler else [required("handler")]
    if old is not None:
        errors += immutable("handler", handler, old.get("handler"))
    overhead = (obj.get("overhead") or {}).get("podFixed")
    if overhead:
        errors += resource_errors("overhead", {"limits": overhead})
    scheduling = obj.get("scheduling") or {}
    if scheduling.get("nodeSelector"):
        errors += labels(scheduling["nodeSelector"], "scheduling.nodeSelector")
    return errors + _tolerations(scheduling.get("tolerations") or [], "scheduling.tolerations")


def _tolerations(tolerations: list[JSONObject], path: str) -> Errors:
    forms = [internal(toleration) for toleration in tolerations]
    again = set(repeated(tuple(form.values()) for form in forms))
    errors: Errors = []
    for index, toleration in enumerate(tolerations):
        errors += toleration_errors(f"{path}[{index}]", toleration)
        errors += [duplicate(f"{path}[{index}]", forms[index])] if index in again else []
    return errors


PRIORITY_CLASS = strategy(_default_priority_class, _validate_priority_class, namespaced=False, generation=True)
RUNTIME_CLASS = strategy(
    validate=_validate_runtime_class, namespaced=False, create_on_update=True, unconditional_update=False
)
