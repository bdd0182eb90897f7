"""What the asking user may do in each member: the member itself is asked, and its answer is believed for a while.

Cached objects were read with the rights of karmada-search. Nobody sees a row of them that they could not read in the
member: a SubjectAccessReview there decides, for the whole cluster first, then for each namespace. A member that does
not answer in time shows nothing.
"""

import asyncio
from collections.abc import Iterable

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
BELIEVED = 10.0
"""How long its answer is believed."""
REMEMBERED = 10_000
NAMESPACES = 200
"""Namespaces of one member that a user without rights to all of them is checked for."""
AT_ONCE = 8
"""Questions to one member."""


class MemberAccess:
    """Answers what users may do in members."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[object, tuple[bool, float]] = {}
        self._slots: dict[str, asyncio.Semaphore] = {}
        """By cluster, so that one which hangs delays nobody's question to another."""

    def known(
        self,
        cluster: str,
        user: UserInfo,
        verb: str,
        type_: GroupVersionResource,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
    ) -> bool | None:
        """What a member has answered to `allows` and is still believed."""
        known = self._known.get((cluster, user.name, user.groups, verb, type_, namespace, name, subresource))
        return known[0] if known is not None and self._clock.monotonic() < known[1] else None

    async def allows(
        self,
        cluster: str,
        client: Client,
        user: UserInfo,
        verb: str,
        type_: GroupVersionResource,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
    ) -> bool:
        """Whether a member lets a user do something; raises `MemberUnavailable` when it does not say."""
        known = self.known(cluster, user, verb, type_, namespace, name, subresource)
        if known is not None:
            return known
        now = self._clock.monotonic()
        review = _review(user, verb, type_, namespace, name, subresource)
        slots = self._slots.setdefault(cluster, asyncio.Semaphore(AT_ONCE))
        try:
            async with asyncio.timeout(WAITING), slots, asyncio.timeout(SECONDS):
                answer = await client.resource(REVIEWS).create(review)
        except (TimeoutError, ApiError) as error:
            raise MemberUnavailable(f"cluster {cluster} does not say what {user.name} may do: {error}") from error
        allowed = bool((answer.get("status") or {}).get("allowed"))
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        key = (cluster, user.name, user.groups, verb, type_, namespace, name, subresource)
        self._known[key] = (allowed, now + BELIEVED)
        return allowed

    async def readable(
        self,
        cluster: str,
        client: Client,
        user: UserInfo,
        verb: str,
        type_: GroupVersionResource,
        namespaces: Iterable[str],
    ) -> frozenset[str]:
        """Those of some namespaces that a user may read in, where not all may be read."""
        checked = sorted(set(namespaces))[:NAMESPACES]
        about = (cluster, client, user, verb, type_)
        asked = [asyncio.ensure_future(self.allows(*about, namespace)) for namespace in checked]
        try:
            answers = await asyncio.gather(*asked)
        finally:
            # A member that let one question pass must not be asked the rest: others wait for its slots.
            for one in asked:
                one.cancel()
        return frozenset(namespace for namespace, allowed in zip(checked, answers, strict=True) if allowed)


def within(namespaces: frozenset[str], match: Match | None) -> Match:
    """A match narrowed to some namespaces."""
    if match is None:
        return lambda item: item.namespace in namespaces
    return lambda item: item.namespace in namespaces and match(item)


def _review(
    user: UserInfo, verb: str, type_: GroupVersionResource, namespace: str, name: str, subresource: str
) -> JSONObject:
    attributes = {
        "verb": verb,
        "group": type_.group,
        "version": type_.version,
        "resource": type_.resource,
        "subresource": subresource,
        "namespace": namespace,
        "name": name,
    }
    spec: JSONObject = {
        "user": user.name,
        "groups": list(user.groups),
        "resourceAttributes": {key: value for key, value in attributes.items() if value},
    }
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
