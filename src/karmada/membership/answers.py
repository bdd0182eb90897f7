"""Questions to members, asked once for all who want to know, each with a deadline.

Whoever asks the same while an answer is on its way waits for it; later an answer serves everybody until it is too old.
A member that lets a deadline pass is asked nothing for as long: it costs one deadline per interval, not one per
question. A failure is an answer too.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.machinery.clock import Clock
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.informers.informer import Informer
from karmada.membership.members import Member, Members, MemberUnavailable

T = TypeVar("T")
DEADLINE = 5.0
"""Seconds that a member has for one answer."""


class Unread(Exception):
    """A member gave no answer; the message says why. Never a verdict about what it has."""


class Missing(Unread):
    """A member answered that it has no such thing."""


class _Entry:
    __slots__ = ("answer", "lock", "until")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.until = 0.0
        self.answer: Any = None


class Answers:
    """The latest answers of members."""

    def __init__(self, clock: Clock, keep: float, deadline: float = DEADLINE, silence: float | None = None) -> None:
        """`keep` is how long an answer serves, `silence` how long a member that let a deadline pass is left alone."""
        self._clock = clock
        self._keep = keep
        self._silence = keep if silence is None else silence
        self._deadline = deadline
        self._entries: dict[tuple[str, Hashable], _Entry] = {}
        self._silent: dict[str, float] = {}
        """Members that let a deadline pass, and until when they are left alone."""
        self._swept = 0.0

    async def of(self, cluster: str, question: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """What a member answers; raises `Unread`, or `Missing` where it says that it has none."""
        self._sweep()
        entry = self._entries.setdefault((cluster, question), _Entry())
        async with entry.lock:
            if entry.until <= self._clock.monotonic():
                entry.answer = await self._ask(cluster, ask)
                entry.until = self._clock.monotonic() + self._keep
            answer: T | Unread = entry.answer
        if isinstance(answer, Unread):
            raise type(answer)(str(answer))
        return answer

    async def member(self, name: str, clusters: Informer[Cluster], members: Members) -> Member:
        """The connection to a member; raises `Unread`."""
        cluster = clusters.get(name)
        if cluster is None:
            raise Unread("the cluster has left")
        if not members.concerns(cluster):
            raise Unread(f"it is in {cluster.spec.sync_mode} mode: the control plane does not reach it")
        question = ("connection", cluster.metadata.uid, cluster.metadata.generation)
        return await self.of(name, question, lambda: members.connect(cluster))

    async def _ask(self, cluster: str, ask: Callable[[], Awaitable[T]]) -> T | Unread:
        if self._silent.get(cluster, 0.0) > self._clock.monotonic():
            return Unread(f"no answer within {self._deadline:g} s to an earlier question")
        try:
            async with asyncio.timeout(self._deadline):
                return await ask()
        except TimeoutError:
            self._silent[cluster] = self._clock.monotonic() + self._silence
            return Unread(f"no answer within {self._deadline:g} s")
        except NotFound as error:
            return Missing(str(error))
        except (ApiError, MemberUnavailable) as error:
            return Unread(str(error))

    def _sweep(self) -> None:
        """Forget what is too old, now and then."""
        now = self._clock.monotonic()
        if now < self._swept + max(self._keep, self._deadline):
            return
        self._swept = now
        self._entries = {key: one for key, one in self._entries.items() if one.until > now or one.lock.locked()}
        self._silent = {name: until for name, until in self._silent.items() if until > now}
