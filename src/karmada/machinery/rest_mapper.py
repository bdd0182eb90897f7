"""The kinds of one API server, remembered.

`RESTMapper` keeps the last discovery answer and asks again when something is not in it, at most once in `MINIMUM_AGE`
seconds. What was known stays when the server cannot be asked, or says what no server says.
"""

import asyncio

from karmada.machinery.clock import REAL, Clock
from karmada.machinery.discovery import ApiResource, UnknownKind, discover, documents
from karmada.machinery.transport import GroupVersionResource, Transport

MINIMUM_AGE = 1.0


class RESTMapper:
    """Kinds and collections of one server."""

    def __init__(self, transport: Transport, clock: Clock = REAL) -> None:
        self._transport = transport
        self._clock = clock
        self._by_kind: dict[tuple[str, str], ApiResource] = {}
        self._by_type: dict[GroupVersionResource, ApiResource] = {}
        self._answered_at = float("-inf")
        self._asking = asyncio.Lock()
        self._answers: list[bytes] = []
        self.known: tuple[ApiResource, ...] = ()
        """What the last discovery said, in its order; the same object until a discovery says something else."""
        self.stale: frozenset[str] = frozenset()
        """Group versions that the last discovery could not read; their kinds are those known before."""

    async def of_kind(self, api_version: str, kind: str) -> ApiResource:
        """The collection that holds objects of a kind."""
        found = self.known_kind(api_version, kind)
        if found is None:
            await self._refresh_if_old()
            found = self.known_kind(api_version, kind)
        if found is None:
            raise UnknownKind(f'the server has no kind "{kind}" in version "{api_version}"')
        return found

    async def of_type(self, type_: GroupVersionResource) -> ApiResource:
        """The kind of the objects in a collection."""
        found = self._by_type.get(type_)
        if found is None:
            await self._refresh_if_old()
            found = self._by_type.get(type_)
        if found is None:
            raise UnknownKind(f'the server has no resource "{type_.resource}" in "{type_.group}/{type_.version}"')
        return found

    def known_kind(self, api_version: str, kind: str) -> ApiResource | None:
        """What the last discovery said, without asking again."""
        return self._by_kind.get((api_version, kind))

    async def all(self) -> list[ApiResource]:
        """Every kind, in discovery order (preferred versions first within a group)."""
        if not self.known:
            await self._refresh_if_old()
        return list(self.known)

    async def refresh(self) -> None:
        """Ask the server now."""
        async with self._asking:
            await self._ask()

    async def _refresh_if_old(self) -> None:
        # Whoever comes while somebody is asking waits for that answer: no answer yet is not a no.
        async with self._asking:
            if self._clock.monotonic() - self._answered_at >= MINIMUM_AGE:
                await self._ask()

    async def _ask(self) -> None:
        answers = await documents(self._transport)
        # The same words mean the same kinds: an idle server is asked often and changes rarely.
        if answers != self._answers:
            found = await discover(self._transport, answers, list(self._by_type.values()))
            self._by_type = {resource.type: resource for resource in found.resources}
            self.known = tuple(self._by_type.values())
            self._by_kind = {(resource.api_version, resource.kind): resource for resource in found.resources}
            self._answers = answers if found.whole else []
            self.stale = frozenset(found.stale)
        self._answered_at = self._clock.monotonic()
