"""What is kept for a credential between its requests: clients of the control plane and members, and its boards."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from karmada.dashboard.answers import Refusal, bad_request
from karmada.dashboard.board import Board
from karmada.dashboard.credential import Credential
from karmada.dashboard.names import is_name
from karmada.dashboard.upstream import Upstream
from karmada.explain.members import Members
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock

MANAGER = "karmada-dashboard"
PATIENCE = 8.0
"""Seconds that a member may take for one question."""
IDLE = 120.0
"""Seconds after its last use for which a desk is kept."""
DESKS = 200
BOARDS = 20
"""Namespaces that one credential follows at a time."""
STREAMS = 24
"""Streams of one credential."""
MEMBERS = 300
"""Members to which one credential keeps a client."""
LONG = 2
"""Requests of one credential that take long (simulations, comparisons) at a time; others wait."""


class Desk:
    """The clients and boards of one credential."""

    def __init__(self, upstream: Upstream, credential: Credential, clock: Clock, check: Callable[[], Any]) -> None:
        self._upstream = upstream
        self._clock = clock
        self._check = check
        self.credential = credential
        self.hub = Client(upstream.transport(credential), field_manager=MANAGER)
        self.members = Members(self.member, PATIENCE)
        self._members: OrderedDict[str, Client] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()
        self._boards: OrderedDict[str, Board] = OrderedDict()
        self._starting = asyncio.Lock()
        self.long = asyncio.Semaphore(LONG)
        """Held by requests that take long."""
        self.used = clock.monotonic()

    def member(self, name: str) -> Client:
        """A client of a member, through the control plane."""
        if not is_name(name):
            raise bad_request(f"{name!r} is not the name of a cluster")
        found = self._members.get(name)
        if found is None:
            if len(self._members) >= MEMBERS:
                task = asyncio.get_running_loop().create_task(self._members.popitem(last=False)[1].close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
            found = self._members[name] = Client(self._upstream.transport(self.credential, name), timeout=PATIENCE)
        self._members.move_to_end(name)
        return found

    async def board(self, namespace: str = "") -> Board:
        """The board of a namespace, or of all of them."""
        if namespace and not is_name(namespace):
            raise bad_request(f"{namespace!r} is not the name of a namespace")
        async with self._starting:
            found = self._boards.get(namespace)
            if found is not None and found.closed:
                await self._boards.pop(namespace).stop()
                found = None
            if found is None:
                await self._make_room()
                found = Board(self.hub, self._clock, self._check, namespace)
                self._boards[namespace] = found
                try:
                    await found.start()
                except BaseException:
                    del self._boards[namespace]
                    await found.stop()
                    raise
            self._boards.move_to_end(namespace)
            return found

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return sum(len(board.feed) for board in self._boards.values())

    async def close(self) -> None:
        """End all boards and connections."""
        for board in self._boards.values():
            await board.stop()
        for client in (self.hub, *self._members.values()):
            await client.close()

    async def _make_room(self) -> None:
        if len(self._boards) < BOARDS:
            return
        idle = next((name for name, board in self._boards.items() if not board.feed), None)
        if idle is None:
            raise Refusal(429, "TooManyRequests", f"more than {BOARDS} namespaces are open: close some tabs")
        await self._boards.pop(idle).stop()


class Desks:
    """The desks of all credentials that are in use."""

    def __init__(self, upstream: Upstream, clock: Clock) -> None:
        self._upstream = upstream
        self._clock = clock
        self._desks: OrderedDict[tuple[str, ...], Desk] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    def of(self, credential: Credential) -> Desk:
        """The desk of a credential; those that nobody needs any more are cleared."""
        now = self._clock.monotonic()
        for key, desk in list(self._desks.items()):
            if now - desk.used > IDLE and not desk.streams:
                self._drop(key)
        found = self._desks.get(credential.key)
        if found is None:
            if len(self._desks) >= DESKS:
                idle = next((key for key, desk in self._desks.items() if not desk.streams), None)
                if idle is None:
                    raise Refusal(429, "TooManyRequests", "too many users are signed in: try again later")
                self._drop(idle)

            async def check() -> None:
                await self._upstream.current(credential)

            found = self._desks[credential.key] = Desk(self._upstream, credential, self._clock, check)
        found.used = now
        self._desks.move_to_end(credential.key)
        return found

    def drop(self, credential: Credential) -> None:
        """Forget everything about a credential."""
        if credential.key in self._desks:
            self._drop(credential.key)

    def _drop(self, key: tuple[str, ...]) -> None:
        task = asyncio.get_running_loop().create_task(self._desks.pop(key).close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all of them."""
        for key in list(self._desks):
            self._drop(key)
        await asyncio.gather(*self._closing, return_exceptions=True)
