"""Which bindings a change of a cluster concerns, without looking at each of them.

Bindings are kept by the affinity that chose their clusters: thousands of bindings have a handful of affinities, and
each is matched with the cluster once. They are also kept by the clusters they go to.
"""

from collections.abc import Iterable, Iterator, Set
from sys import intern

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.policy.v1alpha1 import ClusterAffinity
from karmada.policies.cluster_affinity import cluster_matches
from karmada.scheduler.core.request import Binding
from karmada.scheduler.core.trigger import affinity_in_use
from karmada.scheduler.keys import BindingKey

_ALWAYS = b""
"""The bindings that every change concerns: no affinity, or a list of terms not settled yet."""


class AffinityIndex:
    """Keys of bindings by affinity."""

    def __init__(self) -> None:
        self._groups: dict[bytes, tuple[ClusterAffinity | None, dict[BindingKey, None]]] = {}
        self._group_of: dict[BindingKey, bytes] = {}
        self._targets = _Targets()

    def put(self, key: BindingKey, binding: Binding) -> None:
        """Note a binding in its present state."""
        affinity = _affinity(binding)
        group = _ALWAYS if affinity is None else msgspec.json.encode(affinity)
        if self._group_of.get(key) != group:
            self._leave_group(key)
            self._group_of[key] = group
            self._groups.setdefault(group, (affinity, {}))[1][key] = None
        self.placed(key, binding)

    def placed(self, key: BindingKey, binding: Binding) -> None:
        """Note the clusters that a binding goes to, unless it was forgotten."""
        if key in self._group_of:
            self._targets.put(key, (target.name for target in binding.spec.clusters))

    def discard(self, key: BindingKey) -> None:
        """Forget a binding."""
        self._targets.put(key, ())
        self._leave_group(key)

    def going_to(self, cluster: str) -> Set[BindingKey]:
        """The bindings that go to a cluster."""
        return self._targets.of(cluster)

    def _leave_group(self, key: BindingKey) -> None:
        group = self._group_of.pop(key, None)
        if group is not None:
            members = self._groups[group][1]
            del members[key]
            if not members:
                del self._groups[group]

    def concerned(self, clusters: tuple[Cluster, ...]) -> Iterator[BindingKey]:
        """The bindings whose affinity means the cluster in any of its states."""
        for affinity, members in list(self._groups.values()):
            if affinity is None or any(cluster_matches(affinity, cluster) for cluster in clusters):
                yield from list(members)


class _Targets:
    """Keys of bindings by cluster."""

    def __init__(self) -> None:
        self._keys: dict[str, set[BindingKey]] = {}
        self._clusters: dict[BindingKey, tuple[str, ...]] = {}

    def put(self, key: BindingKey, clusters: Iterable[str]) -> None:
        """Note where a binding goes now."""
        now = tuple(map(intern, clusters))
        before = self._clusters.get(key, ())
        if now == before:
            return
        for name in before:
            keys = self._keys[name]
            keys.discard(key)
            if not keys:
                del self._keys[name]
        for name in now:
            self._keys.setdefault(name, set()).add(key)
        if now:
            self._clusters[key] = now
        else:
            del self._clusters[key]

    def of(self, cluster: str) -> Set[BindingKey]:
        """The bindings that go to a cluster."""
        return self._keys.get(cluster, frozenset())


def _affinity(binding: Binding) -> ClusterAffinity | None:
    placement = binding.spec.placement
    if placement is None:
        return None
    if placement.cluster_affinities and binding.status.scheduler_observed_generation != binding.metadata.generation:
        return None
    return affinity_in_use(binding, placement)
