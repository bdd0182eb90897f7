"""What is kept for a credential between its requests: clients of the control plane and members, and its views."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from karmada.dashboard.answers import Refusal, bad_request
from karmada.dashboard.credential import Credential
from karmada.dashboard.names import is_name
from karmada.dashboard.upstream import Upstream
from karmada.dashboard.view import Boards, View
from karmada.explain.members import Members
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock

MANAGER = "karmada-dashboard"
PATIENCE = 8.0
"""Seconds that a member may take for one question."""
IDLE = 120.0
"""Seconds after its last use for which a context is kept."""
MOST_CREDENTIALS = 200
MOST_OF_ONE = 20
"""Credentials of one owner: nobody takes the place of all others."""
VIEWS = 20
"""Namespaces that one credential follows at a time."""
STREAMS = 24
"""Streams of one credential."""
MEMBERS = 300
"""Members to which one credential keeps a client."""
LONG = 2
"""Requests of one credential that take long (simulations, comparisons) at a time; others wait."""


class CredentialContext:
    """The clients and views of one credential."""

    def __init__(
        self, upstream: Upstream, credential: Credential, boards: Boards, clock: Clock, check: Callable[[], Any]
    ) -> None:
        self._upstream = upstream
        self._boards = boards
        self._clock = clock
        self._check = check
        self.credential = credential
        self.hub = Client(upstream.transport(credential), field_manager=MANAGER)
        self.members = Members(self.member, PATIENCE)
        self._members: OrderedDict[str, Client] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()
        self._views: OrderedDict[str, View] = OrderedDict()
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

    async def view(self, namespace: str = "") -> View:
        """What is seen of a namespace, or of all of them."""
        if namespace and not is_name(namespace):
            raise bad_request(f"{namespace!r} is not the name of a namespace")
        async with self._starting:
            found = self._views.get(namespace)
            if found is not None and found.closed:
                await self._views.pop(namespace).stop()
                found = None
            if found is None:
                await self._make_room()
                found = View(self.hub, self._boards, self._clock, self._check, namespace)
                await found.start()
                self._views[namespace] = found
            self._views.move_to_end(namespace)
            return found

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return sum(len(view) for view in self._views.values())

    async def close(self) -> None:
        """End all views and connections."""
        for view in self._views.values():
            await view.stop()
        for client in (self.hub, *self._members.values()):
            await client.close()

    async def _make_room(self) -> None:
        if len(self._views) < VIEWS:
            return
        idle = next((name for name, view in self._views.items() if not view), None)
        if idle is None:
            raise Refusal(429, "TooManyRequests", f"more than {VIEWS} namespaces are open: close some tabs")
        await self._views.pop(idle).stop()


class CredentialCache:
    """The contexts of all credentials that are in use."""

    def __init__(self, upstream: Upstream, clock: Clock) -> None:
        self._upstream = upstream
        self._clock = clock
        self.boards = Boards(clock)
        self._contexts: OrderedDict[tuple[str, ...], CredentialContext] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    def of(self, credential: Credential) -> CredentialContext:
        """The context of a credential; those that nobody needs any more are cleared."""
        now = self._clock.monotonic()
        for key, context in list(self._contexts.items()):
            if now - context.used > IDLE and not context.streams:
                self._drop(key)
        found = self._contexts.get(credential.key)
        if found is None:
            mine = [key for key, context in self._contexts.items() if context.credential.owner == credential.owner]
            if len(mine) >= MOST_OF_ONE:
                self._make_room(mine, f"{credential.owner} is signed in {len(mine)} times: sign out somewhere")
            elif len(self._contexts) >= MOST_CREDENTIALS:
                self._make_room(list(self._contexts), "too many users are signed in: try again later")

            async def check() -> None:
                await self._upstream.current(credential)

            found = self._contexts[credential.key] = CredentialContext(
                self._upstream, credential, self.boards, self._clock, check
            )
        found.used = now
        self._contexts.move_to_end(credential.key)
        return found

    def drop(self, credential: Credential) -> None:
        """Forget everything about a credential."""
        if credential.key in self._contexts:
            self._drop(credential.key)

    def _make_room(self, keys: list[tuple[str, ...]], full: str) -> None:
        """Drop the one of these that was used least recently and has no stream; refuse if all have."""
        idle = next((key for key in keys if not self._contexts[key].streams), None)
        if idle is None:
            raise Refusal(429, "TooManyRequests", full)
        self._drop(idle)

    def _drop(self, key: tuple[str, ...]) -> None:
        task = asyncio.get_running_loop().create_task(self._contexts.pop(key).close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all of them."""
        for key in list(self._contexts):
            self._drop(key)
        await asyncio.gather(*self._closing, return_exceptions=True)
