"""Rules of HorizontalPodAutoscalers in their two versions; what is wrong is reported in terms of the newer one."""

from typing import Any

from karmada.api.field_errors import forbidden, invalid, required
from karmada.apiserver.builtin.autoscaler_forms import PERCENTAGE, cpu, new_spec, without_notes
from karmada.apiserver.builtin.strategies.autoscaling_metrics import metric_errors, reference
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    non_negative,
    one_of,
    quantity_of,
    strategy,
)

_SCALE_UP = ({"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15})
_SCALE_DOWN = ({"type": "Percent", "value": 100, "periodSeconds": 15},)
_LONGEST_WINDOW, _LONGEST_PERIOD = 3600, 1800
_USUAL_SHARE = 80
_UNGROUPED = "ReplicationController"
"""The one kind without a group that can be scaled."""


def _default(obj: JSONObject) -> None:
    without_notes(obj)
    spec = obj["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = [cpu(_USUAL_SHARE)]
    behavior = spec.get("behavior")
    if behavior is not None:
        _scaling(behavior.setdefault("scaleUp", {}), 0, _SCALE_UP)
        _scaling(behavior.setdefault("scaleDown", {}), None, _SCALE_DOWN)


def _default_v1(obj: JSONObject) -> None:
    obj["spec"].setdefault("minReplicas", 1)
    if not new_spec(obj).get("metrics"):
        obj["spec"][PERCENTAGE] = _USUAL_SHARE


def _scaling(rules: JSONObject, window: int | None, policies: tuple[JSONObject, ...]) -> None:
    rules.setdefault("selectPolicy", "Max")
    if window is not None:
        rules.setdefault("stabilizationWindowSeconds", window)
    if rules.get("policies") is None:
        rules["policies"] = [{**policy} for policy in policies]


def _validate(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = _replicas(spec)
    errors += _target(spec["scaleTargetRef"], old and old["spec"]["scaleTargetRef"])
    metrics = spec.get("metrics") or []
    for index, metric in enumerate(metrics):
        errors += metric_errors(metric, f"spec.metrics[{index}]")
    if spec.get("minReplicas") == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden("spec.metrics", text))
    behavior = spec.get("behavior") or {}
    for direction in ("scaleUp", "scaleDown"):
        if behavior.get(direction) is not None:
            errors += _rules(behavior[direction], f"spec.behavior.{direction}")
    return errors


def _validate_v1(obj: JSONObject, old: JSONObject | None) -> Errors:
    return _validate({**obj, "spec": new_spec(obj)}, old)


def _replicas(spec: JSONObject) -> Errors:
    least, most = spec["minReplicas"], spec.get("maxReplicas") or 0
    errors: Errors = []
    if least < 1:
        errors.append(invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 1:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if most < least:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    return errors


def _target(target: JSONObject, old: Any) -> Errors:
    """What is scaled must say its API group; those that did not say it before may go on."""
    field = "spec.scaleTargetRef"
    errors = reference(target, field)
    version = target.get("apiVersion") or ""
    if old is not None and version == (old.get("apiVersion") or ""):
        return errors
    if not version.rpartition("/")[0] and target.get("kind") != _UNGROUPED:
        errors.append(invalid(f"{field}.apiVersion", version, "apiVersion must specify API group"))
    return errors


def _rules(rules: JSONObject, path: str) -> Errors:
    """How fast replicas may be added or removed."""
    errors: Errors = []
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and not 0 <= window <= _LONGEST_WINDOW:
        text = "greater than or equal to zero" if window < 0 else f"less than or equal to {_LONGEST_WINDOW}"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, f"must be {text}"))
    if rules.get("selectPolicy") is not None:
        errors += one_of(f"{path}.selectPolicy", rules["selectPolicy"], ("Disabled", "Max", "Min"))
    policies = rules.get("policies") or []
    if not policies:
        errors.append(required(f"{path}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(policies):
        errors += _policy(policy, f"{path}.policies[{index}]")
    tolerance = rules.get("tolerance")
    if tolerance is not None and quantity_of(tolerance).sign() < 0:
        errors.append(invalid(f"{path}.tolerance", tolerance, "must be greater than or equal to 0"))
    return errors


def _policy(policy: JSONObject, path: str) -> Errors:
    errors = one_of(f"{path}.type", policy.get("type") or "", ("Percent", "Pods"))
    for field in ("value", "periodSeconds"):
        if (policy.get(field) or 0) <= 0:
            errors.append(invalid(f"{path}.{field}", policy.get(field) or 0, "must be greater than zero"))
    if (policy.get("periodSeconds") or 0) > _LONGEST_PERIOD:
        text = f"must be less than or equal to {_LONGEST_PERIOD}"
        errors.append(invalid(f"{path}.periodSeconds", policy["periodSeconds"], text))
    return errors


def _validate_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    status = obj.get("status") or {}
    errors = non_negative("status.currentReplicas", status.get("currentReplicas"))
    return errors + non_negative("status.desiredReplicas", status.get("desiredReplicas"))


V2 = strategy(_default, _validate, validate_status=_validate_status)
V1 = strategy(_default_v1, _validate_v1, validate_status=_validate_status)
