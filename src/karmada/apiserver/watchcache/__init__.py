"""The watch cache in front of a storage: every object as bytes with a small index, readable and watchable."""

from karmada.apiserver.watchcache.cache import WatchCache
from karmada.apiserver.watchcache.contents import Indexer
from karmada.apiserver.watchcache.history import Bounds
from karmada.apiserver.watchcache.keys import Kind, key_of
from karmada.apiserver.watchcache.labelled import Label
from karmada.apiserver.watchcache.model import NO_INDEX, Index, Indexed, Item, Match, Page, Selected, StoreEvent
from karmada.apiserver.watchcache.watcher import TooSlow, Watcher

__all__ = [
    "NO_INDEX",
    "Bounds",
    "Index",
    "Indexed",
    "Indexer",
    "Item",
    "Kind",
    "Label",
    "Match",
    "Page",
    "Selected",
    "StoreEvent",
    "TooSlow",
    "WatchCache",
    "Watcher",
    "key_of",
]
