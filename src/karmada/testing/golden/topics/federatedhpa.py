"""Topic `federatedhpa`: the replicas metrics ask for, and how far they may go at once."""

from typing import Any

from karmada.api.autoscaling.v1alpha1 import HorizontalPodAutoscalerBehavior
from karmada.api.codec import from_tree
from karmada.policies.autoscaling import limits, proposals
from karmada.policies.autoscaling.pods import MetricsError, Pod, Sample, Timing
from karmada.testing.golden.case import Case, Excuse, Failed, Topic

NOW = 1_000_000_000.0
LATER = NOW + 0.5
"""The reference reads the clock again after the ages were turned into times."""
_NO_NUMBER = -(2**63)
"""A quotient by zero, as Go turns it into an integer."""


def _replicas(given: dict[str, Any]) -> dict[str, Any]:
    try:
        proposal = _proposal(given)
    except MetricsError as error:
        raise Failed(str(error)) from error
    if proposal.utilization is not None:
        return {
            "replicas": proposal.replicas,
            "rawAverage": proposal.usage,
            "utilization": proposal.utilization,
        }
    return {"replicas": proposal.replicas, "usage": _NO_NUMBER if proposal.usage is None else proposal.usage}


def _proposal(given: dict[str, Any]) -> proposals.Proposal:
    scale = proposals.Scale(given["currentReplicas"], given["calibration"], given["tolerance"])
    pods = [_pod(item) for item in given.get("pods") or ()]
    samples = {
        name: Sample(item["value"], NOW - item["timestampSecondsAgo"], item["windowSeconds"])
        for name, item in (given.get("metrics") or {}).items()
    }
    timing = Timing(LATER, given["cpuInitializationSeconds"], given["initialReadinessDelaySeconds"])
    kind, target = given["kind"], given["target"]
    resource, value = given.get("resource", ""), given.get("objectValue", 0)
    match kind:
        case "resource":
            container = given.get("container", "")
            return proposals.by_utilization(scale, target, resource, container, pods, samples, timing)
        case "rawResource":
            return proposals.by_average(scale, target, resource, pods, samples, timing)
        case "pods":
            return proposals.by_average(scale, target, "", pods, samples, timing)
        case "object":
            return proposals.by_object(scale, target, value, pods)
        case _:
            return proposals.by_object_per_pod(scale, target, value)


def _pod(given: dict[str, Any]) -> Pod:
    started = given.get("startedSecondsAgo")
    return Pod(
        name=given["name"],
        phase=given["phase"],
        is_deleting=given.get("deleting", False),
        ready="" if given.get("ready") is None else str(given["ready"]),
        ready_changed=NOW - given.get("readyChangedSecondsAgo", 0),
        started=None if started is None else NOW - started,
        requests=given.get("containerRequests") or {},
    )


def _normalize(given: dict[str, Any]) -> dict[str, Any]:
    behavior = given.get("behavior")
    bounds = limits.Bounds(
        given["minReplicas"],
        given["maxReplicas"],
        given["downscaleStabilizationSeconds"],
        None if behavior is None else from_tree(behavior, HorizontalPodAutoscalerBehavior),
    )
    memory = limits.Memory(*(_timed(given, key) for key in ("recommendations", "scaleUpEvents", "scaleDownEvents")))
    outcome = limits.allowed(given["currentReplicas"], given["desiredReplicas"], bounds, memory, LATER)
    conditions = (
        {"type": one.type, "status": str(one.status), "reason": one.reason, "message": one.message}
        for one in (outcome.stabilized, outcome.limited)
    )
    return {"replicas": outcome.replicas, "conditions": list(conditions)}


def _timed(given: dict[str, Any], key: str) -> tuple[limits.Timed, ...]:
    return tuple(limits.Timed(NOW - item["ageSeconds"], item["change"]) for item in given.get(key) or ())


def _overflowed(case: Case) -> bool:
    """The reference's count is too large for its field, and negative by that."""
    return any(one.get("replicas", 0) < 0 for one in case.alternatives)


TOPIC = Topic(
    "federatedhpa",
    {"federatedhpa.Replicas": _replicas, "federatedhpa.Normalize": _normalize},
    excuses=[Excuse("a count that does not fit its field changes nothing", _overflowed)],
)
