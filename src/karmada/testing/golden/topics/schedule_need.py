"""Topic `schedule-need`: when a binding is scheduled, and which bindings a change of a cluster concerns."""

from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.feature_gates import FeatureGates
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.scheduler.core.decide import terms_to_try
from karmada.scheduler.core.request import Binding
from karmada.scheduler.core.trigger import Need, concerns, need, versions_to_check
from karmada.testing.golden.case import Topic


def _need(given: dict[str, Any]) -> dict[str, Any]:
    binding = from_tree(given["binding"], ResourceBinding)
    terminating = {
        cluster["metadata"]["name"]
        for cluster in given.get("clusters") or ()
        if cluster["metadata"].get("deletionTimestamp")
    }
    reason = need(binding, FeatureGates(given.get("featureGates") or {}), terminating.__contains__)
    schedules = reason not in (Need.NONE, Need.DELETING, Need.NO_PLACEMENT)
    observed = binding.status.scheduler_observed_generation
    # Without a list of terms the record shows the name the status happens to hold.
    terms = [term.affinity_name for term in terms_to_try(binding)] or [binding.status.scheduler_observing_affinity_name]
    return {
        "reason": reason.value,
        "schedule": schedules,
        "affinityTermsTried": terms if schedules else [],
        "schedulerObservedGenerationAfter": binding.metadata.generation if reason is Need.NONE else observed,
    }


def _requeue(given: dict[str, Any]) -> dict[str, Any]:
    versions = versions_to_check(from_tree(given["oldCluster"], Cluster), from_tree(given["newCluster"], Cluster))
    bindings: list[Binding] = [
        *(from_tree(item, ResourceBinding) for item in given.get("bindings") or ()),
        *(from_tree(item, ClusterResourceBinding) for item in given.get("clusterBindings") or ()),
    ]
    found = [
        f"{binding.metadata.namespace}/{binding.metadata.name}".lstrip("/")
        for binding in bindings
        if concerns(binding, versions, given["schedulerName"])
    ]
    return {"requeued": sorted(found)}


TOPIC = Topic("schedule-need", {"schedule.Need": _need, "schedule.ClusterUpdateRequeue": _requeue})
