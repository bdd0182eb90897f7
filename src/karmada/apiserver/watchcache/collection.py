"""The objects of one resource: by key, in key order, and who watches them."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from karmada.apiserver.watchcache.keys import Kind, key_of, prefix_of
from karmada.apiserver.watchcache.labelled import Label, Labelled
from karmada.apiserver.watchcache.model import Item, Match, Page, StoreEvent
from karmada.apiserver.watchcache.watcher import Watcher

_AFTER_SLASH = "0"
_MANY = 200
"""Among fewer objects those with a label are found by looking at each."""
_NONE: Mapping[str, str] = {}


class Collection:
    """Current objects and watchers of one resource."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.prefix = prefix_of(kind)
        self.items: dict[str, Item] = {}
        self.keys: list[str] = []
        """The keys of `items`, sorted."""
        self.labelled = Labelled()
        self.watchers: dict[tuple[str, str], dict[Watcher, None]] = {}
        """By (namespace, name); an empty string stands for all."""

    def set(self, key: str, item: Item) -> None:
        """Add or replace an object."""
        old = self.items.get(key)
        if old is None:
            insort(self.keys, key)
        self.items[key] = item
        if self.labelled.is_kept:
            self.labelled.changed(key, old.index.labels if old is not None else _NONE, item.index.labels)

    def remove(self, key: str) -> None:
        """Drop an object."""
        old = self.items.pop(key)
        if self.labelled.is_kept:
            self.labelled.changed(key, old.index.labels, _NONE)
        del self.keys[bisect_left(self.keys, key)]

    def dispatch(self, event: StoreEvent) -> None:
        """Hand an event to those who watch its place."""
        if not self.watchers:
            return
        namespace, name = event.item.namespace, event.item.name
        everywhere = (("", ""), ("", name))
        for place in (*everywhere, (namespace, ""), (namespace, name)) if namespace else everywhere:
            if watchers := self.watchers.get(place):
                for watcher in tuple(watchers):
                    watcher.offer(event)

    def attach(self, place: tuple[str, str], watcher: Watcher) -> None:
        """Register a watcher of a place."""
        self.watchers.setdefault(place, {})[watcher] = None

    def detach(self, place: tuple[str, str], watcher: Watcher) -> None:
        """Stop delivering events to it."""
        watchers = self.watchers.get(place, {})
        watchers.pop(watcher, None)
        if not watchers:
            self.watchers.pop(place, None)

    def watching(self) -> Iterator[Watcher]:
        """All watchers."""
        for watchers in self.watchers.values():
            yield from watchers

    def before(self, undo: Iterable[StoreEvent]) -> "Collection":
        """The objects as they were before some events, given newest first."""
        items = self.items.copy()
        for event in undo:
            key = key_of(self.kind, event.item.namespace, event.item.name)
            if event.previous is None:
                items.pop(key, None)
            else:
                items[key] = event.previous
        older = Collection(self.kind)
        older.items, older.keys = items, sorted(items)
        return older

    def page(
        self,
        namespace: str,
        match: Match | None,
        limit: int,
        after: str,
        revision: int,
        label: Label | None = None,
    ) -> Page:
        """A page of the objects, which are those of a revision; `after` is the position of the previous page's end.

        `label` is one that all matching objects have.
        """
        low, high = self._range(namespace, after)
        found: list[Item] = []
        if match is None:
            end = min(low + limit, high) if limit else high
            found = [self.items[key] for key in self.keys[low:end]]
            return Page(found, revision, _position(found[-1]) if end < high else "", high - end)
        for key in self._candidates(low, high, label):
            item = self.items[key]
            if not match(item):
                continue
            found.append(item)
            if len(found) == limit:
                # Whether what follows matches is seen on the next page, which may be empty.
                return Page(found, revision, _position(item) if key != self.keys[high - 1] else "", 0)
        return Page(found, revision, "", 0)

    def _candidates(self, low: int, high: int, label: Label | None) -> Iterable[str]:
        """The keys in a range whose objects may have a label, in order."""
        if label is None or high - low < _MANY:
            return islice(self.keys, low, high)
        first, last = self.keys[low], self.keys[high - 1]
        found = self.labelled.keys(label, ((key, item.index.labels) for key, item in self.items.items()))
        return sorted(key for key in found if first <= key <= last)

    def _range(self, namespace: str, after: str) -> tuple[int, int]:
        low, high = 0, len(self.keys)
        if namespace:
            low = bisect_left(self.keys, f"{self.prefix}{namespace}/")
            high = bisect_left(self.keys, f"{self.prefix}{namespace}{_AFTER_SLASH}", low)
        if after:
            low = bisect_right(self.keys, self.prefix + after, low, high)
        return low, high


def _position(item: Item) -> str:
    return f"{item.namespace}/{item.name}"
