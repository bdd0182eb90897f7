"""Topic `federated-resource-quota`: what bindings, or members, use of a quota together."""

from typing import Any

from karmada.api.codec import from_tree
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.policies.quota import overall_used, sum_used
from karmada.testing.golden.case import Topic


def _overall_used(given: dict[str, Any]) -> dict[str, Any]:
    bindings = [from_tree(tree, ResourceBinding) for tree in given.get("bindings") or ()]
    used = overall_used((binding.spec for binding in bindings), given.get("overall") or {})
    return {"overallUsed": {name: str(amount) for name, amount in used.items()}}


def _sum_used(given: dict[str, Any]) -> dict[str, Any]:
    used = sum_used(item.get("used") or {} for item in given.get("aggregatedStatus") or ())
    return {"overallUsed": {name: str(amount) for name, amount in used.items()}}


TOPIC = Topic(
    "federated-resource-quota",
    {"federatedresourcequota.OverallUsed": _overall_used, "federatedresourcequota.SumUsed": _sum_used},
)
