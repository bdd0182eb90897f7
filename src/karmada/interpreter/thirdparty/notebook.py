"""Kubeflow Notebook."""

from collections.abc import Callable, Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.thirdparty import pods, training
from karmada.interpreter.thirdparty.statuses import members, total, with_status
from karmada.interpreter.thirdparty.tables import at, find


def replicas(resource: JSONObject) -> ReplicaNeeds:
    return ReplicaNeeds(1, pods.requirements(at(resource, "spec", "template")))


def reflect(observed: JSONObject) -> JSONObject | None:
    status = observed.get("status")
    if not isinstance(status, dict):
        return {}
    kept = {name: status[name] for name in ("conditions", "containerState") if status.get(name) is not None}
    return {**kept, "readyReplicas": status.get("readyReplicas") or 0}


def is_healthy(observed: JSONObject) -> bool:
    """It runs, is being created, or has ended well."""
    state = find(observed, "status", "containerState") or {}
    if state.get("running") is not None:
        return True
    if state.get("waiting") is not None:
        return bool(find(state, "waiting", "reason") == "ContainerCreating")
    if state.get("terminated") is not None:
        ended = state["terminated"]
        return bool(find(ended, "reason") == "Completed" and find(ended, "exitCode") == 0)
    return False


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem], now: str) -> JSONObject:
    found = members(items)
    if not found:
        return with_status(template, {"readyReplicas": 0})
    if len(found) == 1:
        template["status"] = found[0].status
        return template
    if any(find(member.status, "containerState") is not None for member in found):
        training.cannot_merge("Notebook")
    clusters = ", ".join(member.cluster for member in found)
    failed = {
        "type": "Failed",
        "status": "True",
        "reason": "NotebookFailed",
        "message": f"Notebook executed failed in member clusters: {clusters}",
        "lastProbeTime": now,
        "lastTransitionTime": now,
    }
    status = {
        "readyReplicas": total((member.status or {} for member in found), "readyReplicas"),
        "containerState": {"waiting": {"reason": "Unschedulable"}},
        "conditions": [failed],
    }
    return with_status(template, status)


def rules(now: Callable[[], str]) -> KindRules:
    return KindRules(
        replicas=replicas,
        reflect=reflect,
        aggregate=lambda template, items: aggregate(template, items, now()),
        health=is_healthy,
    )
