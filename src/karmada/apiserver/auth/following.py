"""Keeps the RBAC authoriser in step with the store."""

import asyncio
import contextlib

import orjson

from karmada.apiserver.auth.rbac import GROUP, KINDS, RbacAuthorizer
from karmada.apiserver.store import Item, ObjectStore, Watcher
from karmada.machinery.transport import EventType


class RbacFollower:
    """Loads all roles and bindings, then follows their watches; one task per kind, ended by `stop`."""

    def __init__(self, store: ObjectStore, authorizer: RbacAuthorizer) -> None:
        self._store = store
        self._authorizer = authorizer
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Load, so that decisions are right when this returns, and begin to follow."""
        for resource in KINDS:
            watcher = self._store.watch((GROUP, resource), after=self._store.revision)
            for item in self._store.list((GROUP, resource)).items:
                self._apply(resource, item, deleted=False)
            self._tasks.append(asyncio.create_task(self._follow(resource, watcher), name=f"rbac-{resource}"))

    async def stop(self) -> None:
        """End following."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """The tasks, whose death the server must notice: stale rules are a security hole."""
        return self._tasks

    async def _follow(self, resource: str, watcher: Watcher) -> None:
        async for events in watcher:
            for event in events:
                if event.type is not EventType.BOOKMARK:
                    self._apply(resource, event.item, event.type is EventType.DELETED)

    def _apply(self, resource: str, item: Item, deleted: bool) -> None:
        if deleted:
            self._authorizer.remove(resource, item.namespace, item.name)
        else:
            self._authorizer.put(resource, orjson.loads(item.body))
