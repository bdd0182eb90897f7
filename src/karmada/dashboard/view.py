"""A board as one credential sees it.

Boards are shared by credentials whose rights are the same: each says for itself, by reviews of its own, that it may
list and watch every kind that the board follows, so each could have read the very same. Rights may be taken away while
a stream is open: they are asked for again every few seconds, and whoever has lost one loses the board and its streams.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from karmada.dashboard.answers import Refusal
from karmada.dashboard.board import Board
from karmada.dashboard.feed import Subscription
from karmada.dashboard.kinds import TEMPLATES, kinds_of
from karmada.dashboard.relay import Carrier
from karmada.dashboard.rights import refusals
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.errors import ApiError, Forbidden, Timeout
from karmada.machinery.transport import GroupVersionResource

RECHECK = 10.0
"""Seconds for which rights are believed."""
LOADING = 10.0
Rights = tuple[str, frozenset[GroupVersionResource]]


class Boards:
    """All boards, by namespace and the kinds that their readers may follow."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._boards: dict[Rights, Board] = {}

    def __len__(self) -> int:
        return len(self._boards)

    def join(self, rights: Rights, hub: Client) -> tuple[Board, Carrier]:
        """The board of some rights; a credential that has them takes part in reading it from now on."""
        board = self._boards.get(rights)
        if board is not None:
            return board, board.relay.join(hub.transport)
        board = self._boards[rights] = Board(self._clock, rights[1], rights[0])
        carrier = board.relay.join(hub.transport)
        board.start()
        return board, carrier

    async def leave(self, rights: Rights, carrier: Carrier) -> None:
        """A credential takes part no more; a board without any ends."""
        board = self._boards.get(rights)
        if board is None:
            return
        board.relay.leave(carrier)
        if not board.relay:
            del self._boards[rights]
            await board.stop()


class View:
    """The board of one credential, in all namespaces or in one; `start` before use."""

    def __init__(self, hub: Client, boards: Boards, clock: Clock, check: Callable[[], Any], namespace: str) -> None:
        """`check` is awaited now and then; it raises when the credential counts no more."""
        self._hub = hub
        self._boards = boards
        self._clock = clock
        self._check = check
        self._namespace = namespace
        self._readers: set[Subscription] = set()
        self._rights: Rights = (namespace, frozenset())
        self._carrier: Carrier | None = None
        self._checking: asyncio.Task[None] | None = None
        self.board: Board
        self.refused: dict[GroupVersionResource, str] = {}
        """What may not be read, and how that was said."""
        self.closed = False

    async def start(self) -> None:
        """Ask for rights, and take part in the board of those."""
        kinds = kinds_of(self._namespace)
        self.refused = await refusals(self._hub, kinds, self._namespace)
        self._rights = (self._namespace, frozenset(kind for kind in kinds if kind not in self.refused))
        self.board, self._carrier = self._boards.join(self._rights, self._hub)
        self._checking = asyncio.get_running_loop().create_task(self._recheck(), name="rights of a dashboard's user")

    async def stop(self) -> None:
        """End, and all streams with it."""
        if self._checking is not None:
            self._checking.cancel()
            with suppress(asyncio.CancelledError):
                await self._checking
        await self._end()

    def __len__(self) -> int:
        """How many streams are open."""
        return len(self._readers)

    def subscribe(self, topics: frozenset[str]) -> Subscription:
        """Begin to hear of changes."""
        made = self.board.subscribe(topics)
        self._readers.add(made)
        return made

    def unsubscribe(self, subscription: Subscription) -> None:
        """Hear no more."""
        self._readers.discard(subscription)
        self.board.feed.unsubscribe(subscription)

    async def ready(self, *kinds: GroupVersionResource) -> None:
        """Wait until kinds are loaded; raises what keeps them from it."""
        for kind in kinds:
            if kind in self.refused:
                raise Forbidden(self.refused[kind])
        for kind in (*kinds, *TEMPLATES):
            informer = self.board.informers.get(kind)
            if informer is None or await informer.is_loaded(LOADING) or kind in TEMPLATES:
                continue
            failure = informer.reflector.failure
            raise failure if isinstance(failure, ApiError) else Timeout(f"{kind.resource} could not be read in time")

    async def _recheck(self) -> None:
        """End when the credential, or the right to something that is shown, is gone."""
        while True:
            await self._clock.sleep(RECHECK)
            try:
                await self._check()
                lost = await refusals(self._hub, self._rights[1], self._namespace, ("watch",))
            except (ApiError, Refusal) as error:
                if isinstance(error, ApiError) and error.transient:
                    continue
                break
            if lost:
                break
        await self._end()

    async def _end(self) -> None:
        self.closed = True
        for reader in self._readers:
            reader.put(None)
        if self._carrier is not None:
            carrier, self._carrier = self._carrier, None
            await self._boards.leave(self._rights, carrier)
