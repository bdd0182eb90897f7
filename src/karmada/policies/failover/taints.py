"""NoExecute taints: how long the placement of a binding tolerates those of a cluster, and how its copy is purged."""

from collections.abc import Iterable, Sequence

from karmada.api import evictions
from karmada.api.cluster.v1alpha1 import Taint
from karmada.api.feature_gates import FeatureGates
from karmada.api.meta import Toleration
from karmada.api.policy.v1alpha1 import FailoverBehavior
from karmada.api.taints import ToleratedForever, ToleratedUntil, Untolerated, endurance
from karmada.api.timestamps import parse
from karmada.api.work.v1alpha2 import AggregatedStatusItem, GracefulEvictionTask
from karmada.policies.failover.state import preserved_labels


def remaining_toleration(taints: Iterable[Taint], tolerations: Sequence[Toleration], now: float) -> float | None:
    """Seconds until NoExecute taints evict; 0 when they do now, None when they never do."""
    dated = ((taint, parse(taint.time_added) if taint.time_added else None) for taint in taints)
    match endurance(dated, tolerations):
        case Untolerated():
            return 0.0
        case ToleratedUntil(deadline):
            return max(0.0, deadline.timestamp() - now)
        case ToleratedForever():
            return None


def purge_mode(failover: FailoverBehavior | None, default: str) -> str:
    """How the copy is removed: as the policy's cluster failover says, else as the control plane's default does."""
    if failover is not None and failover.cluster is not None:
        return failover.cluster.purge_mode or evictions.PURGE_GRACEFULLY
    return default if default == evictions.PURGE_DIRECTLY else evictions.PURGE_GRACEFULLY


def eviction_task(
    cluster: str,
    failover: FailoverBehavior | None,
    observed: Iterable[AggregatedStatusItem],
    default_purge_mode: str,
    gates: FeatureGates,
) -> GracefulEvictionTask:
    """The task that evicts from a tainted cluster; raises `StateUnavailable` while the state to keep is unknown."""
    labels = {}
    if gates.enabled("StatefulFailoverInjection") and failover is not None and failover.cluster is not None:
        labels = preserved_labels(failover.cluster.state_preservation, observed, cluster)
    return GracefulEvictionTask(
        from_cluster=cluster,
        purge_mode=purge_mode(failover, default_purge_mode),
        reason=evictions.REASON_TAINT_UNTOLERATED,
        producer=evictions.PRODUCER_TAINT_MANAGER,
        preserved_label_state=labels,
    )
