"""The watch cache in front of a storage: every object as bytes with a small index, readable and watchable."""

from karmada.apiserver.store.contents import Indexer
from karmada.apiserver.store.history import Bounds
from karmada.apiserver.store.keys import Kind
from karmada.apiserver.store.model import Index, Item, Match, Page, StoreEvent
from karmada.apiserver.store.store import ObjectStore
from karmada.apiserver.store.watcher import TooSlow, Watcher

__all__ = [
    "Bounds",
    "Index",
    "Indexer",
    "Item",
    "Kind",
    "Match",
    "ObjectStore",
    "Page",
    "StoreEvent",
    "TooSlow",
    "Watcher",
]
