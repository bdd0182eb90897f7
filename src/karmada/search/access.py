"""What the asking user may do in each member: the member itself is asked, and its answer is believed for a while.

Cached objects were read with the rights of karmada-search. Nobody sees a row of them that they could not read in the
member: a SubjectAccessReview there decides, for the whole cluster first, then for each namespace. A member that does
not answer in time shows nothing.
"""

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.watchcache import Match
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.errors import ApiError
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.members import MemberUnavailable

REVIEWS = GroupVersionResource("authorization.k8s.io", "v1", "subjectaccessreviews")
SECONDS = 3.0
"""How long a member may take to say what a user may do."""
WAITING = 6.0
"""How long a question may take with what it waits for others to the same member."""
TOGETHER = 20.0
"""How long the questions about all namespaces may take, of a member that answers each in time."""
SUSPECTED = 5.0
"""How long a member that did not answer in time is given less of it; not none, as one hard question may be to blame."""
HASTE = 0.5
"""How much that is."""
BELIEVED = 10.0
"""How long its answer is believed."""
REMEMBERED = 10_000
NAMESPACES = 200
"""Namespaces of one member that a user without rights to all of them is checked for."""
AT_ONCE = 8
"""Questions to one member."""
OF_ONE = 4
"""Those of them that are about the namespaces of one request, so that other requests need not wait for all of its."""


class Ask(NamedTuple):
    """What is read, by whom."""

    user: UserInfo
    verb: str
    type: GroupVersionResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class MemberAccess:
    """Answers what users may do in members."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[object, tuple[bool, float]] = {}
        self._slots: dict[str, asyncio.Semaphore] = {}
        """By cluster, so that one which hangs delays nobody's question to another."""
        self._suspects: dict[str, float] = {}
        """By cluster that did not answer in time, until when it is given less of it."""

    def known(self, cluster: str, ask: Ask) -> bool | None:
        """What a member has answered to `allows` and is still believed."""
        known = self._known.get(_key(cluster, ask))
        return known[0] if known is not None and self._clock.monotonic() < known[1] else None

    async def allows(self, cluster: str, client: Client, ask: Ask) -> bool:
        """Whether a member lets a user do something; raises `MemberUnavailable` when it does not say."""
        known = self.known(cluster, ask)
        if known is not None:
            return known
        now = self._clock.monotonic()
        slots = self._slots.setdefault(cluster, asyncio.Semaphore(AT_ONCE))
        try:
            async with asyncio.timeout(self._patience(cluster, WAITING)), slots:
                answer = await self._asked(cluster, client, ask)
        except (TimeoutError, ApiError) as error:
            raise MemberUnavailable(f"cluster {cluster} does not say what {ask.user.name} may do: {error}") from error
        allowed = bool((answer.get("status") or {}).get("allowed"))
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[_key(cluster, ask)] = (allowed, now + BELIEVED)
        return allowed

    async def _asked(self, cluster: str, client: Client, ask: Ask) -> JSONObject:
        patience = self._patience(cluster, SECONDS)
        try:
            async with asyncio.timeout(patience):
                return await client.resource(REVIEWS).create(_review(ask))
        except TimeoutError:
            if patience == SECONDS:  # Else a member that is slow, and no worse, would remain a suspect for good.
                self._suspects[cluster] = self._clock.monotonic() + SUSPECTED
            raise

    def _patience(self, cluster: str, usual: float) -> float:
        return HASTE if self._clock.monotonic() < self._suspects.get(cluster, 0.0) else usual

    async def readable(self, cluster: str, client: Client, ask: Ask, namespaces: Iterable[str]) -> frozenset[str]:
        """Those of some namespaces that a user may read in, where not all may be read."""
        checked = sorted(set(namespaces))[:NAMESPACES]
        turns = asyncio.Semaphore(OF_ONE)

        async def allowed_in(namespace: str) -> bool:
            async with turns:
                return await self.allows(cluster, client, ask._replace(namespace=namespace, name="", subresource=""))

        asked = [asyncio.ensure_future(allowed_in(namespace)) for namespace in checked]
        try:
            async with asyncio.timeout(TOGETHER):
                answers = await asyncio.gather(*asked)
        except TimeoutError as error:
            text = f"cluster {cluster} takes more than {TOGETHER:g} s to say what {ask.user.name} may do"
            raise MemberUnavailable(text) from error
        finally:
            # A member that let one question pass must not be asked the rest: others wait for its slots.
            for one in asked:
                one.cancel()
        return frozenset(namespace for namespace, allowed in zip(checked, answers, strict=True) if allowed)


def within(namespaces: frozenset[str]) -> Match:
    """What is in some namespaces."""
    return lambda item: item.namespace in namespaces


def _key(cluster: str, ask: Ask) -> object:
    return (cluster, ask.user.name, ask.user.groups, *ask[1:])


def _review(ask: Ask) -> JSONObject:
    attributes = {
        "verb": ask.verb,
        "group": ask.type.group,
        "version": ask.type.version,
        "resource": ask.type.resource,
        "subresource": ask.subresource,
        "namespace": ask.namespace,
        "name": ask.name,
    }
    spec: JSONObject = {
        "user": ask.user.name,
        "groups": list(ask.user.groups),
        "resourceAttributes": {key: value for key, value in attributes.items() if value},
    }
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
