"""Bounded concurrency that no single user can exhaust.

A request takes a seat while it runs. When all are taken it waits in its user's queue; free seats go round robin over
the users that wait, so one with a thousand requests delays another with one by a single request. A full queue, or
waiting longer than `patience`, is a 429 with Retry-After. Members of `system:masters` never wait: the owner must be
able to act on an overloaded server.
"""

import asyncio
from collections import deque

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.rbac import MASTERS
from karmada.machinery.httpserver.failure import Failure

SEATS = 200
QUEUE_PER_USER = 100
QUEUE_TOTAL = 2000
PATIENCE = 15.0


def never_waits(user: UserInfo) -> bool:
    """Whether a user needs no seat."""
    return MASTERS in user.groups


class Overloaded(Failure):
    """The 429 of an overloaded server."""

    def __init__(self) -> None:
        text, details = "Too many requests, please try again later.", {"retryAfterSeconds": 1}
        super().__init__(429, "TooManyRequests", text, details, {"Retry-After": "1"})


class FairQueue:
    """Seats for concurrent requests, given to waiting users in turn. Whoever took a seat gives it back."""

    def __init__(
        self,
        seats: int = SEATS,
        per_user: int = QUEUE_PER_USER,
        total: int = QUEUE_TOTAL,
        patience: float = PATIENCE,
    ) -> None:
        self._free = seats
        self._per_user = per_user
        self._total = total
        self._patience = patience
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """Users with waiting requests, the next in turn first; no queue is empty."""
        self._count = 0

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self._count

    @property
    def free(self) -> int:
        """How many seats are free."""
        return self._free

    async def take(self, user: str, refusable: bool = True) -> None:
        """Take a seat, waiting in turn; raises `Overloaded` unless it must not be refused."""
        if self._free > 0:
            self._free -= 1
            return
        queue = self._waiting.get(user)
        if refusable and (self._count >= self._total or (queue is not None and len(queue) >= self._per_user)):
            raise Overloaded()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if queue is None:
            queue = self._waiting[user] = deque()
        queue.append(future)
        self._count += 1
        try:
            async with asyncio.timeout(self._patience if refusable else None):
                await future
        except (TimeoutError, asyncio.CancelledError) as error:
            if future.done() and not future.cancelled():
                self.give_back()
            else:
                self._forget(user, future)
            if isinstance(error, TimeoutError):
                raise Overloaded() from None
            raise

    def give_back(self) -> None:
        """Free a seat, or hand it to the user whose turn it is."""
        while self._waiting:
            user, queue = next(iter(self._waiting.items()))
            future = queue.popleft()
            self._count -= 1
            del self._waiting[user]
            if queue:
                self._waiting[user] = queue
            if not future.done():
                future.set_result(None)
                return
        self._free += 1

    def _forget(self, user: str, future: asyncio.Future[None]) -> None:
        queue = self._waiting.get(user)
        if queue is not None and future in queue:
            queue.remove(future)
            self._count -= 1
            if not queue:
                del self._waiting[user]
