"""Where the other bindings of workload groups go, as last decided: a result counts before its write is seen again."""

from collections.abc import Iterable

from karmada.scheduler.core.request import Binding
from karmada.scheduler.core.snapshot import PeerGroup
from karmada.scheduler.keys import BindingKey

_Group = tuple[str, str, str]


class PeerIndex:
    """Bindings by namespace and group; see `core.snapshot.Peers`."""

    def __init__(self) -> None:
        self._members: dict[_Group, dict[BindingKey, PeerGroup]] = {}
        self._groups_of: dict[BindingKey, tuple[_Group, ...]] = {}
        self._decided: dict[BindingKey, tuple[int, frozenset[str]]] = {}
        """Results that the cache may not show yet, with the generation they lead to."""

    def put(self, key: BindingKey, binding: Binding) -> None:
        """Note a binding in its present state."""
        decided = self._decided.get(key)
        clusters = frozenset(target.name for target in binding.spec.clusters)
        if decided is not None and binding.metadata.generation < decided[0]:
            clusters = decided[1]
        else:
            self._decided.pop(key, None)
        self._note(key, binding, clusters)

    def decided(self, key: BindingKey, binding: Binding, generation: int) -> None:
        """Note a result at once; `generation` is that of the binding once the write is seen."""
        clusters = frozenset(target.name for target in binding.spec.clusters)
        self._decided[key] = (generation, clusters)
        self._note(key, binding, clusters)

    def discard(self, key: BindingKey) -> None:
        """Forget a binding."""
        self._decided.pop(key, None)
        self._remove(key)

    def attracted(self, namespace: str, group: str) -> Iterable[PeerGroup]:
        """Bindings of an affinity group."""
        return self._members.get(("near", namespace, group), {}).values()

    def repelled(self, namespace: str, group: str) -> Iterable[PeerGroup]:
        """Bindings of an anti-affinity group."""
        return self._members.get(("away", namespace, group), {}).values()

    def _note(self, key: BindingKey, binding: Binding, clusters: frozenset[str]) -> None:
        self._remove(key)
        wishes = binding.spec.workload_affinity_groups
        if wishes is None:
            return
        named = (("near", wishes.affinity_group), ("away", wishes.anti_affinity_group))
        groups = tuple((kind, key.namespace, group) for kind, group in named if group)
        self._groups_of[key] = groups
        for group in groups:
            self._members.setdefault(group, {})[key] = PeerGroup(key.namespace, key.name, clusters)

    def _remove(self, key: BindingKey) -> None:
        for group in self._groups_of.pop(key, ()):
            members = self._members[group]
            del members[key]
            if not members:
                del self._members[group]


def place(binding: Binding) -> tuple[object, ...] | None:
    """What of a binding others of its groups look at; None where it goes nowhere or has no group."""
    groups, clusters = binding.spec.workload_affinity_groups, binding.spec.clusters
    return (clusters, groups) if groups is not None and clusters else None
