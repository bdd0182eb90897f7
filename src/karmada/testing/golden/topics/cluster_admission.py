"""The storage strategy of clusters, which the topic `webhook` records under the handler `cluster`."""

import copy
from typing import Any

from karmada.aggregated.cluster_type import validate
from karmada.api.feature_gates import FeatureGates
from karmada.api.field_errors import aggregate
from karmada.membership.cluster_rules import complete, normalise

NOW = "<now>"


def admit_cluster(given: dict[str, Any]) -> dict[str, Any]:
    """What would be stored, or why it is refused."""
    cluster, old = copy.deepcopy(given["object"]), given.get("oldObject")
    gates = FeatureGates().with_overrides(given.get("featureGates") or {})
    spec = cluster.setdefault("spec", {})
    complete(spec, new=old is None, modeling=gates.enabled("CustomizedClusterResourceModeling"))
    errors = validate(cluster, old)
    if errors:
        return {"allowed": False, "message": aggregate(errors)}
    normalise(spec, NOW)
    metadata = cluster["metadata"]
    if old is None:
        metadata["generation"] = 1
    elif spec != old.get("spec"):
        metadata["generation"] = (old["metadata"].get("generation") or 0) + 1
    status = (old or {}).get("status") or {}
    return {"allowed": True, "object": {"metadata": metadata, "spec": spec, "status": status}}
