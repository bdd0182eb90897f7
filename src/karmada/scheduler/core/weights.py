"""Fixed weights of clusters, kept between requests with the same rules."""

from collections.abc import Mapping

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.policy.v1alpha1 import Placement, StaticClusterWeight
from karmada.policies.cluster_affinity import cluster_matches
from karmada.scheduler.core.candidates import Candidates
from karmada.scheduler.core.snapshot import Memo, Snapshot

Rules = tuple[StaticClusterWeight, ...]


class Weights:
    """The weight of every cluster that a rule means: the largest of all rules that do."""

    def __init__(self, snapshot: Snapshot, rules: Rules) -> None:
        self._rules = rules
        self._version = snapshot.version
        self.of = self._weigh(snapshot.clusters)

    def refresh(self, snapshot: Snapshot) -> None:
        """Bring it up to date with the snapshot."""
        changed = snapshot.changes_since(self._version)
        if changed is None:
            self.of = self._weigh(snapshot.clusters)
        elif changed:
            fresh = {name: snapshot.clusters[name] for name in changed if name in snapshot.clusters}
            kept = {name: weight for name, weight in self.of.items() if name not in changed}
            self.of = kept | self._weigh(fresh)
        self._version = snapshot.version

    def _weigh(self, clusters: Mapping[str, Cluster]) -> dict[str, int]:
        found = {}
        for name, cluster in clusters.items():
            meant = [rule.weight for rule in self._rules if cluster_matches(rule.target_cluster, cluster)]
            if meant:
                found[name] = max(meant)
        return found


def rules_of(placement: Placement) -> Rules:
    """The rules of a placement."""
    scheduling = placement.replica_scheduling
    preference = scheduling.weight_preference if scheduling is not None else None
    return preference.static_weight_list if preference is not None else ()


def static_weights(snapshot: Snapshot, rules: Rules, candidates: Candidates) -> dict[str, int]:
    """The weight of each candidate that takes part.

    A weight of 0 marks a standby: standbys take part only when no cluster with a greater weight is left. When no rule
    means any candidate all weigh the same.
    """
    known = weights(snapshot, rules).of if rules else {}
    meant = {name: weight for name, weight in known.items() if candidates.holds(name)}
    active = {name: weight for name, weight in meant.items() if weight > 0}
    return active or dict.fromkeys(meant or candidates.names(), 1)


_WEIGHTS = Memo[Weights]()


def weights(snapshot: Snapshot, rules: Rules) -> Weights:
    """The weights by some rules, up to date."""
    found = snapshot.kept(_WEIGHTS, msgspec.json.encode(rules), lambda: Weights(snapshot, rules))
    found.refresh(snapshot)
    return found
