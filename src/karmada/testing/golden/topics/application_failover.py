"""Topic `application-failover`: eviction because a workload stays unhealthy."""

from typing import Any

from karmada.api.codec import from_tree, to_tree
from karmada.api.evictions import PRODUCER_BINDING_FAILOVER
from karmada.api.feature_gates import DEFAULTS
from karmada.api.work.v1alpha2 import ResourceBindingSpec, ResourceBindingStatus
from karmada.policies.failover.application import PurgeModeRefused, judge
from karmada.policies.failover.state import StateUnavailable
from karmada.testing.golden.case import Failed, Topic

NOW, FRACTION = 1_000_000_000.0, 0.5
"""Workloads have been unhealthy for the recorded seconds and a fraction."""


def _sync(given: dict[str, Any]) -> dict[str, Any]:
    spec = from_tree(given["spec"], ResourceBindingSpec)
    status = from_tree(given.get("status") or {}, ResourceBindingStatus)
    gates = DEFAULTS.with_overrides(given.get("featureGates") or {})
    known = (given.get("unhealthyForSeconds") or {}).items()
    since = {cluster: NOW - seconds - FRACTION for cluster, seconds in known}
    try:
        verdict = judge(spec, status, since, NOW, PRODUCER_BINDING_FAILOVER, gates)
    except (StateUnavailable, PurgeModeRefused) as error:
        raise Failed(str(error)) from error
    tree = to_tree(verdict.spec)
    return {
        "clusters": tree.get("clusters"),
        "gracefulEvictionTasks": tree.get("gracefulEvictionTasks"),
        "requeueAfterSeconds": verdict.requeue_after or 0,
        "stillTracked": sorted(verdict.unhealthy_since),
    }


TOPIC = Topic("application-failover", {"applicationfailover.Sync": _sync})
