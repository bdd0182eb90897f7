"""The objects of one resource: by key, in key order, and who watches them."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable

from karmada.apiserver.store.keys import Kind, key_of, prefix_of
from karmada.apiserver.store.model import Item, Match, Page, StoreEvent
from karmada.apiserver.store.watcher import Watcher

_AFTER_SLASH = "0"


class Collection:
    """Current objects and watchers of one resource."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.prefix = prefix_of(kind)
        self.items: dict[str, Item] = {}
        self.keys: list[str] = []
        """The keys of `items`, sorted."""
        self.watchers: dict[tuple[str, str], list[Watcher]] = {}
        """By (namespace, name); an empty string stands for all."""

    def set(self, key: str, item: Item) -> None:
        """Add or replace an object."""
        if key not in self.items:
            insort(self.keys, key)
        self.items[key] = item

    def remove(self, key: str) -> None:
        """Drop an object."""
        del self.items[key]
        del self.keys[bisect_left(self.keys, key)]

    def tell(self, event: StoreEvent) -> None:
        """Hand an event to those who watch its place."""
        if not self.watchers:
            return
        namespace, name = event.item.namespace, event.item.name
        places = [("", ""), ("", name)]
        if namespace:
            places += [(namespace, ""), (namespace, name)]
        for place in places:
            for watcher in tuple(self.watchers.get(place, ())):
                watcher.offer(event)

    def page(self, namespace: str, match: Match | None, limit: int, after: str, revision: int) -> Page:
        """A page of the current objects."""
        return page_of(self.items, self.keys, self._bounds(namespace, after), match, limit, revision)

    def page_at(
        self, undo: Iterable[StoreEvent], namespace: str, match: Match | None, limit: int, after: str, revision: int
    ) -> Page:
        """A page of the objects as they were at an older revision; `undo` are the events since, newest first."""
        items = self.items.copy()
        for event in undo:
            key = key_of(self.kind, event.item.namespace, event.item.name)
            if event.previous is None:
                items.pop(key, None)
            else:
                items[key] = event.previous
        older = Collection(self.kind)
        older.items, older.keys = items, sorted(items)
        return older.page(namespace, match, limit, after, revision)

    def _bounds(self, namespace: str, after: str) -> tuple[int, int]:
        low, high = 0, len(self.keys)
        if namespace:
            low = bisect_left(self.keys, f"{self.prefix}{namespace}/")
            high = bisect_left(self.keys, f"{self.prefix}{namespace}{_AFTER_SLASH}", low)
        if after:
            low = bisect_right(self.keys, self.prefix + after, low, high)
        return low, high


def page_of(
    items: dict[str, Item], keys: list[str], bounds: tuple[int, int], match: Match | None, limit: int, revision: int
) -> Page:
    """Cut a page out of sorted keys."""
    low, high = bounds
    if match is None:
        end = min(low + limit, high) if limit else high
        found = [items[key] for key in keys[low:end]]
        last = found[-1] if end < high else None
        return Page(found, revision, f"{last.namespace}/{last.name}" if last else "", high - end)
    found = []
    for position in range(low, high):
        item = items[keys[position]]
        if not match(item):
            continue
        if limit and len(found) == limit:
            return Page(found, revision, f"{found[-1].namespace}/{found[-1].name}", 0)
        found.append(item)
    return Page(found, revision, "", 0)
