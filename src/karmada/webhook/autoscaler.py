"""Completes and judges FederatedHPAs by the rules of a HorizontalPodAutoscaler."""

from collections.abc import Iterator

from karmada.api.autoscaling.v1alpha1 import (
    ContainerResourceMetricSource,
    CrossVersionObjectReference,
    ExternalMetricSource,
    FederatedHPA,
    FederatedHPASpec,
    HPAScalingRules,
    MetricIdentifier,
    MetricSpec,
    MetricTarget,
    ObjectMetricSource,
    PodsMetricSource,
    ResourceMetricSource,
)
from karmada.api.field_errors import FieldError, forbidden, invalid, not_supported, required, too_many
from karmada.api.name_rules import dns_label, dns_subdomain
from karmada.api.quantity import Quantity, QuantityError
from karmada.webhook.metadata import name_errors
from karmada.webhook.model import Denied, JSONObject, Review, decoded, refuse_if_any
from karmada.webhook.resource_names import container_resource_errors

LONGEST_WINDOW, LONGEST_PERIOD = 3600, 1800
MOST_METRICS = 50
"""Each is read from every cluster four times a minute."""
_SCALE_UP = ({"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15})
_SCALE_DOWN = ({"type": "Percent", "value": 100, "periodSeconds": 15},)
_SOURCES = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "External": "external",
}
_Source = (
    ObjectMetricSource | PodsMetricSource | ResourceMetricSource | ContainerResourceMetricSource | ExternalMetricSource
)
_TARGETS = ("Utilization", "Value", "AverageValue")


def mutate_autoscaler(review: Review) -> None:
    """Complete a FederatedHPA."""
    _require_amounts(decoded(review.object, FederatedHPA).spec)
    spec = review.object["spec"] = review.object.get("spec") or {}
    if spec.get("minReplicas") is None:
        spec["minReplicas"] = 1
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        behavior["scaleUp"] = _complete(behavior.get("scaleUp"), 0, _SCALE_UP)
        behavior["scaleDown"] = _complete(behavior.get("scaleDown"), None, _SCALE_DOWN)
    status = review.object["status"] = review.object.get("status") or {}
    status.setdefault("currentMetrics", None)
    status.setdefault("desiredReplicas", 0)


def _complete(rules: JSONObject | None, window: int | None, policies: tuple[JSONObject, ...]) -> JSONObject:
    """Rules with the defaults of their direction; an empty list of policies is left for validation to refuse."""
    rules = dict(rules or {})
    rules.setdefault("selectPolicy", "Max")
    if window is not None and rules.get("stabilizationWindowSeconds") is None:
        rules["stabilizationWindowSeconds"] = window
    given = rules.get("policies")
    if given is None:
        rules["policies"] = [dict(policy) for policy in policies]
    elif not given:
        del rules["policies"]
    return rules


async def validate_autoscaler(review: Review) -> None:
    """Judge a FederatedHPA."""
    autoscaler = decoded(review.object, FederatedHPA)
    _require_amounts(autoscaler.spec)
    errors = name_errors(autoscaler.metadata, dns_subdomain)
    errors += _spec_errors(autoscaler.spec)
    status = autoscaler.status
    replicas = (
        ("currentReplicas", status.current_replicas if status else 0),
        ("desiredReplicas", status.desired_replicas if status else 0),
    )
    errors += [
        invalid(f"status.{name}", count, "must be greater than or equal to 0") for name, count in replicas if count < 0
    ]
    refuse_if_any(errors)


def _require_amounts(spec: FederatedHPASpec) -> None:
    """Refuse an autoscaler with an amount that nobody can read."""
    try:
        for metric in spec.metrics:
            for source in _given(metric):
                for amount in (source.target.value, source.target.average_value):
                    Quantity.parse("0" if amount is None else amount)
    except QuantityError as error:
        raise Denied(str(error), code=400, reason="") from error


def _given(metric: MetricSpec) -> Iterator[_Source]:
    sources = (metric.object, metric.pods, metric.resource, metric.container_resource, metric.external)
    return (source for source in sources if source is not None)


def _spec_errors(spec: FederatedHPASpec) -> list[FieldError]:
    errors: list[FieldError] = []
    low, high = spec.min_replicas, spec.max_replicas
    if low is not None and low < 1:
        errors.append(invalid("spec.minReplicas", low, "must be greater than or equal to 1"))
    if high < 1:
        errors.append(invalid("spec.maxReplicas", high, "must be greater than 0"))
    if low is not None and high < low:
        errors.append(invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`"))
    errors += reference_errors(spec.scale_target_ref, "spec.scaleTargetRef")
    if len(spec.metrics) > MOST_METRICS:
        return [*errors, too_many("spec.metrics", len(spec.metrics), MOST_METRICS)]
    for index, metric in enumerate(spec.metrics):
        errors += _metric_errors(metric, f"spec.metrics[{index}]")
    if spec.behavior is not None:
        errors += _rules_errors(spec.behavior.scale_up, "spec.behavior.scaleUp")
        errors += _rules_errors(spec.behavior.scale_down, "spec.behavior.scaleDown")
    return errors


def reference_errors(target: CrossVersionObjectReference, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, value in (("kind", target.kind), ("name", target.name)):
        errors += segment_errors(value, f"{path}.{name}") if value else [required(f"{path}.{name}")]
    return errors


def segment_errors(text: str, path: str) -> list[FieldError]:
    """Names that stand between the slashes of an address."""
    if text in (".", ".."):
        return [invalid(path, text, f"may not be '{text}'")]
    return [invalid(path, text, f"may not contain '{mark}'") for mark in "/%" if mark in text]


def _metric_errors(metric: MetricSpec, path: str) -> list[FieldError]:
    """A metric names its source and gives that one; only the first that is given is looked into."""
    errors: list[FieldError] = []
    if not metric.type:
        errors.append(required(f"{path}.type", "must specify a metric source type"))
    if metric.type not in _SOURCES:
        errors.append(not_supported(f"{path}.type", metric.type, _SOURCES))
    sources: dict[str, list[FieldError]] = {}
    if metric.object is not None:
        sources["object"] = _object_errors(metric.object, f"{path}.object")
    if metric.pods is not None:
        sources["pods"] = _pods_errors(metric.pods, f"{path}.pods")
    if metric.resource is not None:
        sources["resource"] = _resource_errors(metric.resource, f"{path}.resource")
    if metric.container_resource is not None:
        sources["containerResource"] = _container_errors(metric.container_resource, f"{path}.containerResource")
    if metric.external is not None:
        sources["external"] = _external_errors(metric.external, f"{path}.external")
    errors += next(iter(sources.values()), [])
    wanted = _SOURCES.get(metric.type, "")
    if wanted and wanted not in sources:
        errors.append(required(f"{path}.{wanted}", "must populate information for the given metric source"))
    if len(sources) == 1:
        return errors
    return errors + [
        forbidden(f"{path}.{name}", "must populate the given metric source only") for name in sources if name != wanted
    ]


def _object_errors(source: ObjectMetricSource, path: str) -> list[FieldError]:
    errors = reference_errors(source.described_object, f"{path}.describedObject")
    errors += _identifier_errors(source.metric, f"{path}.metric")
    errors += _target_errors(source.target, f"{path}.target")
    if source.target.value is None and source.target.average_value is None:
        errors.append(required(f"{path}.target.averageValue", "must set either a target value or averageValue"))
    return errors


def _external_errors(source: ExternalMetricSource, path: str) -> list[FieldError]:
    errors = _identifier_errors(source.metric, f"{path}.metric")
    errors += _target_errors(source.target, f"{path}.target")
    if source.target.value is None and source.target.average_value is None:
        detail = "must set either a target value for metric or a per-pod target"
        errors.append(required(f"{path}.target.averageValue", detail))
    if source.target.value is not None and source.target.average_value is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        errors.append(forbidden(f"{path}.target.value", detail))
    return errors


def _pods_errors(source: PodsMetricSource, path: str) -> list[FieldError]:
    errors = _identifier_errors(source.metric, f"{path}.metric")
    errors += _target_errors(source.target, f"{path}.target")
    if source.target.average_value is None:
        errors.append(required(f"{path}.target.averageValue", "must specify a positive target averageValue"))
    return errors


def _resource_errors(source: ResourceMetricSource, path: str) -> list[FieldError]:
    errors = [] if source.name else [required(f"{path}.name", "must specify a resource name")]
    return errors + _use_errors(source.target, path)


def _container_errors(source: ContainerResourceMetricSource, path: str) -> list[FieldError]:
    if source.name:
        errors = container_resource_errors(source.name, f"{path}.name")
    else:
        errors = [required(f"{path}.name", "must specify a resource name")]
    if source.container:
        errors += [invalid(f"{path}.container", source.container, why) for why in dns_label(source.container)]
    else:
        errors.append(required(f"{path}.container", "must specify a container"))
    return errors + _use_errors(source.target, path)


def _identifier_errors(metric: MetricIdentifier, path: str) -> list[FieldError]:
    if not metric.name:
        return [required(f"{path}.name", "must specify a metric name")]
    return segment_errors(metric.name, f"{path}.name")


def _use_errors(target: MetricTarget, path: str) -> list[FieldError]:
    """A target for the use of a resource: a share of what pods ask for, or an amount, not both."""
    errors = _target_errors(target, f"{path}.target")
    if target.average_utilization is None and target.average_value is None:
        detail = "must set either a target raw value or a target utilization"
        errors.append(required(f"{path}.target.averageUtilization", detail))
    if target.average_utilization is not None and target.average_value is not None:
        detail = "may not set both a target raw value and a target utilization"
        errors.append(forbidden(f"{path}.target.averageValue", detail))
    return errors


def _target_errors(target: MetricTarget, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not target.type:
        errors.append(required(f"{path}.type", "must specify a metric target type"))
    if target.type not in _TARGETS:
        errors.append(invalid(f"{path}.type", target.type, "must be either Utilization, Value, or AverageValue"))
    for name, amount in (("value", target.value), ("averageValue", target.average_value)):
        if amount is not None and not _is_positive(amount):
            errors.append(invalid(f"{path}.{name}", str(Quantity.parse(amount)), "must be positive"))
    share = target.average_utilization
    if share is not None and share < 1:
        errors.append(invalid(f"{path}.averageUtilization", share, "must be greater than 0"))
    return errors


def _is_positive(amount: str | int | float | None) -> bool:
    return amount is not None and Quantity.parse(amount).sign() > 0


def _rules_errors(rules: HPAScalingRules | None, path: str) -> list[FieldError]:
    if rules is None:
        return []
    errors: list[FieldError] = []
    window = rules.stabilization_window_seconds
    if window is not None and window < 0:
        detail = "must be greater than or equal to zero"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, detail))
    if window is not None and window > LONGEST_WINDOW:
        detail = f"must be less than or equal to {LONGEST_WINDOW}"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, detail))
    choices = ("Disabled", "Max", "Min")
    if rules.select_policy is not None and rules.select_policy not in choices:
        errors.append(not_supported(f"{path}.selectPolicy", rules.select_policy, choices))
    if rules.tolerance is not None and Quantity.parse(rules.tolerance).sign() < 0:
        detail = "must be greater than or equal to zero"
        errors.append(invalid(f"{path}.tolerance", str(Quantity.parse(rules.tolerance)), detail))
    if not rules.policies:
        errors.append(required(f"{path}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(rules.policies):
        at = f"{path}.policies[{index}]"
        if policy.type not in ("Percent", "Pods"):
            errors.append(not_supported(f"{at}.type", policy.type, ("Percent", "Pods")))
        if policy.value <= 0:
            errors.append(invalid(f"{at}.value", policy.value, "must be greater than zero"))
        if policy.period_seconds <= 0:
            errors.append(invalid(f"{at}.periodSeconds", policy.period_seconds, "must be greater than zero"))
        if policy.period_seconds > LONGEST_PERIOD:
            detail = f"must be less than or equal to {LONGEST_PERIOD}"
            errors.append(invalid(f"{at}.periodSeconds", policy.period_seconds, detail))
    return errors
