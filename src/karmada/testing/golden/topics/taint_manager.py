"""Topic `taint-manager`: eviction because of NoExecute taints."""

from typing import Any

from karmada.api.cluster.v1alpha1 import Taint
from karmada.api.codec import from_tree, to_tree
from karmada.api.feature_gates import DEFAULTS
from karmada.api.meta import Toleration
from karmada.api.taints import NO_EXECUTE
from karmada.api.work.v1alpha2 import ResourceBindingSpec
from karmada.machinery.clock import parse_rfc3339
from karmada.policies.failover.taints import eviction_task, remaining_toleration
from karmada.policies.failover.tasks import evict, is_target
from karmada.testing.golden.case import Failed, Topic

NEVER = -1e-9
"""How the recordings spell a toleration without an end."""


def _remaining(given: dict[str, Any], now: float) -> float | None:
    taints = [from_tree(one, Taint) for one in given.get("taints") or ()]
    if not given.get("enableNoExecuteTaintEviction") or not any(taint.effect == NO_EXECUTE for taint in taints):
        return None
    return remaining_toleration(taints, [from_tree(one, Toleration) for one in given.get("tolerations") or ()], now)


def _need_eviction(given: dict[str, Any]) -> dict[str, Any]:
    if given.get("placementAnnotationMissing"):
        raise Failed("the applied placement for ResourceBining can not be empty")
    remaining = _remaining(given, parse_rfc3339(given["now"]))
    seconds = NEVER if remaining is None else remaining
    return {"needEviction": remaining == 0, "toleratedForever": remaining is None, "tolerationSeconds": seconds}


def _evict(given: dict[str, Any]) -> dict[str, Any]:
    spec, cluster = from_tree(given["spec"], ResourceBindingSpec), given["cluster"]
    # Recorded taints lie in the past: every finite toleration has run out.
    if is_target(spec, cluster) and _remaining(given, float("inf")) == 0:
        task = eviction_task(cluster, spec.failover, (), given["noExecuteTaintEvictionPurgeMode"], DEFAULTS)
        spec = evict(spec, [task])
    tree = to_tree(spec)
    return {"clusters": tree.get("clusters"), "gracefulEvictionTasks": tree.get("gracefulEvictionTasks")}


TOPIC = Topic("taint-manager", {"taintmanager.NeedEviction": _need_eviction, "taintmanager.EvictBinding": _evict})
