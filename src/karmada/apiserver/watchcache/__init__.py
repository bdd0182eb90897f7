"""The watch cache in front of a storage: every object as bytes with a small index, readable and watchable."""

from karmada.apiserver.watchcache.cache import WatchCache
from karmada.apiserver.watchcache.contents import Indexer
from karmada.apiserver.watchcache.history import Bounds
from karmada.apiserver.watchcache.keys import Kind
from karmada.apiserver.watchcache.model import Index, Item, Match, Page, Selected, StoreEvent
from karmada.apiserver.watchcache.watcher import TooSlow, Watcher

__all__ = [
    "Bounds",
    "Index",
    "Indexer",
    "Item",
    "Kind",
    "Match",
    "Page",
    "Selected",
    "StoreEvent",
    "TooSlow",
    "WatchCache",
    "Watcher",
]
