"""Which members answer a read: those that cache the kind, are ready and loaded, and let the user read there."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from karmada.apiserver.failures import forbidden, unavailable
from karmada.apiserver.watchcache import Match
from karmada.controllers.clusters import is_ready
from karmada.machinery.httpserver.failure import Failure
from karmada.membership.members import MemberUnavailable
from karmada.search.access import Ask, MemberAccess, within
from karmada.search.caches import Caches
from karmada.search.mirror import Mirror

LOAD_SECONDS = 2.0
"""How long a read waits for a member's first load."""
NAMED = 20
"""Clusters that a warning names."""


@dataclass(slots=True)
class Source:
    """A mirror and what of it the user may see; everything when `match` is None."""

    mirror: Mirror
    match: Match | None = None


@dataclass(slots=True)
class Sources:
    """Who answers a read, and who does not."""

    found: list[Source] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    refusing: list[str] = field(default_factory=list)

    def warnings(self) -> list[str]:
        """What a client should hear about rows that are missing."""
        texts = []
        if self.silent:
            texts.append(f"no rows of clusters that do not answer: {_names(self.silent)}")
        if self.refusing:
            texts.append(f"no rows of clusters that you may not read: {_names(self.refusing)}")
        return texts

    def refusal(self, ask: Ask) -> Failure | None:
        """The refusal, where the user may read in no cluster at all; a 503 while some cluster does not say so."""
        if self.found or not self.refusing:
            return None
        if self.silent:
            return unanswered()
        where = f'in the namespace "{ask.namespace}" of any cluster' if ask.namespace else "in any cluster"
        resource = f"{ask.type.resource}/{ask.subresource}" if ask.subresource else ask.type.resource
        group = ask.type.group
        why = f'User "{ask.user.name}" cannot {ask.verb} resource "{resource}" in API group "{group}" {where}'
        return forbidden(group, ask.type.resource, ask.name, why)


def unanswered() -> Failure:
    """Nobody can say yet; tells neither what there is nor which clusters are silent."""
    return unavailable("not all clusters say what they have and what you may do there; ask again")


class SourceFinder(Protocol):
    """Finds the sources of reads."""

    async def sources(self, ask: Ask, mirrors: Sequence[Mirror] | None = None) -> Sources:
        """The members that answer, of these mirrors or of all."""
        ...


class Finder:
    """Finds the sources of reads by what is cached and what each member lets the user read."""

    def __init__(self, caches: Caches, access: MemberAccess) -> None:
        self._caches = caches
        self._access = access

    async def sources(self, ask: Ask, mirrors: Sequence[Mirror] | None = None) -> Sources:
        """The members that answer, in the order of their names; no member delays this for long."""
        chosen = self._caches.mirrors(ask.type) if mirrors is None else mirrors
        outcome = Sources()
        unknown = [mirror for mirror in chosen if not self._is_readable(ask, mirror)]
        answers = dict(zip(unknown, await asyncio.gather(*(self._source(ask, m) for m in unknown)), strict=True))
        for mirror in chosen:
            source = answers[mirror] if mirror in answers else Source(mirror)
            if isinstance(source, Source):
                outcome.found.append(source)
            else:
                (outcome.refusing if source is False else outcome.silent).append(mirror.cluster)
        return outcome

    def _is_readable(self, ask: Ask, mirror: Mirror) -> bool:
        """Whether all that is asked for may be read, by what is known already: most reads wait for nobody."""
        caches = self._caches.member(mirror.cluster)
        if caches is None or not is_ready(caches.cluster) or not mirror.loaded.is_set():
            return False
        return self._access.known(mirror.cluster, ask) is True

    async def _source(self, ask: Ask, mirror: Mirror) -> Source | bool:
        """The source, False where the user may read nothing, True where nobody knows."""
        caches = self._caches.member(mirror.cluster)
        if caches is None or not is_ready(caches.cluster):
            return True
        try:
            if not mirror.loaded.is_set():
                async with asyncio.timeout(LOAD_SECONDS):
                    await mirror.loaded.wait()
            about = (mirror.cluster, caches.client, ask)
            if await self._access.allows(*about):
                return Source(mirror)
            if ask.namespace or not mirror.served.type.namespaced:
                return False
            present = (item.namespace for item in mirror.store.list(mirror.key).items)
            spaces = await self._access.readable(*about, present)
            return Source(mirror, within(spaces)) if spaces else False
        except (MemberUnavailable, TimeoutError):
            return True


def _names(clusters: list[str]) -> str:
    more = len(clusters) - NAMED
    return ", ".join(clusters[:NAMED]) + (f" and {more} more" if more > 0 else "")
