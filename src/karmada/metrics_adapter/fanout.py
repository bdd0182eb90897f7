"""One question to all ready members at once: a member that fails or hangs costs its own part of the answer only."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.failures import unavailable
from karmada.apiserver.requests.model import Call
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.errors import BadAnswer
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.informers.informer import Informer
from karmada.membership.answers import Answers, Missing, Unread
from karmada.membership.members import Members

T = TypeVar("T")
R = TypeVar("R")
_PLURAL = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
KEEP = 1.0
"""Seconds for which an answer serves whoever asks the same."""
SILENCE = 15.0
"""Seconds for which a member that let a deadline pass is left alone."""


@dataclass(frozen=True, slots=True)
class Gathered(Generic[T]):
    """What members answered, by their names."""

    found: dict[str, T]
    unread: dict[str, str]
    """Members that gave no answer, and why."""

    def read(self, decode: Callable[[str, T], R]) -> "Gathered[R]":
        """The answers in another form; a member whose answer cannot be read gave none."""
        found: dict[str, R] = {}
        unread = dict(self.unread)
        for name, answer in self.found.items():
            try:
                found[name] = decode(name, answer)
            except BadAnswer as error:
                unread[name] = str(error)
        return Gathered(found, unread)

    def warn(self, call: Call) -> None:
        """Warn the caller of what is missing from the answer; refuse if it is everything."""
        if self.unread and not self.found:
            raise self.unavailable()
        call.warnings += [f"cluster {name} is missing: {why}" for name, why in self.unread.items()]

    def unavailable(self) -> Failure:
        """What is said when nothing can be concluded from the answers."""
        why = "; ".join(f"cluster {name}: {text}" for name, text in self.unread.items())
        return unavailable(f"no metrics: {why}")


def refuse_unsafe(call: Call) -> None:
    """Refuse what would be another address in a member, where requests are made with the control plane's rights."""
    plural = call.served.type.plural
    segments = (call.namespace, call.name, call.subresource)
    if not _PLURAL.fullmatch(plural) or call.subpath or any(_is_unsafe(one) for one in segments):
        raise Failure(404, "NotFound", "the server could not find the requested resource", {})


def _is_unsafe(segment: str) -> bool:
    return segment in (".", "..") or any(mark in segment for mark in "/%?#\\")


class Fanout:
    """Asks members."""

    def __init__(self, clock: Clock) -> None:
        self._connected: tuple[Informer[Cluster], Members] | None = None
        self._answers = Answers(clock, KEEP, silence=SILENCE)

    def connect(self, clusters: Informer[Cluster], members: Members) -> None:
        """Ask these members."""
        self._connected = (clusters, members)

    async def ask(self, question: Hashable, ask: Callable[[Client], Awaitable[T]]) -> Gathered[T]:
        """What every ready member answers; those that say they have none are left out."""
        if self._connected is None or not self._connected[0].has_synced:
            raise unavailable("the clusters are not loaded yet")
        known, members = self._connected
        clusters = sorted(known.values(), key=lambda cluster: cluster.metadata.name)
        ready = [cluster.metadata.name for cluster in clusters if is_ready(cluster)]
        unread = {one.metadata.name: "it is not ready" for one in clusters if not is_ready(one)}

        async def one(name: str) -> T | Unread:
            try:
                member = await self._answers.member(name, known, members)
                return await self._answers.of(name, question, lambda: ask(member.client))
            except Unread as error:
                return error

        answers = await asyncio.gather(*map(one, ready))
        found: dict[str, T] = {}
        for name, answer in zip(ready, answers, strict=True):
            if isinstance(answer, Missing):
                continue
            if isinstance(answer, Unread):
                unread[name] = str(answer)
            else:
                found[name] = answer
        return Gathered(found, unread)
