"""Watches objects of members: hands every change in them to one function, once per connection.

Any informer of a member can be followed, of objects we manage and of others, whole kinds and parts of them.
Another informer than before belongs to another connection: the member has a new address or credential.
"""

from collections.abc import Callable

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject

Handle = Callable[[str, GroupVersionResource, list[Change[JSONObject]]], None]
"""Takes a cluster's name, a kind and changes of its objects there."""
Loaded = Callable[[str, GroupVersionResource, Informer[JSONObject]], None]
"""Takes a cluster's name, a kind and the informer that has loaded its objects there, for the first time or again."""


class MemberWatches:
    """Watches objects of members and hands every change to one function; forgets a cluster that is gone."""

    def __init__(self, clusters: Informer[Cluster], handle: Handle, loaded: Loaded | None = None) -> None:
        self._handle = handle
        self._loaded = loaded
        self._followed: dict[str, dict[tuple[GroupVersionResource, Scope], Informer[JSONObject]]] = {}
        clusters.add_handler(self._clusters_changed)

    def follow(
        self, cluster: str, type_: GroupVersionResource, informer: Informer[JSONObject], *, replay: bool = True
    ) -> bool:
        """Have the changes of a kind in a cluster handed on, the first load too unless that is known; whether they were
        not so far."""
        followed = self._followed.setdefault(cluster, {})
        part = (type_, informer.scope)
        if followed.get(part) is informer:
            return False
        followed[part] = informer
        informer.add_handler(lambda changes: self._handle(cluster, type_, changes), replay=replay)
        if (loaded := self._loaded) is not None:
            informer.add_load_handler(lambda: loaded(cluster, type_, informer))
        return True

    def of(self, cluster: str, type_: GroupVersionResource, scope: Scope) -> Informer[JSONObject] | None:
        """The informer of a kind in a cluster, or of the part in `scope`, if it is followed."""
        return self._followed.get(cluster, {}).get((type_, scope))

    def _clusters_changed(self, changes: list[Change[Cluster]]) -> None:
        for change in changes:
            if change.new is None:
                self._followed.pop(change.key.name, None)
