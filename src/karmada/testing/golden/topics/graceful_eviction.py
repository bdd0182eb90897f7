"""Topic `graceful-eviction`: when an evicted copy may go."""

import math
from typing import Any

from karmada.api.codec import from_tree
from karmada.api.work.v1alpha2 import ResourceBindingSpec, ResourceBindingStatus
from karmada.machinery.clock import rfc3339
from karmada.policies.failover.graceful import assess
from karmada.testing.golden.case import Topic

NOW = 1_000_000_000.5
"""Ages are whole seconds and a fraction, as a clock that is read later sees them."""
RESOURCE = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"}


def _assess(given: dict[str, Any]) -> dict[str, Any]:
    tasks = []
    for task in given.get("tasks") or ():
        age = task.get("ageSeconds")
        rest = {key: value for key, value in task.items() if key != "ageSeconds"}
        stamp = {} if age is None else {"creationTimestamp": rfc3339(NOW - age)}
        tasks.append({"reason": "", "producer": "", **rest, **stamp})
    clusters = given.get("scheduleResult") or []
    spec = from_tree({"resource": RESOURCE, "clusters": clusters, "gracefulEvictionTasks": tasks}, ResourceBindingSpec)
    observed = {
        "schedulerObservedGeneration": 1 if given.get("hasScheduled") else 0,
        "aggregatedStatus": given.get("observedStatus") or [],
    }
    status = from_tree(observed, ResourceBindingStatus)
    outcome = assess(spec, status, 1, given["timeoutSeconds"], NOW)
    stamped = {task["fromCluster"] for task in tasks if "creationTimestamp" not in task}
    return {
        "kept": [task.from_cluster for task in outcome.kept],
        "newlyStamped": [task.from_cluster for task in outcome.kept if task.from_cluster in stamped],
        "evicted": list(outcome.evicted),
        "retryAfterSeconds": math.ceil(outcome.requeue_after or 0),
    }


TOPIC = Topic("graceful-eviction", {"gracefuleviction.Assess": _assess})
