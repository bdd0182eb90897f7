"""The plugins in force: filters and scores."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.decision import Rejection
from karmada.scheduler.core.request import Request
from karmada.scheduler.plugins.api_enablement import APIEnablement
from karmada.scheduler.plugins.base import Filter, Score
from karmada.scheduler.plugins.cluster_affinity import ClusterAffinity
from karmada.scheduler.plugins.cluster_eviction import ClusterEviction
from karmada.scheduler.plugins.cluster_locality import ClusterLocality
from karmada.scheduler.plugins.spread_constraint import SpreadConstraint
from karmada.scheduler.plugins.taint_toleration import TaintToleration
from karmada.scheduler.plugins.workload_affinity import WorkloadAffinity
from karmada.scheduler.plugins.workload_anti_affinity import WorkloadAntiAffinity

_LOCAL = frozenset({ClusterLocality.name, ClusterAffinity.name})
BUILT_IN: tuple[Filter | Score, ...] = (
    APIEnablement(),
    TaintToleration(),
    ClusterAffinity(),
    SpreadConstraint(),
    ClusterEviction(),
    WorkloadAffinity(),
    WorkloadAntiAffinity(),
    ClusterLocality(),
)


@dataclass(frozen=True, slots=True)
class Framework:
    """What is asked about every cluster, in order."""

    filters: tuple[Filter, ...]
    scorers: tuple[Score, ...]
    scores_by_locality: bool = field(init=False)
    """Whether all clusters a binding does not go to yet score 0."""
    neutral: Mapping[str, int] = field(init=False)
    """The scores of such a cluster."""

    def __post_init__(self) -> None:
        local = all(plugin.name in _LOCAL for plugin in self.scorers)
        object.__setattr__(self, "scores_by_locality", local)
        object.__setattr__(self, "neutral", dict.fromkeys([plugin.name for plugin in self.scorers], 0))

    def rejections(self, cluster: Cluster, request: Request) -> tuple[Rejection, ...]:
        """Every filter that says no."""
        is_target = cluster.metadata.name in request.targets
        found = []
        for plugin in self.filters:
            if is_target and plugin.spares_targets:
                continue
            reason = plugin.reject(cluster, request)
            if reason is not None:
                found.append(Rejection(plugin=plugin.name, reason=reason))
        return tuple(found)

    def signature(self, request: Request) -> tuple[Hashable, ...] | None:
        """What the answers of all filters depend on; None if one cannot say."""
        found = tuple([plugin.aspect(request) for plugin in self.filters])
        return None if None in found else found

    def scores(self, cluster: Cluster, request: Request) -> dict[str, int]:
        """The score of every plugin, held within 0 and 100."""
        return {plugin.name: min(100, max(0, plugin.score(cluster, request))) for plugin in self.scorers}


def framework_of(plugins: Iterable[Filter | Score]) -> Framework:
    """The framework of some plugins, in order."""
    known = tuple(plugins)
    return Framework(
        tuple(plugin for plugin in known if isinstance(plugin, Filter)),
        tuple(plugin for plugin in known if isinstance(plugin, Score)),
    )


DEFAULT = framework_of(BUILT_IN)
