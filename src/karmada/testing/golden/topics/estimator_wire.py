"""Topic `estimator-wire`: the bytes of the estimator's messages, and that they can be read back."""

from collections.abc import Callable
from typing import Any

from karmada.api.codec import from_tree
from karmada.api.work.v1alpha2 import Component, ObjectReference, ReplicaRequirements
from karmada.scheduler.core.assumptions import AssumedWorkload
from karmada.scheduler.estimators.messages import Answer, ReplicasRequest, SetsRequest, UnschedulableRequest
from karmada.testing.golden.case import Topic
from karmada.testing.golden.compare import first_difference

Message = ReplicasRequest | SetsRequest | UnschedulableRequest | Answer


def replicas_request(value: dict[str, Any]) -> ReplicasRequest:
    """A request from its plain spelling."""
    needs = value.get("replicaRequirements")
    return ReplicasRequest(
        value.get("cluster", ""),
        None if needs is None else from_tree(_selecting(needs), ReplicaRequirements),
        assumed_of(value),
    )


def sets_request(value: dict[str, Any]) -> SetsRequest:
    """A request from its plain spelling."""
    return SetsRequest(value.get("cluster", ""), _components(value), value.get("namespace", ""), assumed_of(value))


def unschedulable_request(value: dict[str, Any]) -> UnschedulableRequest:
    """A request from its plain spelling."""
    resource = value.get("resource")
    empty = {"apiVersion": "", "kind": "", "name": ""}
    return UnschedulableRequest(
        value.get("cluster", ""),
        None if resource is None else from_tree({**empty, **resource}, ObjectReference),
        value.get("unschedulableThresholdNanoseconds", 0),
    )


def assumed_of(value: dict[str, Any]) -> tuple[AssumedWorkload, ...]:
    """The assumed workloads of a request."""
    return tuple(
        AssumedWorkload(workload.get("namespace", ""), _components(workload))
        for workload in value.get("assumedWorkloads") or ()
    )


def _components(value: dict[str, Any]) -> tuple[Component, ...]:
    found = []
    for component in value.get("components") or ():
        needs = component.get("replicaRequirements")
        whole = {"name": "", "replicas": 0, **component}
        found.append(from_tree({**whole, "replicaRequirements": needs and _selecting(needs)}, Component))
    return tuple(found)


def _selecting(needs: dict[str, Any]) -> dict[str, Any]:
    """An affinity without terms is written without them."""
    claim = needs.get("nodeClaim")
    if not claim or claim.get("hardNodeAffinity") is None:
        return needs
    affinity = {"nodeSelectorTerms": [], **claim["hardNodeAffinity"]}
    return {**needs, "nodeClaim": {**claim, "hardNodeAffinity": affinity}}


_READERS: dict[str, Callable[[dict[str, Any]], Message]] = {
    "MaxAvailableReplicasRequest": replicas_request,
    "MaxAvailableComponentSetsRequest": sets_request,
    "UnschedulableReplicasRequest": unschedulable_request,
    "MaxAvailableReplicasResponse": lambda value: Answer(value["maxReplicas"]),
    "MaxAvailableComponentSetsResponse": lambda value: Answer(value["maxSets"]),
    "UnschedulableReplicasResponse": lambda value: Answer(value["unschedulableReplicas"]),
}


def _encode(given: dict[str, Any]) -> dict[str, Any]:
    message = _READERS[given["message"]](given["value"])
    data = message.encode()
    again = type(message).decode(data).encode()
    return {"hex": data.hex() if again == data else f"reads back as {again.hex()}", "length": len(data)}


def _compare(expected: Any, actual: Any) -> str | None:
    """The JSON mapping of the record says nothing more than its bytes."""
    return first_difference({key: value for key, value in expected.items() if key != "protojson"}, actual)


TOPIC = Topic("estimator-wire", {"wire.Encode": _encode}, compare=_compare)
