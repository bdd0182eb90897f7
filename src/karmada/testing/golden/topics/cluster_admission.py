"""The storage strategy of clusters, which the topic `webhook` records under the handler `cluster`."""

import copy
from typing import Any

from karmada.aggregated.cluster_type import validate
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import DecodeError, from_tree
from karmada.api.feature_gates import FeatureGates
from karmada.api.field_errors import aggregate
from karmada.api.quantity import Quantity, QuantityError
from karmada.membership.cluster_rules import complete, normalise
from karmada.webhook.metadata import update_errors

NOW = "<now>"


def require_amounts(cluster: Cluster) -> None:
    """Amounts that cannot be read fail where the reference decodes."""
    for bounds in (bounds for model in cluster.spec.resource_models for bounds in model.ranges):
        Quantity.parse(bounds.min)
        Quantity.parse(bounds.max)


def _spec_of(tree: dict[str, Any]) -> Any:
    return from_tree(tree, Cluster, complete=True).spec


def admit_cluster(given: dict[str, Any]) -> dict[str, Any]:
    """What would be stored, or why it is refused."""
    cluster, old = copy.deepcopy(given["object"]), given.get("oldObject")
    try:
        for tree in (cluster,) if old is None else (cluster, old):
            require_amounts(from_tree(tree, Cluster, complete=True))
    except (DecodeError, QuantityError) as error:
        return {"allowed": False, "message": str(error)}
    gates = FeatureGates().with_overrides(given.get("featureGates") or {})
    changed = old is None or _spec_of(cluster) != _spec_of(old)
    spec = cluster["spec"] = cluster.get("spec") or {}
    complete(spec, new=old is None, modeling=gates.enabled("CustomizedClusterResourceModeling"))
    errors = validate(cluster, None) if old is None else update_errors(cluster, old) + validate(cluster, None)
    if errors:
        return {"allowed": False, "message": aggregate(errors)}
    normalise(spec, NOW)
    metadata = cluster["metadata"]
    if old is None:
        metadata["generation"] = 1
    elif changed:
        metadata["generation"] = (old["metadata"].get("generation") or 0) + 1
    status = (old or {}).get("status") or {}
    return {"allowed": True, "object": {"metadata": metadata, "spec": spec, "status": status}}
