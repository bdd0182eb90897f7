"""What the metrics of a FederatedHPA come to: a proposal each, and the one that counts.

The metric that asks for most replicas counts. A metric without a value is named in the condition ScalingActive; while
there is one, replicas may grow and never shrink.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from karmada.api import events
from karmada.api.autoscaling.v1alpha1 import (
    ContainerResourceMetricStatus,
    ExternalMetricStatus,
    MetricIdentifier,
    MetricSpec,
    MetricStatus,
    MetricTarget,
    MetricValueStatus,
    ObjectMetricStatus,
    PodsMetricStatus,
    ResourceMetricStatus,
)
from karmada.api.quantity import Quantity
from karmada.policies.autoscaling import proposals
from karmada.policies.autoscaling.limits import Condition
from karmada.policies.autoscaling.pods import MetricsError, Pod, Sample, Timing
from karmada.policies.autoscaling.proposals import Proposal, Scale

SCALING_ACTIVE = "ScalingActive"
Samples = Mapping[str, Sample]


@dataclass(frozen=True, slots=True)
class Total:
    """A value that several clusters or an external source make up together, in thousandths."""

    value: int
    unread: str = ""
    """Which clusters did not report, and why; such a total may be too low."""


Reading = Samples | Total | MetricsError
"""The metric of each pod, or of an object or an external source; or why there is none."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload over the clusters that answered."""

    replicas: int
    """The template's."""
    status_replicas: int
    calibration: float
    """The share of the template's replicas that these clusters run."""
    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class Tuning:
    """How exactly metrics are followed, and from when pods count."""

    tolerance: float
    timing: Timing


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What one metric asks for."""

    proposal: Proposal
    name: str
    """The metric, as conditions and events name it."""
    status: MetricStatus


@dataclass(frozen=True, slots=True)
class Invalid:
    """A metric that could not be used."""

    reason: str
    message: str
    error: str
    """The same with the kind of the metric."""

    @property
    def condition(self) -> Condition:
        """What the autoscaler says about it."""
        text = f"the HPA was unable to compute the replica count: {self.message}"
        return Condition(SCALING_ACTIVE, False, self.reason, text)


@dataclass(frozen=True, slots=True)
class Decision:
    """What all metrics come to."""

    replicas: int | None
    """None when nothing may be concluded from them."""
    metric: str
    statuses: tuple[MetricStatus, ...]
    condition: Condition
    error: str = ""
    """What is wrong with metrics that were not used."""


def evaluate(spec: MetricSpec, reading: Reading, workload: Workload, tuning: Tuning) -> Evaluated | Invalid:
    """What one metric asks for, by what was read of it."""
    scale = Scale(workload.replicas, workload.calibration, tuning.tolerance)
    if spec.type == "Resource" and spec.resource is not None:
        return _of_resource(spec.resource.name, "", spec.resource.target, reading, scale, workload, tuning)
    if spec.type == "ContainerResource" and (source := spec.container_resource) is not None:
        return _of_resource(source.name, source.container, source.target, reading, scale, workload, tuning)
    if spec.type == "Pods" and spec.pods is not None:
        return _of_pods(spec, reading, scale, workload, tuning)
    if spec.type in ("Object", "External") and (spec.object is not None or spec.external is not None):
        return _of_total(spec, reading, scale, workload)
    text = f'unknown metric source type "{spec.type}"'
    return Invalid("InvalidMetricSourceType", text, text)


def decide(results: Sequence[Evaluated | Invalid], replicas: int) -> Decision:
    """The replicas that all metrics together ask for."""
    valid = [one for one in results if isinstance(one, Evaluated)]
    invalid = [one for one in results if isinstance(one, Invalid)]
    statuses = tuple(one.status for one in valid)
    error = ""
    if invalid:
        error = f"invalid metrics ({len(invalid)} invalid out of {len(results)}), first error is: {invalid[0].error}"
    highest = max(valid, key=lambda one: one.proposal.replicas, default=None)
    if highest is None or (invalid and highest.proposal.replicas < replicas):
        unusable = Condition(SCALING_ACTIVE, False, "InvalidMetrics", "the HPA has no metrics")
        return Decision(None, "", statuses, invalid[0].condition if invalid else unusable, error)
    text = f"the HPA was able to successfully calculate a replica count from {highest.name}"
    found = Condition(SCALING_ACTIVE, True, "ValidMetricFound", text)
    return Decision(highest.proposal.replicas, highest.name, statuses, found, error)


def _of_resource(
    resource: str,
    container: str,
    target: MetricTarget,
    reading: Reading,
    scale: Scale,
    workload: Workload,
    tuning: Tuning,
) -> Evaluated | Invalid:
    try:
        samples = _samples(reading, f"unable to get metrics for resource {resource}")
        if target.average_value is not None:
            amount = Quantity.parse(target.average_value).milli_value()
            proposal = proposals.by_average(scale, amount, resource, workload.pods, samples, tuning.timing)
            name = f"{resource} resource"
        elif target.average_utilization is not None:
            share = target.average_utilization
            pods = workload.pods
            proposal = proposals.by_utilization(scale, share, resource, container, pods, samples, tuning.timing)
            kind = "container resource" if container else "resource"
            name = f"{resource} {kind} utilization (percentage of request)"
        else:
            text = "neither an average utilization target nor an average value target was set"
            raise MetricsError(f"invalid resource metric source: {text}")
    except MetricsError as error:
        text = f"failed to get {resource} utilization: {error}"
        if container:
            reason, whose = events.FAILED_GET_CONTAINER_RESOURCE_METRIC, f"{container} container"
        else:
            reason, whose = events.FAILED_GET_RESOURCE_METRIC, f"{resource} resource"
        return Invalid(reason, text, f"failed to get {whose} metric value: {text}")
    current = MetricValueStatus(average_value=_amount(proposal.usage), average_utilization=proposal.utilization)
    if container:
        status = ContainerResourceMetricStatus(name=resource, container=container, current=current)
        return Evaluated(proposal, name, MetricStatus(type="ContainerResource", container_resource=status))
    return Evaluated(
        proposal, name, MetricStatus(type="Resource", resource=ResourceMetricStatus(name=resource, current=current))
    )


def _of_pods(
    spec: MetricSpec, reading: Reading, scale: Scale, workload: Workload, tuning: Tuning
) -> Evaluated | Invalid:
    assert spec.pods is not None
    metric = spec.pods.metric
    try:
        samples = _samples(reading, f"unable to get metric {metric.name}")
        target = _milli(spec.pods.target.average_value)
        proposal = proposals.by_average(scale, target, "", workload.pods, samples, tuning.timing)
    except MetricsError as error:
        return Invalid(events.FAILED_GET_PODS_METRIC, str(error), f"failed to get pods metric value: {error}")
    status = PodsMetricStatus(metric=metric, current=MetricValueStatus(average_value=_amount(proposal.usage)))
    return Evaluated(proposal, f"pods metric {metric.name}", MetricStatus(type="Pods", pods=status))


def _of_total(spec: MetricSpec, reading: Reading, scale: Scale, workload: Workload) -> Evaluated | Invalid:
    """A metric of an object or an external source; a total that may be too low never removes replicas."""
    source = spec.object or spec.external
    assert source is not None
    metric, target = source.metric, source.target
    try:
        if isinstance(reading, MetricsError):
            raise MetricsError(f"unable to get metric {metric.name}: {reading}")
        assert isinstance(reading, Total)
        if target.type == "AverageValue":
            present = Scale(workload.status_replicas, scale.calibration, scale.tolerance)
            proposal = proposals.by_object_per_pod(present, _milli(target.average_value), reading.value)
        else:
            proposal = proposals.by_object(scale, _milli(target.value), reading.value, workload.pods)
        if reading.unread and proposal.replicas < scale.replicas:
            raise MetricsError(f"metric {metric.name} is incomplete, so replicas are not removed: {reading.unread}")
    except MetricsError as error:
        kind = "object" if spec.object is not None else "external"
        reason = events.FAILED_GET_OBJECT_METRIC if kind == "object" else events.FAILED_GET_EXTERNAL_METRIC
        return Invalid(reason, str(error), f"failed to get {kind} metric value: {error}")
    amount = _amount(proposal.usage)
    current = MetricValueStatus(value=amount)
    if target.type == "AverageValue":
        current = MetricValueStatus(average_value=amount)
    return Evaluated(proposal, _name(spec, metric), _status_of_total(spec, metric, current))


def _status_of_total(spec: MetricSpec, metric: MetricIdentifier, current: MetricValueStatus) -> MetricStatus:
    if spec.object is not None:
        described = spec.object.described_object
        status = ObjectMetricStatus(metric=metric, current=current, described_object=described)
        return MetricStatus(type="Object", object=status)
    return MetricStatus(type="External", external=ExternalMetricStatus(metric=metric, current=current))


def _name(spec: MetricSpec, metric: MetricIdentifier) -> str:
    if spec.object is not None:
        return f"{spec.object.described_object.kind} metric {metric.name}"
    return f"external metric {metric.name}"


def _samples(reading: Reading, what: str) -> Samples:
    if isinstance(reading, MetricsError):
        raise MetricsError(f"{what}: {reading}")
    assert not isinstance(reading, Total)
    return reading


def _milli(amount: str | int | float | None) -> int:
    return 0 if amount is None else Quantity.parse(amount).milli_value()


def _amount(milli: int | None) -> str | None:
    return None if milli is None else str(Quantity.milli(milli))
