"""Topic `workload-rebalancer`: bindings that are scheduled anew on request."""

from typing import Any

from karmada.api import names
from karmada.api.apps.v1alpha1 import ObjectReference, RebalanceResult, WorkloadRebalancer
from karmada.api.codec import from_tree, to_tree
from karmada.policies.rebalancing import is_due, new_status, observed_workloads
from karmada.testing.golden.case import Topic

NOW = "2026-03-02T11:00:00Z"


def _handle(given: dict[str, Any]) -> dict[str, Any]:
    rebalancer = from_tree(given["rebalancer"], WorkloadRebalancer)
    created = rebalancer.metadata.creation_timestamp or ""
    triggered = {}
    for binding in (*(given.get("bindings") or ()), *(given.get("clusterBindings") or ())):
        about = binding["metadata"]
        key = f"{about['namespace']}/{about['name']}" if about.get("namespace") else about["name"]
        triggered[key] = binding["spec"].get("rescheduleTriggeredAt")
    outcomes: dict[ObjectReference, RebalanceResult | None] = {}
    for item in observed_workloads(rebalancer):
        if item.result:
            continue
        name = names.binding_name(item.workload.kind, item.workload.name)
        key = f"{item.workload.namespace}/{name}" if item.workload.namespace else name
        outcomes[item.workload] = RebalanceResult.SUCCESSFUL if key in triggered else RebalanceResult.FAILED
        if key in triggered and is_due(created, triggered[key]):
            triggered[key] = created
    status = to_tree(new_status(rebalancer, outcomes, NOW))
    finished = status.pop("finishTime", None) is not None
    times = {key: value for key, value in triggered.items() if value}
    return {"finishTimeSet": finished, "rescheduleTriggeredAt": times, "status": status}


TOPIC = Topic("workload-rebalancer", {"workloadrebalancer.Handle": _handle})
