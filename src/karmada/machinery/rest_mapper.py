"""The kinds of one API server, remembered.

`RESTMapper` keeps the last discovery answer and asks again when something is not in it, at most once in `MINIMUM_AGE`
seconds. What was known stays when the server cannot be asked, or says what no server says.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from karmada.machinery.clock import REAL, Clock
from karmada.machinery.discovery import ApiResource, UnknownKind, discover, documents
from karmada.machinery.transport import GroupVersionResource, Transport

MINIMUM_AGE = 1.0
ALIKE, SHARED_BYTES = 16, 512 * 1024
"""Different answers, of at most so many bytes, that are remembered with what they mean: many servers of one process say
the same, and one that says something else every time takes no more than this."""


class _Kinds(NamedTuple):
    """What an answer means; never changed, so that mappers may share it."""

    answers: tuple[bytes, ...]
    known: tuple[ApiResource, ...]
    by_type: Mapping[GroupVersionResource, ApiResource]
    by_kind: Mapping[tuple[str, str], ApiResource]
    stale: frozenset[str]


_shared: OrderedDict[tuple[bytes, ...], _Kinds] = OrderedDict()
_NOTHING = _Kinds((), (), {}, {}, frozenset())


class RESTMapper:
    """Kinds and collections of one server."""

    def __init__(self, transport: Transport, clock: Clock = REAL) -> None:
        self._transport = transport
        self._clock = clock
        self._kinds = _NOTHING
        self._answered_at = float("-inf")
        self._asking = asyncio.Lock()

    @property
    def known(self) -> tuple[ApiResource, ...]:
        """What the last discovery said, in its order; the same object until a discovery says something else."""
        return self._kinds.known

    @property
    def stale(self) -> frozenset[str]:
        """Group versions that the last discovery could not read; their kinds are those known before."""
        return self._kinds.stale

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
        found = self._kinds.by_type.get(type_)
        if found is None:
            await self._refresh_if_old()
            found = self._kinds.by_type.get(type_)
        if found is None:
            raise UnknownKind(f'the server has no resource "{type_.resource}" in "{type_.group}/{type_.version}"')
        return found

    def known_kind(self, api_version: str, kind: str) -> ApiResource | None:
        """What the last discovery said, without asking again."""
        return self._kinds.by_kind.get((api_version, kind))

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
        answers = tuple(await documents(self._transport))
        # The same words mean the same kinds: an idle server is asked often and changes rarely.
        if answers != self._kinds.answers:
            self._kinds = _shared.get(answers) or await self._discovered(answers)
        self._answered_at = self._clock.monotonic()

    async def _discovered(self, answers: tuple[bytes, ...]) -> _Kinds:
        found = await discover(self._transport, list(answers), self._kinds.known)
        by_type = {resource.type: resource for resource in found.resources}
        by_kind = {(resource.api_version, resource.kind): resource for resource in found.resources}
        said = answers if found.whole else ()
        kinds = _Kinds(said, tuple(by_type.values()), by_type, by_kind, frozenset(found.stale))
        if found.whole and not found.stale and sum(map(len, answers)) <= SHARED_BYTES:
            _shared[answers] = kinds
            if len(_shared) > ALIKE:
                _shared.popitem(last=False)
        return kinds
