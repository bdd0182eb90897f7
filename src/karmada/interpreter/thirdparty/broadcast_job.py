"""OpenKruise BroadcastJob."""

from collections.abc import Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.thirdparty import kruise, pods
from karmada.interpreter.thirdparty.statuses import latest, members, reflect_fields, reported, totals, with_status
from karmada.interpreter.thirdparty.tables import at, entries, find

_COUNTERS = ("active", "succeeded", "failed", "desired")


def replicas(resource: JSONObject) -> ReplicaNeeds:
    count = at(resource, "spec", "parallelism")
    requirements = pods.requirements(at(resource, "spec", "template"))
    return ReplicaNeeds(int(count) if isinstance(count, int) else 1, requirements)


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """The labels that the member's controller has put on the pods."""
    if at(observed, "spec", "template", "metadata") is None:
        return desired
    at(desired, "spec", "template", "metadata", "labels")
    desired["spec"]["template"]["metadata"]["labels"] = at(observed, "spec", "template", "metadata", "labels")
    return desired


def is_healthy(observed: JSONObject) -> bool:
    desired, failed = at(observed, "status", "desired"), at(observed, "status", "failed")
    running = at(observed, "status", "succeeded") != 0 or at(observed, "status", "active") != 0
    return bool(desired != 0 and failed == 0 and running)


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    found = reported(items)
    status: JSONObject = {**totals(found, *_COUNTERS), "phase": latest(found, "phase", "")}
    types = {
        member.cluster: [condition.get("type") for condition in entries(find(member.status, "conditions"))]
        for member in members(items)
    }
    failed = [cluster for cluster, seen in types.items() if "Failed" in seen]
    if failed:
        message = f"Job executed failed in member clusters: {', '.join(failed)}"
        status["conditions"] = [{"type": "Failed", "status": "True", "reason": "JobFailed", "message": message}]
    elif any("Complete" in seen for seen in types.values()):
        status["conditions"] = [
            {"type": "Completed", "status": "True", "reason": "Completed", "message": "Job completed"}
        ]
    return with_status(template, status)


RULES = KindRules(
    replicas=replicas,
    revise=kruise.revise("parallelism"),
    retain=retain,
    reflect=reflect_fields(*_COUNTERS, "conditions", "phase", "startTime", "completionTime"),
    aggregate=aggregate,
    health=is_healthy,
    dependencies=kruise.dependencies,
)
