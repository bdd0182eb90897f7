"""Whether a namespace has objects of a kind at all: asked on every write, so it must cost nothing."""

from collections import Counter

from karmada.apiserver.watchcache import Kind, StoreEvent, WatchCache
from karmada.machinery.transport import EventType


class Presence:
    """Counts the objects of one kind by namespace."""

    def __init__(self, store: WatchCache, kind: Kind) -> None:
        self._store = store
        self._kind = kind
        self._counts: Counter[str] | None = None
        store.subscribe(self._changed, kind)

    def __contains__(self, namespace: str) -> bool:
        if self._counts is None:
            self._counts = Counter(item.namespace for item in self._store.list(self._kind).items)
        return self._counts.get(namespace, 0) > 0

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if kind != self._kind or self._counts is None:
            return
        if event.type is EventType.ADDED:
            self._counts[event.item.namespace] += 1
        elif event.type is EventType.DELETED:
            self._counts[event.item.namespace] -= 1
