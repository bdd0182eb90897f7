"""Why a FederatedHPA wants the replicas it wants: metrics, their ratios and proposals, limits, result.

Read from the autoscaler's own status, so the answer is about its last look. Proposals are recomputed from what is there
and say "about" where pods that were not ready or clusters that did not answer may have changed them.
"""

import math
from collections.abc import Iterator

from karmada.api import conditions
from karmada.api.autoscaling.v1alpha1 import (
    FederatedHPA,
    FederatedHPAStatus,
    HorizontalPodAutoscalerCondition,
    MetricSpec,
    MetricStatus,
    MetricTarget,
    MetricValueStatus,
)
from karmada.api.counting import counted
from karmada.api.quantity import Quantity
from karmada.explain.why.links import Link, broken
from karmada.policies.autoscaling.capacity import INSUFFICIENT, SCALING_OUT

TOLERANCE = 0.1
"""Deviations that change nothing, unless --horizontal-pod-autoscaler-tolerance says otherwise."""
HEADINGS = ["METRIC", "CURRENT", "TARGET", "RATIO", "PROPOSAL"]
_REMEDIES = {
    "FailedGetScaleTargetRef": "create the workload that spec.scaleTargetRef names, or correct the reference",
    "FailedGetBinding": "propagate the workload: `karmadactl why` its kind and name says which policy is missing",
    "FailedGetTargetClusters": "`karmadactl why` the workload says why it is scheduled nowhere",
    "FailedGetScale": "see that the workload's clusters are ready: `kubectl get clusters`",
    "FailedUpdateScale": "see the message: the workload's API refused the number of replicas",
    "AmbiguousSelector": "let one FederatedHPA scale these pods: delete the others, or make the selectors differ",
    "ScalingDisabled": "scale the workload to at least one replica to have it autoscaled again",
    "FailedGetResourceMetric": "install a metrics server in the members, and give the containers resource requests",
    "FailedGetContainerResourceMetric": "see that the container has this name and a request in every pod",
    "FailedGetPodsMetric": "see that the members serve the metric: kubectl get --raw /apis/custom.metrics.k8s.io",
    "FailedGetObjectMetric": "see that the members serve the metric: kubectl get --raw /apis/custom.metrics.k8s.io",
    "FailedGetExternalMetric": "define it with an ExternalMetric and run the metrics adapter",
}


def explain(autoscaler: FederatedHPA) -> list[Link]:
    """The links from metrics to replicas; the first broken one ends them."""
    status = autoscaler.status
    if status is None or not status.conditions:
        return [
            broken(
                "target",
                "the autoscaler has not been looked at yet",
                "see that the controller federatedHorizontalPodAutoscaler runs",
            )
        ]
    return list(_until_broken(_links(autoscaler, status)))


def _links(autoscaler: FederatedHPA, status: FederatedHPAStatus) -> Iterator[Link]:
    found = {condition.type: condition for condition in status.conditions}
    yield _target(autoscaler, found.get(conditions.ABLE_TO_SCALE), found.get(conditions.CLUSTERS_READ))
    yield _metrics(autoscaler, status, found.get(conditions.SCALING_ACTIVE))
    yield _limits(autoscaler, found)
    text = f"{counted(status.desired_replicas, 'replica')} wanted, {status.current_replicas} asked for before"
    when = [f"last scaled at {status.last_scale_time}"] if status.last_scale_time else []
    data = {"current": status.current_replicas, "desired": status.desired_replicas}
    yield Link("result", text, details=when, data=data)


def _target(
    autoscaler: FederatedHPA,
    able: HorizontalPodAutoscalerCondition | None,
    read: HorizontalPodAutoscalerCondition | None,
) -> Link:
    reference = autoscaler.spec.scale_target_ref
    what = f"{reference.kind} {reference.name}"
    if able is not None and able.status == "False":
        return _broken("target", f"{what} cannot be scaled", able)
    link = Link("target", f"{what} can be scaled")
    if read is not None and read.status == "False":
        link.warnings.append(f"clusters that do not count because they cannot be read: {read.message}")
    return link


def _metrics(
    autoscaler: FederatedHPA, status: FederatedHPAStatus, active: HorizontalPodAutoscalerCondition | None
) -> Link:
    read = list(status.current_metrics)
    rows = [_row(spec, _reading(spec, read), status.current_replicas) for spec in autoscaler.spec.metrics]
    table = [HEADINGS, *rows]
    data = {"metrics": [dict(zip(map(str.lower, HEADINGS), row, strict=True)) for row in rows]}
    if active is not None and active.status == "False":
        link = _broken("metrics", "nothing follows from the metrics", active)
        link.table, link.data = table, data
        return link
    text = active.message if active is not None else "the metrics were not needed: replicas are outside the bounds"
    return Link("metrics", text, table=table, data=data)


def _limits(autoscaler: FederatedHPA, found: dict[str, HorizontalPodAutoscalerCondition]) -> Link:
    spec = autoscaler.spec
    lowest = 1 if spec.min_replicas is None else spec.min_replicas
    able, limited = found.get(conditions.ABLE_TO_SCALE), found.get(conditions.SCALING_LIMITED)
    details = [f"between {lowest} and {counted(spec.max_replicas, 'replica')}"]
    if able is not None and able.reason in ("ScaleDownStabilized", "ScaleUpStabilized"):
        details.append(f"{able.reason}: {able.message}")
    if limited is not None and limited.reason == SCALING_OUT:
        details.append(f"{limited.reason}: {limited.message}")
    if limited is None or limited.status != "True":
        return Link("limits", "nothing limits the proposal", details=details)
    link = Link("limits", f"{limited.reason}: {limited.message}", details=details)
    if limited.reason == "TooManyReplicas":
        link.warnings.append("more replicas are wanted than spec.maxReplicas allows")
    elif limited.reason == INSUFFICIENT:
        link.warnings.append("clusters have no room: add nodes, or let the policy name further clusters")
    return link


def _broken(name: str, text: str, condition: HorizontalPodAutoscalerCondition) -> Link:
    remedy = _REMEDIES.get(condition.reason, "see the message")
    return broken(name, text, remedy, f"{condition.reason}: {condition.message}", reason=condition.reason)


def _until_broken(links: Iterator[Link]) -> Iterator[Link]:
    for link in links:
        yield link
        if link.broken:
            return


def _row(spec: MetricSpec, current: MetricValueStatus | None, replicas: int) -> list[str]:
    target = _target_of(spec)
    wanted, seen = _wanted(target), _seen(target, current)
    if wanted is None or seen is None or not wanted[0]:
        return [_name(spec), "unknown" if seen is None else seen[1], wanted[1] if wanted else "", "", ""]
    ratio = seen[0] / wanted[0]
    is_close = abs(1.0 - ratio) <= TOLERANCE
    proposal = str(replicas) if is_close else f"about {math.ceil(ratio * replicas)}"
    return [_name(spec), seen[1], wanted[1], f"{ratio:.2f}", proposal]


def _target_of(spec: MetricSpec) -> MetricTarget | None:
    source = spec.object or spec.pods or spec.resource or spec.container_resource or spec.external
    return source.target if source is not None else None


def _wanted(target: MetricTarget | None) -> tuple[float, str] | None:
    """The value a metric is held at, as a number and as text."""
    if target is None:
        return None
    if target.average_utilization is not None:
        return float(target.average_utilization), f"{target.average_utilization}%"
    amount = target.average_value if target.average_value is not None else target.value
    return None if amount is None else (float(Quantity.parse(amount).milli_value()), str(Quantity.parse(amount)))


def _seen(target: MetricTarget | None, current: MetricValueStatus | None) -> tuple[float, str] | None:
    """The value it has, as a number and as text."""
    if target is None or current is None:
        return None
    if target.average_utilization is not None:
        share = current.average_utilization
        return None if share is None else (float(share), f"{share}%")
    amount = current.average_value if current.average_value is not None else current.value
    return None if amount is None else (float(Quantity.parse(amount).milli_value()), str(amount))


def _reading(spec: MetricSpec, read: list[MetricStatus]) -> MetricValueStatus | None:
    """What was read of a metric: statuses of metrics without a value are absent."""
    for status in read:
        if status.type == spec.type and _name(status) == _name(spec):
            source = status.object or status.pods or status.resource or status.container_resource or status.external
            return source.current if source is not None else None
    return None


def _name(metric: MetricSpec | MetricStatus) -> str:
    if metric.resource is not None:
        return metric.resource.name
    if metric.container_resource is not None:
        return f"{metric.container_resource.name} of {metric.container_resource.container}"
    source = metric.object or metric.pods or metric.external
    return f"{metric.type.lower()} {source.metric.name}" if source is not None else metric.type
