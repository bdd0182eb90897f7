"""The placement must tolerate the taints of the cluster that keep new resources out."""

from collections.abc import Hashable

from karmada.api import taints
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.scheduler.core.request import Request

_EFFECTS = (taints.NO_SCHEDULE, taints.NO_EXECUTE)


class TaintToleration:
    """Filters out clusters with NoSchedule or NoExecute taints that the placement does not tolerate.

    With the gate AvoidEvictionLoops a toleration that ends does not count for NoExecute: what it lets in would be
    evicted, and let in again.
    """

    name = "TaintToleration"
    spares_targets = True

    def aspect(self, request: Request) -> Hashable:
        return request.placement.cluster_tolerations, request.settings.avoids_loops

    def reject(self, cluster: Cluster, request: Request) -> str | None:
        tolerations = request.placement.cluster_tolerations
        taint = taints.first_untolerated(cluster.spec.taints, tolerations, _EFFECTS)
        if taint is None and request.settings.avoids_loops:
            lasting = tuple(one for one in tolerations if one.toleration_seconds is None)
            taint = taints.first_untolerated(cluster.spec.taints, lasting, (taints.NO_EXECUTE,))
        return None if taint is None else f"cluster(s) had untolerated taint {{{taints.spell(taint)}}}"
