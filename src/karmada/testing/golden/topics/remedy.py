"""Topic `remedy`: actions that conditions of a cluster call for."""

from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.remedy.v1alpha1 import Remedy
from karmada.policies.remedies import actions, is_about
from karmada.testing.golden.case import Topic


def _actions(given: dict[str, Any]) -> dict[str, Any]:
    cluster = from_tree(given["cluster"], Cluster)
    remedies = [from_tree(one, Remedy) for one in given.get("remedies") or ()]
    related = [remedy.metadata.name for remedy in remedies if is_about(remedy, cluster.metadata.name)]
    return {"actions": list(actions(remedies, cluster)), "related": related}


TOPIC = Topic("remedy", {"remedy.CalculateActions": _actions})
