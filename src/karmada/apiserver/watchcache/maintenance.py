"""What a store does by the clock: send bookmarks to watchers, and let the storage compact old history."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from karmada.apiserver.storage.base import Storage, StorageFailed

_LOG = logging.getLogger(__name__)


class Maintenance:
    """A task that wakes every `period`; history is kept for `keep` periods and at most `limit` changes."""

    def __init__(
        self, storage: Storage, revision: Callable[[], int], bookmark: Callable[[], None], period: float = 60.0
    ) -> None:
        self._storage = storage
        self._revision = revision
        self._bookmark = bookmark
        self._period = period
        self._keep = 5
        self._limit = 200_000
        self._marks: deque[int] = deque()
        """The revisions at the last wake-ups, oldest first."""
        self._compacted = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; the task lives until `stop`."""
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(_report)

    async def stop(self) -> None:
        """End the task."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._period)
            self._bookmark()
            try:
                await self._forget()
            except StorageFailed as error:
                _LOG.warning("history is not compacted now, next attempt in %d s: %s", self._period, error)

    async def _forget(self) -> None:
        revision = self._revision()
        target = revision - self._limit
        self._marks.append(revision)
        if len(self._marks) > self._keep:
            target = max(target, self._marks.popleft())
        if target > self._compacted:
            await self._storage.compact(target)
            self._compacted = target


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _LOG.error("the store's upkeep has died: no bookmarks and no compaction any more", exc_info=task.exception())
