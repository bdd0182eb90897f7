"""The cluster must serve the kind of the resource."""

from collections.abc import Hashable

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.scheduler.core.request import Request

REASON = "cluster(s) did not have the API resource"


class APIEnablement:
    """Filters out clusters that do not serve the kind of the resource."""

    name = "APIEnablement"
    spares_targets = True

    def aspect(self, request: Request) -> Hashable:
        return request.spec.resource.api_version, request.spec.resource.kind

    def reject(self, cluster: Cluster, request: Request) -> str | None:
        resource = request.spec.resource
        serves = any(
            enabled.group_version == resource.api_version and any(r.kind == resource.kind for r in enabled.resources)
            for enabled in cluster.status.api_enablements
        )
        return None if serves else REASON
