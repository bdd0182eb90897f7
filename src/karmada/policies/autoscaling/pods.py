"""Which pods of a workload count when replicas are computed: ready, unready, without a metric, or not at all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from karmada.api.quantity import Quantity

CPU = "cpu"


class MetricsError(Exception):
    """Metrics from which no number of replicas follows; the message says why."""


@dataclass(frozen=True, slots=True)
class Pod:
    """What autoscaling reads of a pod; times are seconds since the epoch."""

    name: str
    phase: str
    is_deleting: bool = False
    ready: str = ""
    """The status of the Ready condition, `True`, `False` or `Unknown`; empty without one."""
    ready_changed: float = 0.0
    """When the Ready condition last changed."""
    started: float | None = None
    requests: Mapping[str, Mapping[str, int | str]] = field(default_factory=dict)
    """Resource requests by container."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The metric of one pod, in thousandths."""

    value: int
    timestamp: float = 0.0
    window: float = 0.0
    """Seconds the value was measured over."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long new pods are given before their CPU use counts, in seconds."""

    now: float
    cpu_initialization: float
    readiness_delay: float


@dataclass(frozen=True, slots=True)
class Grouping:
    """The pods of a workload by what their metric is worth."""

    ready: frozenset[str]
    unready: frozenset[str]
    missing: frozenset[str]
    """Pods that run and have no metric."""
    ignored: frozenset[str]
    """Pods that failed or are being deleted."""


def group(pods: Iterable[Pod], samples: Mapping[str, Sample], resource: str, timing: Timing) -> Grouping:
    """Sort pods into groups; `resource` is empty for a metric that is not a resource's use."""
    groups: dict[str, set[str]] = {"ready": set(), "unready": set(), "missing": set(), "ignored": set()}
    for pod in pods:
        groups[_group_of(pod, samples.get(pod.name), resource, timing)].add(pod.name)
    return Grouping(**{name: frozenset(members) for name, members in groups.items()})


def running_and_ready(pods: Iterable[Pod]) -> int:
    """How many pods run and are ready."""
    return sum(pod.phase == "Running" and pod.ready == "True" for pod in pods)


def requested(pod: Pod, resource: str, container: str) -> int:
    """What a pod asks of a resource, in thousandths: all its containers, or one."""
    total = 0
    for name, requests in pod.requests.items():
        if container in ("", name):
            if resource not in requests:
                raise MetricsError(f"missing request for {resource} in container {name} of Pod {pod.name}")
            total += Quantity.parse(requests[resource]).milli_value()
    return total


def _group_of(pod: Pod, sample: Sample | None, resource: str, timing: Timing) -> str:
    if pod.is_deleting or pod.phase == "Failed":
        return "ignored"
    if pod.phase == "Pending":
        return "unready"
    if sample is None:
        return "missing"
    return "unready" if resource == CPU and _is_warming_up(pod, sample, timing) else "ready"


def _is_warming_up(pod: Pod, sample: Sample, timing: Timing) -> bool:
    """Whether the CPU use of a pod says nothing yet, because starting costs more than serving."""
    if not pod.ready or pod.started is None:
        return True
    # One whose node is silent (`Unknown`) has started long ago, as a rule.
    is_unready = pod.ready == "False"
    if timing.now < pod.started + timing.cpu_initialization:
        return is_unready or sample.timestamp < pod.ready_changed + sample.window
    has_never_been_ready = pod.ready_changed < pod.started + timing.readiness_delay
    return is_unready and has_never_been_ready
