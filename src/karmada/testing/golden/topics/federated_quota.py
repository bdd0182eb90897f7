"""Topic `federated-resource-quota`: what all bindings of a namespace use of a quota."""

from typing import Any

from karmada.api.codec import from_tree
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.policies.quota import overall_used
from karmada.testing.golden.case import Topic


def _overall_used(given: dict[str, Any]) -> dict[str, Any]:
    bindings = [from_tree(tree, ResourceBinding) for tree in given.get("bindings") or ()]
    used = overall_used((binding.spec for binding in bindings), given.get("overall") or {})
    return {"overallUsed": {name: str(amount) for name, amount in used.items()}}


TOPIC = Topic("federated-resource-quota", {"federatedresourcequota.OverallUsed": _overall_used})
