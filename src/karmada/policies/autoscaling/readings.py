"""Pods and their metrics as members serve them, reduced to what autoscaling reads.

Pods and samples are keyed by cluster and name: a StatefulSet has pods of the same names in every cluster.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from karmada.api import duration
from karmada.api.base import ResourceList
from karmada.api.counting import counted
from karmada.api.quantity import Quantity
from karmada.machinery.clock import parse_rfc3339
from karmada.policies.autoscaling.pods import MetricsError, Pod, Sample

_INSUFFICIENT = re.compile(r"Insufficient ([A-Za-z0-9./_-]{0,252}[A-Za-z0-9])")
"""How schedulers name what no node has enough of."""
_NAMED = 10
"""Resources that one pod is said to lack."""
CUSTOM_WINDOW = 60.0
"""Seconds that a custom metric was measured over when it does not say."""


class _Meta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    labels: dict[str, str] | None = None
    deletion_timestamp: str | None = None


class _Resources(msgspec.Struct, frozen=True, gc=False):
    requests: ResourceList | None = None


class _Container(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    resources: _Resources = _Resources()


class _Spec(msgspec.Struct, frozen=True, gc=False):
    containers: tuple[_Container, ...] = ()


class _Condition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class _Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    phase: str = ""
    start_time: str | None = None
    conditions: tuple[_Condition, ...] | None = None


class _Pod(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Usage(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    usage: ResourceList | None = None


class _PodMetrics(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    timestamp: str = ""
    window: str = "0s"
    containers: tuple[_Usage, ...] = ()


class _Described(msgspec.Struct, frozen=True, gc=False):
    name: str = ""


class _MetricValue(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    described_object: _Described = _Described()
    timestamp: str = ""
    window_seconds: int | None = None
    window: int | None = None
    value: str | int | float = 0


class _MetricValues(msgspec.Struct, frozen=True, gc=False):
    items: tuple[_MetricValue, ...] = ()


class LabelledPod(NamedTuple):
    """A pod and the labels by which workloads select it."""

    pod: Pod
    labels: Mapping[str, str]
    lacks: tuple[str, ...] = ()
    """The resources for want of which no node takes it."""


@dataclass(frozen=True, slots=True)
class PodUsage:
    """What the containers of one pod use, as a metrics server measured it."""

    pod: str
    timestamp: float
    window: float
    containers: Mapping[str, ResourceList]


_pod = msgspec.json.Decoder(_Pod).decode
_metrics = msgspec.json.Decoder(_PodMetrics).decode
_values = msgspec.json.Decoder(_MetricValues).decode


def pod_of(cluster: str, body: bytes) -> LabelledPod:
    """An encoded pod of a cluster; raises `ValueError` for what is none."""
    found = _pod(body)
    meta, status = found.metadata, found.status
    ready = next((one for one in status.conditions or () if one.type == "Ready"), None)
    pod = Pod(
        name=_key(cluster, meta.name),
        phase=status.phase,
        is_deleting=meta.deletion_timestamp is not None,
        ready=ready.status if ready is not None else "",
        ready_changed=_time(ready.last_transition_time) if ready is not None else 0.0,
        started=None if status.start_time is None else _time(status.start_time),
        requests={one.name: one.resources.requests or {} for one in found.spec.containers},
    )
    return LabelledPod(pod, meta.labels or {}, _lacks(status))


def usage_of(cluster: str, body: bytes) -> PodUsage:
    """Encoded PodMetrics of a cluster; raises `ValueError` for what is none."""
    found = _metrics(body)
    containers = {one.name: one.usage or {} for one in found.containers}
    pod = _key(cluster, found.metadata.name)
    return PodUsage(pod, _time(found.timestamp), duration.seconds(found.window), containers)


def samples_of_resource(usages: Iterable[PodUsage], resource: str, container: str) -> dict[str, Sample]:
    """The use of a resource by each pod, or by one container of each; pods without metrics are left out."""
    samples = {}
    for usage in usages:
        if container and container not in usage.containers:
            raise MetricsError(
                f"failed to get container metrics: container {container} not present in metrics for pod {usage.pod}"
            )
        measured = [usage.containers[container]] if container else list(usage.containers.values())
        if measured and all(resource in amounts for amounts in measured):
            total = sum(Quantity.parse(amounts[resource]).milli_value() for amounts in measured)
            samples[usage.pod] = Sample(total, usage.timestamp, usage.window)
    return samples


def samples_of_values(cluster: str, body: bytes) -> dict[str, Sample]:
    """The custom metric of each pod, from an encoded MetricValueList; raises `ValueError` for what is none."""
    samples = {}
    for item in _values(body).items:
        seconds = item.window_seconds if item.window_seconds is not None else item.window
        window = CUSTOM_WINDOW if seconds is None else float(seconds)
        amount = Quantity.parse(item.value).milli_value()
        samples[_key(cluster, item.described_object.name)] = Sample(amount, _time(item.timestamp), window)
    return samples


def sum_of_values(body: bytes) -> int | None:
    """The values of an encoded list of metrics together, in thousandths; None for an empty one."""
    items = _values(body).items
    return sum(Quantity.parse(item.value).milli_value() for item in items) if items else None


def room_of(pods: Mapping[str, Iterable[LabelledPod]]) -> str:
    """Which clusters have no room for pods, and what they lack; empty when all pods have a node."""
    clusters = []
    for cluster, found in pods.items():
        lacking = [one.lacks for one in found if one.lacks]
        if lacking:
            resources = ", ".join(sorted({resource for lacks in lacking for resource in lacks})[:_NAMED])
            clusters.append(f"{cluster} has no room for {counted(len(lacking), 'pod')}: insufficient {resources}")
    return "; ".join(clusters)


def _lacks(status: _Status) -> tuple[str, ...]:
    """What a scheduler said is insufficient for a pod."""
    for condition in status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False" and condition.reason == "Unschedulable":
            return tuple(sorted(set(_INSUFFICIENT.findall(condition.message)))[:_NAMED]) or ("nodes",)
    return ()


def _key(cluster: str, name: str) -> str:
    return f"{cluster}/{name}"


def _time(text: str | None) -> float:
    return parse_rfc3339(text) if text else 0.0
