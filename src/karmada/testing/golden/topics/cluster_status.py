"""Topic `cluster-status`: what is counted in a member, and when readiness is published."""

from typing import Any

from karmada.api.cluster.v1alpha1 import ResourceModel
from karmada.api.codec import from_tree, to_tree
from karmada.api.native import Node, Pod
from karmada.membership.summary import summarize
from karmada.membership.thresholds import ReadinessThreshold
from karmada.testing.golden.case import Topic


def _summarize(given: dict[str, Any]) -> dict[str, Any]:
    summary = summarize(
        [from_tree(node, Node) for node in given.get("nodes") or []],
        [from_tree(pod, Pod) for pod in given.get("pods") or []],
        [from_tree(model, ResourceModel) for model in given.get("resourceModels") or []],
    )
    resources = to_tree(summary.resources)
    modelings = resources.pop("allocatableModelings", None)
    return {
        "nodeSummary": to_tree(summary.nodes),
        "resourceSummary": resources,
        "allocatableModelings": modelings,
    }


def _sequence(given: dict[str, Any]) -> dict[str, Any]:
    threshold = ReadinessThreshold(given["successThresholdSeconds"], given["failureThresholdSeconds"])
    now = 0.0
    published: list[str] = []
    for step in given["steps"]:
        now += step["afterSeconds"]
        shown = published[-1] if published else None
        published.append(threshold.publish("member", step["observedStatus"], shown, now))
    return {"published": published}


TOPIC = Topic(
    "cluster-status",
    {"clusterstatus.Summarize": _summarize, "clusterstatus.ThresholdSequence": _sequence},
)
