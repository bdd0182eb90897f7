"""Application failover: clusters whose copy has been unhealthy for longer than the policy tolerates."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from karmada.api import evictions
from karmada.api.feature_gates import FeatureGates
from karmada.api.work.v1alpha2 import GracefulEvictionTask, ResourceBindingSpec, ResourceBindingStatus
from karmada.policies.failover.state import preserved_labels
from karmada.policies.failover.tasks import evict, is_evicting

DEFAULT_TOLERATION = 300
UNHEALTHY, HEALTHY, UNKNOWN = "Unhealthy", "Healthy", "Unknown"


class PurgeModeRefused(Exception):
    """The purge mode needs a feature gate that is off."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known after one look at a binding."""

    spec: ResourceBindingSpec
    """The spec, without the clusters that are evicted."""
    evicted: tuple[str, ...]
    """Clusters whose toleration has run out."""
    unhealthy_since: Mapping[str, float]
    """When each copy that is not known to be healthy was first seen unhealthy."""
    requeue_after: float | None
    """Seconds until the next toleration runs out; None when none is running."""


def judge(
    spec: ResourceBindingSpec,
    status: ResourceBindingStatus,
    since: Mapping[str, float],
    now: float,
    producer: str,
    gates: FeatureGates,
    unavailable: Collection[str] = (),
    pause: float | None = None,
) -> Verdict:
    """Evict what has been unhealthy for too long; raises `StateUnavailable` or `PurgeModeRefused`, evicting nothing.

    Copies in `unavailable` clusters count as unhealthy, whatever was last observed of them. With a `pause` nothing is
    evicted now: what is due is looked at again after so many seconds.
    """
    assert spec.failover is not None
    assert spec.failover.application is not None
    configured = spec.failover.application.decision_conditions.toleration_seconds
    toleration = DEFAULT_TOLERATION if configured is None else configured
    seen: dict[str, float] = dict(since)
    due: list[str] = []
    waits: list[float] = []
    health = {item.cluster_name: item.health for item in status.aggregated_status}
    health.update((cluster, UNHEALTHY) for cluster in unavailable)
    for cluster, state in health.items():
        if state != UNHEALTHY or is_evicting(spec, cluster):
            continue
        if cluster not in seen:
            seen[cluster] = now
            waits.append(toleration)
        elif now > seen[cluster] + toleration:
            if pause is None:
                due.append(cluster)
            else:
                waits.append(pause)
        else:
            waits.append(toleration - int(now - seen[cluster]))
    after = evict(spec, [_task(spec, status, cluster, producer, gates) for cluster in due])
    recovered = {cluster for cluster, state in health.items() if state in (HEALTHY, UNKNOWN)}
    targets = {target.name for target in spec.clusters} - set(due)
    kept = {name: first for name, first in seen.items() if name in targets and name not in recovered}
    return Verdict(after, tuple(due), kept, min(waits, default=None))


def _task(
    spec: ResourceBindingSpec, status: ResourceBindingStatus, cluster: str, producer: str, gates: FeatureGates
) -> GracefulEvictionTask:
    assert spec.failover is not None
    assert spec.failover.application is not None
    behaviour = spec.failover.application
    labels: dict[str, str] = {}
    before: tuple[str, ...] = ()
    if gates.enabled("StatefulFailoverInjection"):
        labels = preserved_labels(behaviour.state_preservation, status.aggregated_status, cluster)
        before = tuple(target.name for target in spec.clusters) if labels else ()
    graceful = behaviour.purge_mode == evictions.PURGE_GRACEFULLY
    if graceful and not gates.enabled("GracefulEviction"):
        raise PurgeModeRefused(f"purgeMode {behaviour.purge_mode} needs the feature gate GracefulEviction")
    return GracefulEvictionTask(
        from_cluster=cluster,
        purge_mode=behaviour.purge_mode,
        reason=evictions.REASON_APPLICATION_FAILURE,
        producer=producer,
        grace_period_seconds=behaviour.grace_period_seconds if graceful else None,
        suppress_deletion=True if behaviour.purge_mode == evictions.PURGE_NEVER else None,
        preserved_label_state=labels,
        clusters_before_failover=before,
    )
