"""How many replicas one metric asks for.

A metric that is off its target by more than the tolerance asks for as many replicas as would bring it there. Pods
without a metric, and pods that are not ready, are assumed to use what makes the change smaller; a change that would
turn around by that is none. `calibration` is the share of the template's replicas that the reachable clusters run: a
count seen there is divided by it. A count that does not fit its field comes from a metric and a target in different
units: replicas stay.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from karmada.policies.autoscaling.pods import (
    Grouping,
    MetricsError,
    Pod,
    Sample,
    Timing,
    group,
    requested,
    running_and_ready,
)

_MOST = 2**31 - 1
_NO_PODS = "no pods returned by selector while calculating replica count"


@dataclass(frozen=True, slots=True)
class Scale:
    """What a workload has, and how exactly its metrics are to be followed."""

    replicas: int
    calibration: float = 1.0
    tolerance: float = 0.1


@dataclass(frozen=True, slots=True)
class Proposal:
    """The replicas a metric asks for and what it was."""

    replicas: int
    usage: int | None
    """The mean over pods, or the metric of an object, in thousandths; None for the mean over no replicas."""
    utilization: int | None = None
    """The mean in percent of what pods ask for."""


@dataclass(frozen=True, slots=True)
class _Reading:
    ratio: float
    usage: int
    utilization: int | None = None


_Measure = Callable[[Mapping[str, int]], _Reading]


def by_utilization(
    scale: Scale,
    target: int,
    resource: str,
    container: str,
    pods: Sequence[Pod],
    samples: Mapping[str, Sample],
    timing: Timing,
) -> Proposal:
    """Hold the use of a resource at `target` percent of what pods ask for."""
    if not pods:
        raise MetricsError(_NO_PODS)
    groups = group(pods, samples, resource, timing)
    requests = {pod.name: requested(pod, resource, container) for pod in pods}

    def measure(values: Mapping[str, int]) -> _Reading:
        known = [name for name in values if name in requests]
        used, total = sum(values[name] for name in known), sum(requests[name] for name in known)
        if total == 0:
            raise MetricsError("no metrics returned matched known pods")
        percent = used * 100 // total
        return _Reading(_ratio(percent, target), used // len(known), percent)

    most_used = {name: requests[name] * max(100, target) // 100 for name in groups.missing}
    return _follow(scale, groups, samples, measure, most_used)


def by_average(
    scale: Scale, target: int, resource: str, pods: Sequence[Pod], samples: Mapping[str, Sample], timing: Timing
) -> Proposal:
    """Hold the mean of a metric over pods at `target` thousandths; `resource` is empty unless it is a resource."""
    if not pods:
        raise MetricsError(_NO_PODS)
    groups = group(pods, samples, resource, timing)

    def measure(values: Mapping[str, int]) -> _Reading:
        mean = sum(values.values()) // len(values)
        return _Reading(_ratio(mean, target), mean)

    return _follow(scale, groups, samples, measure, dict.fromkeys(groups.missing, target))


def by_object(scale: Scale, target: int, value: int, pods: Sequence[Pod]) -> Proposal:
    """Hold the metric of one object at `target`; from zero replicas it alone decides."""
    ratio = _ratio(value, target)
    if scale.replicas == 0:
        return Proposal(_whole(ratio, 0), value)
    if _is_close(ratio, scale.tolerance):
        return Proposal(scale.replicas, value)
    if not pods:
        raise MetricsError(f"unable to calculate ready pods: {_NO_PODS}")
    return Proposal(_whole(ratio * running_and_ready(pods) / scale.calibration, scale.replicas), value)


def by_object_per_pod(scale: Scale, target: int, value: int) -> Proposal:
    """Hold the metric of one object, divided by the replicas there are, at `target`."""
    replicas = scale.replicas
    if not _is_close(_ratio(value, target * replicas), scale.tolerance):
        replicas = _whole(_ratio(value, target) / scale.calibration, replicas)
    # Divided a second time: Karmada does so too.
    usage = -(-value // scale.replicas) if scale.replicas else None
    return Proposal(_whole(replicas / scale.calibration, scale.replicas), usage)


def _follow(
    scale: Scale, groups: Grouping, samples: Mapping[str, Sample], measure: _Measure, most_used: Mapping[str, int]
) -> Proposal:
    excluded = groups.ignored | groups.unready
    values = {name: sample.value for name, sample in samples.items() if name not in excluded}
    if not values:
        raise MetricsError("did not receive metrics for any ready pods")
    seen = measure(values)
    if not groups.missing and not (groups.unready and seen.ratio > 1.0):
        if _is_close(seen.ratio, scale.tolerance):
            return _proposal(seen, scale.replicas)
        return _proposal(seen, _whole(seen.ratio * len(groups.ready) / scale.calibration, scale.replicas))
    values |= _cautious(groups, seen.ratio, most_used)
    assumed = measure(values)
    turns = (assumed.ratio - 1.0) * (seen.ratio - 1.0) < 0
    if turns or _is_close(assumed.ratio, scale.tolerance):
        return _proposal(seen, scale.replicas)
    wanted = _whole(assumed.ratio * len(values) / scale.calibration, scale.replicas)
    contradicts = wanted < scale.replicas if assumed.ratio > 1.0 else wanted > scale.replicas
    return _proposal(seen, scale.replicas if contradicts else wanted)


def _cautious(groups: Grouping, ratio: float, most_used: Mapping[str, int]) -> dict[str, int]:
    """What is assumed of pods whose metric is unknown: full use before a scale-down, none before a scale-up."""
    if ratio > 1.0:
        return dict.fromkeys(groups.missing | groups.unready, 0)
    return dict(most_used) if ratio < 1.0 else {}


def _proposal(seen: _Reading, replicas: int) -> Proposal:
    return Proposal(replicas, seen.usage, seen.utilization)


def _is_close(ratio: float, tolerance: float) -> bool:
    return abs(1.0 - ratio) <= tolerance


def _ratio(value: int, target: int) -> float:
    """A quotient that is infinite, not an error, for a target of zero."""
    if target:
        return value / target
    return math.inf if value else math.nan


def _whole(replicas: float, otherwise: int) -> int:
    """The number of replicas, rounded up; `otherwise` when it is none or does not fit its field."""
    return math.ceil(replicas) if -_MOST <= replicas <= _MOST else otherwise
