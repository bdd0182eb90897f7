"""What ResourceBinding and ClusterResourceBinding have in common for controllers that treat them alike."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from karmada.api import annotations, labels, names
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.controllers.context import Context
from karmada.controllers.current import is_current
from karmada.machinery.committer import Absent, Committer, Unchanged, Written
from karmada.machinery.informers.cache import Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.works.owner import recorded

Binding = ResourceBinding | ClusterResourceBinding
OF_BINDING, BY_CLUSTER = "of-binding", "by-cluster"


class BindingKey(NamedTuple):
    """Names a binding; the namespace is empty for a ClusterResourceBinding."""

    namespace: str
    name: str

    def __str__(self) -> str:
        if self.namespace:
            return f"ResourceBinding({self.namespace}/{self.name})"
        return f"ClusterResourceBinding({self.name})"


def id_label(binding: Binding) -> str:
    """The label that carries the binding's identity."""
    if isinstance(binding, ResourceBinding):
        return labels.RESOURCE_BINDING_PERMANENT_ID
    return labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID


def permanent_id(binding: Binding) -> str:
    """The identity repeated on everything made from the binding."""
    return binding.metadata.labels.get(id_label(binding), "")


def of_binding(item: Item[Work]) -> Iterable[str]:
    """Index function of Works: the permanent ids they carry. What is in no execution space is nobody's Work."""
    if not item.key.namespace.startswith(names.EXECUTION_SPACE_PREFIX):
        return ()
    marks = item.value.metadata.labels
    ids = (
        marks.get(labels.RESOURCE_BINDING_PERMANENT_ID),
        marks.get(labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID),
    )
    return [value for value in ids if value]


def clusters_of(item: Item[Any]) -> Iterable[str]:
    """Index function of bindings: the clusters they are scheduled to."""
    return [target.name for target in item.value.spec.clusters]


def owners_of(work: Work) -> list[BindingKey]:
    """The bindings a Work says it was made for."""
    return [BindingKey(binding.namespace, binding.name) for binding in recorded(work.metadata)]


def belongs(work: Work, binding: "Binding") -> bool:
    """Whether a Work was made for a binding and for no other. Its label says nothing of that: the id of a binding is a
    label as well, which whoever may write the binding can set."""
    in_space = work.metadata.namespace.startswith(names.EXECUTION_SPACE_PREFIX)
    return in_space and owners_of(work) == [key_of(binding)]


def tenant_of(works: Informer[Work], key: Key) -> str:
    """The namespace from which a Work comes; empty for what is cluster-scoped or nobody's."""
    item = works.item(key) if works.has_synced else None
    if item is None:
        return ""
    try:
        return item.value.metadata.annotations.get(annotations.RESOURCE_BINDING_NAMESPACE, "")
    except ValueError:
        return ""  # a Work that cannot be read is refused by whoever looks at it


class Bindings:
    """Both kinds of bindings: cached reads and guarded writes."""

    def __init__(self, context: Context) -> None:
        self.namespaced: Informer[ResourceBinding] = context.informers.of(ResourceBinding)
        self.wide: Informer[ClusterResourceBinding] = context.informers.of(ClusterResourceBinding)
        self._client = context.client
        self._commit = Committer(context.client.of(ResourceBinding))
        self._commit_wide = Committer(context.client.of(ClusterResourceBinding))

    @property
    def informers(self) -> tuple[Informer[Any], ...]:
        """What must be synced before anything is read."""
        return (self.namespaced, self.wide)

    def get(self, key: BindingKey) -> Binding | None:
        """A binding from the cache."""
        return self.namespaced.get(key.name, key.namespace) if key.namespace else self.wide.get(key.name)

    def loaded(self, index: str, value: str) -> list[Item[Any]]:
        """Bindings of an index, for triggers: those that are not loaded yet come by themselves."""
        known = (informer for informer in self.informers if informer.has_synced)
        return [item for informer in known for item in informer.indexed_items(index, value)]

    async def is_current(self, binding: Binding) -> bool:
        """Whether a binding's spec is the newest by the server's word: what an older one names no more, or not yet, may
        be what runs."""
        if isinstance(binding, ResourceBinding):
            return await is_current(self._client.of(ResourceBinding), binding)
        return await is_current(self._client.of(ClusterResourceBinding), binding)

    async def commit(self, binding: Binding, decide: Callable[[Any], Any]) -> Unchanged[Any] | Written[Any] | Absent:
        """Make a binding what `decide` says."""
        if isinstance(binding, ResourceBinding):
            return await self._commit.commit(binding, decide)
        return await self._commit_wide.commit(binding, decide)


def key_of(binding: Binding) -> BindingKey:
    """The key of a binding."""
    return BindingKey(binding.metadata.namespace, binding.metadata.name)
