"""Sends what is cached to one OpenSearch, in bulks, until it has it.

Two loops: one records in the queue what changes, whether or not OpenSearch answers; the other empties the queue. A bulk
that fails is tried again after a growing pause, for ever. What cannot be recorded, because the queue is full, is found
by comparing the whole collection once there is room.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from karmada.apiserver.watchcache import Item, Kind, StoreEvent
from karmada.machinery.backoff import Backoff, BackoffPolicy
from karmada.machinery.clock import Clock
from karmada.machinery.os_errors import spelled
from karmada.machinery.throttle import ThrottledLog
from karmada.machinery.transport import EventType
from karmada.search.mirror import Mirror
from karmada.search.opensearch.connection import Connection, Refused, Trouble
from karmada.search.opensearch.documents import INDEX, Action, Verdict, bulk, document, index_of, outcomes
from karmada.search.opensearch.model import CONNECTING, SENT, State
from karmada.search.opensearch.queue import Change, Queue, Waiting
from karmada.search.plan import Namespaces

BULK, BULK_BYTES = 500, 5 << 20
"""Documents and bytes of one request."""
PAUSE = 0.2
"""Seconds between two rounds of recording: what changes often is recorded once."""
ROUND = 2.0
"""Seconds after which collections that have loaded meanwhile, or found no room, are looked at."""
PAUSES = BackoffPolicy(initial=1.0, maximum=60.0, jitter=0.5)
REFUSALS = 100
"""Refused documents that are remembered."""
log = ThrottledLog(logging.getLogger(__name__))


InThread = Callable[..., Awaitable[Any]]


@dataclass(slots=True)
class _Followed:
    """A mirror and what of it is not in the queue yet."""

    mirror: Mirror
    namespaces: Namespaces
    collection: int
    changes: dict[str, Change] = field(default_factory=dict)
    """By uid."""
    whole: bool = True
    """Whether all of it has to be compared with the queue."""
    waiting: bool = True
    """Whether some of it may wait in the queue."""

    def concerns(self, item: Item) -> bool:
        """Whether an object is sent at all."""
        return not self.namespaces or item.namespace in self.namespaces

    def action(self, waiting: Waiting) -> Action:
        """What brings a document up to date."""
        served = self.mirror.served
        item = self.mirror.get(waiting.namespace, waiting.name)
        found = None
        if item is not None and item.index.uid == waiting.uid and self.concerns(item):
            with suppress(ValueError):
                found = document(item.body, served.api_version, served.kind)
        return Action(index_of(served.kind), waiting.uid, found)


class Backend:
    """Follows mirrors for one OpenSearch; `run` does the work."""

    def __init__(
        self,
        connection: Connection,
        queue: Queue,
        in_thread: InThread,
        clock: Clock,
        changed: Callable[[], None],
        pauses: BackoffPolicy = PAUSES,
    ) -> None:
        """`in_thread` runs what is done with the queue, one at a time; `changed` is called when `state` is another."""
        self._connection = connection
        self._queue = queue
        self._in_thread = in_thread
        self._clock = clock
        self._changed = changed
        self._backoff = Backoff(pauses, clock.random())
        self._followed: dict[Mirror, _Followed] = {}
        self._indices: set[str] = set()
        self._refused: dict[str, str] = {}
        """By uid, why a document is not taken."""
        self._full = ""
        self._trouble = CONNECTING
        self._count = BULK
        self._happened = asyncio.Event()
        self._recorded = asyncio.Event()
        self.state = CONNECTING

    def follow(self, mirror: Mirror, namespaces: Namespaces, collection: int) -> None:
        """Send what a mirror holds, and every change of it."""
        followed = self._followed.get(mirror)
        if followed is not None:
            if followed.namespaces != namespaces:
                followed.namespaces, followed.whole = namespaces, True
            return
        followed = self._followed[mirror] = _Followed(mirror, namespaces, collection)

        def changed(kind: Kind, event: StoreEvent) -> None:
            item, gone = event.item, event.type is EventType.DELETED
            if followed.concerns(item):
                uid = item.index.uid
                followed.changes[uid] = Change(uid, item.namespace, item.name, 0 if gone else item.revision)
                self._happened.set()

        mirror.store.subscribe(changed)
        self._happened.set()

    def unfollow(self, mirror: Mirror) -> None:
        """Send nothing of a mirror any more; what OpenSearch has stays there."""
        self._followed.pop(mirror, None)

    @property
    def followed(self) -> dict[Mirror, int]:
        """The mirrors and the numbers of their collections."""
        return {mirror: followed.collection for mirror, followed in self._followed.items()}

    async def run(self) -> None:
        """Record and send until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._record())
                group.create_task(self._send())
        finally:
            await self._connection.close()

    async def _record(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(ROUND):
                    await self._happened.wait()
            self._happened.clear()
            for mirror, followed in list(self._followed.items()):
                if mirror.loaded.is_set() and not mirror.left and (followed.whole or followed.changes):
                    await self._save(followed)
            await self._clock.sleep(PAUSE)

    async def _save(self, followed: _Followed) -> None:
        changes, followed.changes = followed.changes, {}
        whole, followed.whole = followed.whole, False
        mirror, queue = followed.mirror, self._queue
        try:
            if whole:
                items = mirror.store.list(mirror.key).items
                objects = [
                    Change(item.index.uid, item.namespace, item.name, item.revision)
                    for item in items
                    if followed.concerns(item)
                ]
                await self._in_thread(queue.compare, followed.collection, objects)
            else:
                await self._in_thread(queue.record, followed.collection, list(changes.values()))
        except sqlite3.DatabaseError as error:
            followed.whole = True
            self._full = f"changes cannot be recorded and are looked for later: {spelled(error)}"
        except BaseException:
            followed.whole = True
            raise
        else:
            self._full = ""
        followed.waiting = True
        self._recorded.set()
        self._say()

    async def _send(self) -> None:
        await self._try(lambda: self._connection.request("GET", "/"))
        while True:
            self._recorded.clear()
            batch = await self._batch()
            if batch:
                await self._try(partial(self._deliver, batch))
            else:
                await self._recorded.wait()

    async def _try(self, work: Callable[[], Awaitable[object]]) -> None:
        """Do something that may fail, and pause after a failure."""
        try:
            await work()
        except (Trouble, Refused, sqlite3.DatabaseError) as error:
            reason = error.reason if isinstance(error, Trouble) else "OpenSearchUnavailable"
            self._trouble = State(False, reason, spelled(error))
            log.warning(reason, "nothing is sent to OpenSearch: %s", error)
            self._say()
            await self._clock.sleep(self._backoff.next())
        else:
            self._backoff.reset()
            self._trouble = SENT
            self._say()

    async def _batch(self) -> list[tuple[_Followed, Waiting]]:
        found: list[tuple[_Followed, Waiting]] = []
        for mirror, followed in list(self._followed.items()):
            if followed.waiting and mirror.loaded.is_set() and not mirror.left and len(found) < self._count:
                rows = await self._in_thread(self._queue.take, followed.collection, self._count - len(found))
                followed.waiting = bool(rows)
                found += [(followed, row) for row in rows]
        return found

    async def _deliver(self, batch: list[tuple[_Followed, Waiting]]) -> None:
        """Send one bulk request and settle what was done; raises `Trouble` for the rest."""
        actions: list[Action] = []
        size = 0
        for followed, waiting in batch:
            actions.append(followed.action(waiting))
            size += len(actions[-1].document or b"")
            if size > BULK_BYTES:
                break
        for index in {action.where for action in actions} - self._indices:
            await self._create(index)
        try:
            answer = await self._connection.request("POST", "/_bulk", bulk(actions))
        except Refused as error:
            if len(actions) > 1:  # too large, or one of them is not understood: they are sent by fewer
                self._count = max(len(actions) // 2, 1)
                return
            found = [(Verdict.REFUSED, str(error))]
        else:
            found = [(outcome.verdict, outcome.reason) for outcome in outcomes(answer, len(actions))]
            self._count = min(2 * self._count, BULK)
        settled: list[tuple[Waiting, bool]] = []
        for (_, waiting), action, (verdict, reason) in zip(batch, actions, found, strict=False):
            self._refused.pop(action.uid, None)
            if verdict is Verdict.REFUSED and len(self._refused) < REFUSALS:
                self._refused[action.uid] = f"{action.where}/{action.uid}: {reason}"
            if verdict in (Verdict.DONE, Verdict.REFUSED):
                settled.append((waiting, action.document is not None))
        await self._in_thread(self._queue.settle, settled)
        for verdict, reason in found:
            if verdict is Verdict.FORBIDDEN:
                raise Trouble(
                    "WrongCredentials", f"the credentials may not write to the indices kubernetes-*: {reason}"
                )
            if verdict is Verdict.AGAIN:
                self._indices.clear()  # one of them may have been deleted
                raise Trouble("OpenSearchBusy", f"OpenSearch does not take all documents, they wait: {reason}")

    async def _create(self, index: str) -> None:
        try:
            await self._connection.request("PUT", f"/{index}", INDEX)
        except Refused as error:
            if "resource_already_exists_exception" not in str(error):
                raise
        self._indices.add(index)

    def _say(self) -> None:
        troubles = [State(False, "QueueFull", self._full)] if self._full else []
        troubles += [self._trouble] if not self._trouble.well else []
        if self._refused:
            first = next(iter(self._refused.values()))
            troubles.append(
                State(False, "DocumentsRefused", f"{len(self._refused)} are refused until they change: {first}")
            )
        message = "; ".join(trouble.message for trouble in troubles)
        state = troubles[0]._replace(message=message) if troubles else SENT
        if state != self.state:
            self.state = state
            self._changed()
