"""Bounded concurrency that no single user can exhaust.

A request takes a seat while it runs. When all are taken it waits in its user's queue; free seats go round robin over
the users that wait, so one with a thousand requests delays another with one by a single request. A full queue, or
waiting longer than `patience`, is a 429 with Retry-After; when there is no room for more requests of anybody, the user
with most of them pays for it. Members of `system:masters` never wait: the owner must be able to act on an overloaded
server.
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


class _Line:
    """What waits of one user: true for a future that got its seat, false for one that is refused."""

    __slots__ = ("begun", "fresh")

    def __init__(self) -> None:
        self.begun: deque[asyncio.Future[bool]] = deque()
        """Must not be refused, and goes first: what is half done holds more than what has not begun."""
        self.fresh: deque[asyncio.Future[bool]] = deque()

    def __bool__(self) -> bool:
        return bool(self.begun or self.fresh)


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
        self._waiting: dict[str, _Line] = {}
        """Users with waiting requests, the next in turn first; no line is empty."""
        self._count = 0

    @property
    def waiting(self) -> int:
        """How many requests wait that may be refused."""
        return self._count

    @property
    def free(self) -> int:
        """How many seats are free."""
        return self._free

    async def take(self, user: str, refusable: bool = True) -> None:
        """Take a seat, waiting in turn; raises `Overloaded` unless it must not be refused."""
        if self.take_if_free():
            return
        if refusable:
            self._make_room(user)
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        line = self._waiting.get(user)
        if line is None:
            line = self._waiting[user] = _Line()
        if refusable:
            line.fresh.append(future)
            self._count += 1
        else:
            line.begun.append(future)
        try:
            async with asyncio.timeout(self._patience if refusable else None):
                taken = await future
        except (TimeoutError, asyncio.CancelledError) as error:
            if future.cancelled():
                self._forget(user, future)
            elif future.result():
                self.give_back()
            if isinstance(error, TimeoutError):
                raise Overloaded() from None
            raise
        if not taken:
            raise Overloaded()

    def take_if_free(self) -> bool:
        """Take a seat if one is free."""
        if self._free == 0:
            return False
        self._free -= 1
        return True

    def give_back(self) -> None:
        """Free a seat, or hand it to the user whose turn it is."""
        while self._waiting:
            user, line = next(iter(self._waiting.items()))
            if line.begun:
                future = line.begun.popleft()
            else:
                future = line.fresh.popleft()
                self._count -= 1
            del self._waiting[user]
            if line:
                self._waiting[user] = line
            if not future.done():
                future.set_result(True)
                return
        self._free += 1

    def _make_room(self, user: str) -> None:
        """Refuse a request that comes, or the newest of the user with most of them if that is another."""
        line = self._waiting.get(user)
        own = len(line.fresh) if line is not None else 0
        if own >= self._per_user:
            raise Overloaded()
        if self._count < self._total:
            return
        # Of equals the one whose turn is last.
        most, longest = max(reversed(self._waiting.items()), key=lambda item: len(item[1].fresh))
        if own >= len(longest.fresh):
            raise Overloaded()
        future = longest.fresh[-1]
        self._forget(most, future)
        if not future.done():
            future.set_result(False)

    def _forget(self, user: str, future: asyncio.Future[bool]) -> None:
        line = self._waiting.get(user)
        if line is None:
            return
        if future in line.fresh:
            line.fresh.remove(future)
            self._count -= 1
        elif future in line.begun:
            line.begun.remove(future)
        if not line:
            del self._waiting[user]


class Seat:
    """The seat of one request, which may leave it and come back."""

    def __init__(self, queue: FairQueue, user: str) -> None:
        self._queue = queue
        self._user = user
        self.taken = False

    async def take(self, refusable: bool = True) -> None:
        """Wait for it; raises `Overloaded` unless it must not be refused."""
        await self._queue.take(self._user, refusable)
        self.taken = True

    def take_if_free(self) -> bool:
        """Take it if nobody has to be waited for."""
        self.taken = self._queue.take_if_free()
        return self.taken

    def give_back(self) -> None:
        """Leave it, if it is taken."""
        if self.taken:
            self.taken = False
            self._queue.give_back()
