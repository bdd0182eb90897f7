"""Objects that configure admission, decoded once per change: webhook configurations, policies, bindings, quotas."""

from collections.abc import Callable
from typing import Generic, TypeVar

import orjson

from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind, StoreEvent, WatchCache

T = TypeVar("T")


class Configurations(Generic[T]):
    """What the objects of one kind mean, in the order of their names; rebuilt only after a change."""

    def __init__(self, store: WatchCache, kind: Kind, build: Callable[[list[JSONObject]], T]) -> None:
        self._store = store
        self._kind = kind
        self._build = build
        self._value: T | None = None
        store.subscribe(self._changed, kind)

    def get(self) -> T:
        """The current meaning."""
        if self._value is None:
            items = self._store.list(self._kind).items
            self._value = self._build([orjson.loads(item.body) for item in items])
        return self._value

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if kind == self._kind:
            self._value = None
