"""Work on large requests, away from the event loop.

Reading, changing, checking and writing an object takes time that grows with it: a tenth of a second for a megabyte and
more. The interpreter switches between threads every few milliseconds, so others are served meanwhile. One thread does
what is large, another what is huge, and in both users take turns: whoever sends or reads much, or changes what is
large, waits behind themselves. What the process does on its own account has a turn, too. What callers in the same
process bring has the loop's own time: it is a tree already.

A request is refused before it has done anything, or not at all: its first turn is waited for without a seat, so that
small requests have one, and can be a 429; what follows goes before all that its user has not begun.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TypeVar, TypeVarTuple, Unpack
from weakref import WeakKeyDictionary

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.fairness import FairQueue, Seat, never_waits
from karmada.apiserver.requests.model import Call

LARGE = 32 * 1024
"""Bytes of a body, or of objects that are read, which take longer than a few milliseconds."""
HUGE = 1 << 20
"""Bytes that take longer than a tenth of a second."""
EXPENSIVE = 16
"""What a byte of YAML, or of an expression, counts for."""
_COMPILING = ("apiextensions.k8s.io", "admissionregistration.k8s.io")
"""Groups whose objects hold regular expressions and CEL."""
WAITING_PER_USER = 500
"""As many large documents as a tool applies at once; their bodies are bounded by themselves."""
WAITING = 4 * WAITING_PER_USER
"""For each thread."""
PATIENCE = 60.0
"""As long as a request may take."""
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class _Request:
    """A request that may do large work."""

    __slots__ = ("begun", "seat", "user")

    def __init__(self, user: UserInfo, seat: Seat | None) -> None:
        self.user = user
        self.seat = seat
        self.begun = False
        """Whether it must not be refused any more."""


_request: "ContextVar[_Request | None]" = ContextVar("request", default=None)


class _Thread:
    """One thread that users take in turn."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, name)
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, FairQueue] = WeakKeyDictionary()

    async def run(self, work: Callable[[Unpack[Arguments]], Result], *args: *Arguments) -> Result:
        """The result of work when its user's turn has come."""
        loop = asyncio.get_running_loop()
        turns = self._turns.get(loop)
        if turns is None:
            turns = self._turns[loop] = FairQueue(1, WAITING_PER_USER, WAITING, PATIENCE)
        await _turn(turns, _request.get())
        done = loop.run_in_executor(self._executor, work, *args)
        done.add_done_callback(lambda _: turns.give_back())
        return await asyncio.shield(done)  # Whether or not somebody still waits, the thread is not free before it ends.


async def _turn(turns: FairQueue, request: _Request | None) -> None:
    """Wait for a turn; raises `Overloaded`."""
    if request is None:
        await turns.take("", refusable=False)
        return
    refusable = not (request.begun or never_waits(request.user))
    request.begun = True
    user, seat = request.user.name, request.seat
    if not refusable or turns.free or seat is None or not seat.taken:
        await turns.take(user, refusable)
        return
    seat.give_back()
    await turns.take(user)
    if not seat.take_if_free():
        # Whoever has a turn waits for nobody: those with seats may wait for turns.
        turns.give_back()
        await seat.take(refusable=False)
        await turns.take(user, refusable=False)


_large, _huge = _Thread("large-requests"), _Thread("huge-requests")


def on_behalf_of(user: UserInfo, seat: Seat | None = None) -> None:
    """Say for whose request the present task works from now on: whose turn its large work needs."""
    _request.set(_Request(user, seat))


def answering() -> None:
    """Say that the answer to the present request begins: it is not refused any more."""
    request = _request.get()
    if request is not None:
        request.begun = True


def seat() -> Seat | None:
    """The seat that the present request has, if it has one."""
    request = _request.get()
    found = request.seat if request is not None else None
    return found if found is not None and found.taken else None


def size_of(call: Call, stored: int = 0, as_yaml: bool = False) -> int:
    """The bytes that a call brought, or those of the stored object that it is about if they are more; of a call from
    outside, YAML and expressions that are compiled count for more.

    What is applied counts as YAML if it has to be read `as_yaml`, or cannot be JSON.
    """
    body = call.body
    given = len(body) if isinstance(body, bytes) else 0
    if call.http is None:
        return max(given, stored)
    if call.served.type.group in _COMPILING:
        return EXPENSIVE * max(given, stored)
    if isinstance(body, bytes) and (as_yaml or _is_yaml(call.content_type, body)):
        given *= EXPENSIVE
    return max(given, stored)


def _is_yaml(media: str, body: bytes) -> bool:
    """Whether a body is read as YAML; what is applied may be JSON."""
    return "yaml" in media.lower() and not (body[:1] == b"{" and media.startswith("application/apply-patch"))


async def run(size: int, work: Callable[[Unpack[Arguments]], Result], *args: *Arguments) -> Result:
    """The result of work on something of this size; the loop goes on meanwhile if it is large.

    Large work waits for the turn of its user. The first of a request is a 429 where too much waits already, or its turn
    does not come; that of administrators and of the process itself is never refused.
    """
    if size < LARGE:
        return work(*args)
    return await (_large if size < HUGE else _huge).run(work, *args)
