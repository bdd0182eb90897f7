"""Which clusters offer a service to others, and which may call it: decisions that dispatch and gateway share."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from karmada.api import conditions, events
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import find_condition, is_true
from karmada.api.networking.v1alpha1 import ClusterSelector, ExposureType, MultiClusterService
from karmada.api.remedy.v1alpha1 import RemedyAction
from karmada.api.timestamps import TimestampError, parse
from karmada.works.slices import API_VERSION, KIND


class Standing(NamedTuple):
    """Whether the endpoints of a cluster are offered to others."""

    withdrawn: str = ""
    """Why they are not; empty when they are."""
    changes_in: float | None = None
    """Seconds after which the answer is another one if nothing changes; None when it stays."""


def standing(cluster: Cluster | None, now: float, tolerance: float) -> Standing:
    """Whether a cluster's endpoints are offered: not of one that leaves, that a Remedy keeps traffic from, or that has
    not been ready for `tolerance` seconds. `now` is in seconds since the epoch."""
    if cluster is None:
        return Standing("the cluster does not exist")
    if cluster.metadata.deletion_timestamp is not None:
        return Standing("the cluster is leaving")
    if RemedyAction.TRAFFIC_CONTROL in cluster.status.remedy_actions:
        return Standing(f"a Remedy asks for {RemedyAction.TRAFFIC_CONTROL}")
    ready = find_condition(cluster.status.conditions, conditions.READY)
    if ready is None or ready.status == "True":
        return Standing()
    left = _seconds(ready.last_transition_time, now) + tolerance - now
    if left > 0:
        return Standing(changes_in=left)
    return Standing(f"the cluster has not been ready for {tolerance:g} s")


def is_cross_cluster(service: MultiClusterService) -> bool:
    """Whether a MultiClusterService is served by dispatching endpoints."""
    return ExposureType.CROSS_CLUSTER in service.spec.types


def providers(service: MultiClusterService, clusters: Iterable[str]) -> list[str]:
    """The clusters whose pods answer, sorted; `clusters` are all there are."""
    return _chosen(service.spec.provider_clusters, clusters)


def consumers(service: MultiClusterService, clusters: Iterable[str]) -> list[str]:
    """The clusters that may call, sorted."""
    return _chosen(service.spec.consumer_clusters, clusters)


def lacks_slices(cluster: Cluster) -> bool:
    """Whether a cluster is known to have no EndpointSlices. What it serves may be known in part only."""
    if any(
        enabled.group_version == API_VERSION and any(resource.kind == KIND for resource in enabled.resources)
        for enabled in cluster.status.api_enablements
    ):
        return False
    found = (c for c in cluster.status.conditions if c.type == conditions.COMPLETE_API_ENABLEMENTS)
    return any(condition.status == "True" for condition in found)


class Refusal(NamedTuple):
    """Why a consumer does not get endpoints now: the reason of an event, and its text."""

    reason: str
    text: str


class Dispatch(NamedTuple):
    """Which consumers get the endpoints of a provider."""

    write: tuple[str, ...] = ()
    """Those that are brought up to date."""
    keep: frozenset[str] = frozenset()
    """Those where what they have stays; everywhere else it is withdrawn."""
    refused: tuple[Refusal, ...] = ()
    withdrawn: str = ""
    """Why nobody gets them although the provider is one; empty when they are offered."""
    changes_in: float | None = None
    """Seconds after which the answer is another one if nothing changes."""


def dispatch(
    service: MultiClusterService | None, provider: str, clusters: Mapping[str, Cluster], now: float, tolerance: float
) -> Dispatch:
    """Decide where the endpoints of one provider go. A consumer that is not ready keeps what it has."""
    if service is None or service.metadata.deletion_timestamp is not None or not is_cross_cluster(service):
        return Dispatch()
    if provider not in providers(service, clusters):
        return Dispatch()
    offered = standing(clusters.get(provider), now, tolerance)
    if offered.withdrawn:
        return Dispatch(withdrawn=offered.withdrawn)
    wanted = [name for name in consumers(service, clusters) if name != provider]
    refused = {name: why for name in wanted if (why := _refusal(name, clusters.get(name))) is not None}
    write = tuple(name for name in wanted if name not in refused)
    return Dispatch(write, frozenset(wanted), tuple(refused.values()), changes_in=offered.changes_in)


def can_consume(cluster: Cluster | None) -> bool:
    """Whether a cluster can take endpoints of others now."""
    return cluster is not None and _refusal("", cluster) is None


def _refusal(name: str, cluster: Cluster | None) -> Refusal | None:
    if cluster is None or cluster.metadata.deletion_timestamp is not None:
        return Refusal(events.CLUSTER_NOT_FOUND, f"Consumer cluster {name} is not found")
    if not is_true(cluster.status.conditions, conditions.READY):
        text = f"Consumer cluster {name} is not ready, skip to propagate EndpointSlice"
        return Refusal(events.SYNC_SERVICE.failed, text)
    if lacks_slices(cluster):
        return Refusal(events.API_INCOMPATIBLE, f"Consumer cluster {name} does not support EndpointSlice")
    return None


def _chosen(selectors: Iterable[ClusterSelector], clusters: Iterable[str]) -> list[str]:
    return sorted({selector.name for selector in selectors} or set(clusters))


def _seconds(text: str, otherwise: float) -> float:
    try:
        return parse(text).timestamp()
    except TimestampError:
        return otherwise
