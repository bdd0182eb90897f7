"""The placement must tolerate the taints of the cluster that keep new resources out."""

from collections.abc import Hashable

from karmada.api import taints
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.scheduler.core.request import Request

_EFFECTS = (taints.NO_SCHEDULE, taints.NO_EXECUTE)


class TaintToleration:
    """Filters out clusters with NoSchedule or NoExecute taints that the placement does not tolerate."""

    name = "TaintToleration"
    spares_targets = True

    def aspect(self, request: Request) -> Hashable:
        return request.placement.cluster_tolerations

    def reject(self, cluster: Cluster, request: Request) -> str | None:
        taint = taints.first_untolerated(cluster.spec.taints, request.placement.cluster_tolerations, _EFFECTS)
        return None if taint is None else f"cluster(s) had untolerated taint {{{taints.spell(taint)}}}"
