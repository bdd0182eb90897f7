"""Topic `estimator`: what an estimator answers about its member."""

from typing import Any

from karmada.api.codec import from_tree
from karmada.api.feature_gates import FeatureGates
from karmada.api.native import Node, Pod, ResourceQuota
from karmada.estimator.estimate import Answers, EstimateError, Member, unschedulable
from karmada.estimator.workloads import Workload
from karmada.machinery.clock import rfc3339
from karmada.testing.golden.case import Failed, Topic
from karmada.testing.golden.topics.estimator_wire import replicas_request, sets_request, unschedulable_request

_NOW = 1_780_000_000.0


def _answers(given: dict[str, Any]) -> Answers:
    member = Member()
    for node in given.get("nodes") or ():
        member.nodes.put_node(from_tree(node, Node))
    for pod in given.get("pods") or ():
        member.nodes.add_pod(from_tree(pod, Pod))
    for tree in given.get("resourceQuotas") or ():
        quota = from_tree(tree, ResourceQuota)
        member.quotas.setdefault(quota.metadata.namespace, {})[quota.metadata.name] = quota
    return Answers(given["serverCluster"], member, FeatureGates(given.get("featureGates") or {}))


def _replicas(given: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"maxReplicas": _answers(given).replicas(replicas_request(given["request"]))}
    except EstimateError as error:
        raise Failed(str(error)) from error


def _sets(given: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"maxSets": _answers(given).sets(sets_request(given["request"]))}
    except EstimateError as error:
        raise Failed(str(error)) from error


def _unschedulable(given: dict[str, Any]) -> dict[str, Any]:
    request = unschedulable_request(given["request"])
    wanted = request.resource
    deployments = [
        from_tree(item, Workload)
        for item in given.get("deployments") or ()
        if wanted and (item["metadata"]["namespace"], item["metadata"]["name"]) == (wanted.namespace, wanted.name)
    ]
    ages = given.get("podScheduledAgeSeconds") or {}
    try:
        number = unschedulable(
            request,
            given["serverCluster"],
            deployments[0] if deployments else None,
            [from_tree(item, Workload) for item in given.get("replicaSets") or ()],
            [from_tree(_aged(pod, ages), Pod) for pod in given.get("pods") or ()],
            _NOW,
        )
    except EstimateError as error:
        raise Failed(str(error)) from error
    return {"unschedulableReplicas": number}


def _aged(pod: dict[str, Any], ages: dict[str, float]) -> dict[str, Any]:
    """The pod with the time its condition changed, by the recorded age."""
    age = ages.get(pod["metadata"]["name"])
    if age is None:
        return pod
    conditions = [
        {**condition, "lastTransitionTime": rfc3339(_NOW - age)} if condition["type"] == "PodScheduled" else condition
        for condition in pod["status"].get("conditions") or ()
    ]
    return {**pod, "status": {**pod["status"], "conditions": conditions}}


TOPIC = Topic(
    "estimator",
    {
        "estimator.MaxAvailableReplicas": _replicas,
        "estimator.MaxAvailableComponentSets": _sets,
        "estimator.GetUnschedulableReplicas": _unschedulable,
    },
)
