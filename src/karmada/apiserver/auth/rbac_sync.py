"""Keeps the RBAC authoriser in step with the store: a change of a role decides the very next request."""

import orjson

from karmada.apiserver.auth.rbac import GROUP, KINDS, RbacAuthorizer
from karmada.apiserver.watchcache import Item, Kind, StoreEvent, WatchCache
from karmada.machinery.transport import EventType


class RbacFollower:
    """Loads all roles and bindings, then listens to the store."""

    def __init__(self, store: WatchCache, authorizer: RbacAuthorizer) -> None:
        self._store = store
        self._authorizer = authorizer

    def start(self) -> None:
        """Load, so that decisions are right when this returns, and begin to follow."""
        self._store.subscribe(self._changed, *((GROUP, resource) for resource in KINDS))
        for resource in KINDS:
            for item in self._store.list((GROUP, resource)).items:
                self._apply(resource, item, deleted=False)

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        _, resource = kind
        self._apply(resource, event.item, event.type is EventType.DELETED)

    def _apply(self, resource: str, item: Item, deleted: bool) -> None:
        if deleted:
            self._authorizer.remove(resource, item.namespace, item.name)
        else:
            self._authorizer.put(resource, orjson.loads(item.body))
