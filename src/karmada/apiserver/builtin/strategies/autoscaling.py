"""Rules of HorizontalPodAutoscalers, in version v2; v1 objects are converted before they are validated."""

from karmada.api.field_errors import invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, one_of, positive, strategy

_METRIC_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_SOURCE = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_SCALE_UP = ({"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15})
_SCALE_DOWN = ({"type": "Percent", "value": 100, "periodSeconds": 15},)


def _default(obj: JSONObject) -> None:
    spec = obj["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        _scaling(behavior.setdefault("scaleUp", {}), 0, _SCALE_UP)
        _scaling(behavior.setdefault("scaleDown", {}), None, _SCALE_DOWN)


def _default_v1(obj: JSONObject) -> None:
    obj["spec"].setdefault("minReplicas", 1)
    obj["spec"].setdefault("targetCPUUtilizationPercentage", 80)


def _scaling(rules: JSONObject, window: int | None, policies: tuple[JSONObject, ...]) -> None:
    rules.setdefault("selectPolicy", "Max")
    if window is not None:
        rules.setdefault("stabilizationWindowSeconds", window)
    if not rules.get("policies"):
        rules["policies"] = [{**policy} for policy in policies]


def _validate(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors: Errors = []
    least = spec.get("minReplicas")
    most = spec.get("maxReplicas") or 0
    if least is not None and least < 1:
        errors.append(invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most < 1:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than 0"))
    if least is not None and most < least:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    target = spec["scaleTargetRef"]
    errors += [required(f"spec.scaleTargetRef.{field}") for field in ("kind", "name") if not target.get(field)]
    percentage = spec.get("targetCPUUtilizationPercentage")
    errors += positive("spec.targetCPUUtilizationPercentage", percentage)
    for index, metric in enumerate(spec.get("metrics") or ()):
        errors += _metric(metric, f"spec.metrics[{index}]")
    return errors


def _metric(metric: JSONObject, path: str) -> Errors:
    kind = metric.get("type") or ""
    if not kind:
        return [required(f"{path}.type", "must specify a metric source type")]
    errors = one_of(f"{path}.type", kind, _METRIC_TYPES)
    if errors:
        return errors
    source = metric.get(_SOURCE[kind])
    if source is None:
        return [required(f"{path}.{_SOURCE[kind]}", "must populate information for the given metric source")]
    if kind in ("Resource", "ContainerResource") and not source.get("name"):
        errors.append(required(f"{path}.{_SOURCE[kind]}.name", "must specify a resource name"))
    target = source.get("target") or {}
    if kind == "Resource" and target.get("averageUtilization") is None and target.get("averageValue") is None:
        text = "must set either a target raw value or a target utilization"
        errors.append(required(f"{path}.resource.target.averageUtilization", text))
    errors += positive(f"{path}.{_SOURCE[kind]}.target.averageUtilization", target.get("averageUtilization"))
    return errors


V2 = strategy(_default, _validate)
V1 = strategy(_default_v1, _validate)
