"""The cluster must have the property that resources are spread by."""

from collections.abc import Hashable

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.policies.cluster_affinity import zones_of
from karmada.scheduler.core.request import Request


class SpreadConstraint:
    """Filters out clusters without the property that resources are spread by."""

    name = "SpreadConstraint"
    spares_targets = False

    def aspect(self, request: Request) -> Hashable:
        return tuple((c.spread_by_field, c.spread_by_label) for c in request.placement.spread_constraints)

    def reject(self, cluster: Cluster, request: Request) -> str | None:
        for constraint in request.placement.spread_constraints:
            if constraint.spread_by_label:
                if not cluster.metadata.labels.get(constraint.spread_by_label):
                    return f"cluster(s) did not have label {constraint.spread_by_label}"
                continue
            match constraint.spread_by_field:
                case "provider" if not cluster.spec.provider:
                    return "cluster(s) did not have provider property"
                case "region" if not cluster.spec.region:
                    return "cluster(s) did not have region property"
                case "zone" if not zones_of(cluster):
                    return "cluster(s) did not have zones property"
        return None
