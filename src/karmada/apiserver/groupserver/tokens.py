"""Bearer tokens shown to a group server: the API server beside it says whose they are (TokenReview).

An answer is believed for a short while, a no as well; tokens are kept only as digests. While nobody has been asked
about a token, its bearer is unknown and may send little.
"""

import asyncio
import hashlib
import logging
from collections.abc import Mapping

from karmada.apiserver.auth.certificates import with_authenticated
from karmada.apiserver.auth.model import UserInfo
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.delegation import TOKEN_REVIEWS
from karmada.machinery.errors import ApiError

log = logging.getLogger(__name__)
BELIEVED = 10.0
REMEMBERED = 1000
SECONDS = 5.0
AT_ONCE = 8
"""Reviews that are under way together: whoever makes up tokens costs the API server no more."""
LONGEST = 64 * 1024


class TokenReviews:
    """Knows whose tokens are, from what the API server said lately."""

    def __init__(self, hub: Client, clock: Clock) -> None:
        self._reviews = hub.resource(TOKEN_REVIEWS)
        self._clock = clock
        self._known: dict[bytes, tuple[UserInfo | None, float]] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)

    def must_ask(self, headers: Mapping[str, str]) -> bool:
        """Whether there is a token that nobody has been asked about lately."""
        token = bearer_token(headers)
        return bool(token) and self._answer(token) is None

    def user_of(self, headers: Mapping[str, str]) -> UserInfo | None:
        """Whose the token is; None without one, or when it is nobody's."""
        answer = self._answer(bearer_token(headers))
        return answer[0] if answer is not None else None

    async def ask(self, headers: Mapping[str, str]) -> None:
        """Learn whose the token is; a review that fails leaves it unknown."""
        token = bearer_token(headers)
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        try:
            async with asyncio.timeout(SECONDS), self._slots:
                status = (await self._reviews.create(review)).get("status") or {}
        except (ApiError, TimeoutError) as error:
            log.warning("a token could not be reviewed: %s", error)
            return
        user = None
        if status.get("authenticated"):
            reviewed = status.get("user") or {}
            extra = {key: tuple(values) for key, values in (reviewed.get("extra") or {}).items()}
            groups = with_authenticated(reviewed.get("groups") or [])
            user = UserInfo(reviewed.get("username") or "", groups, reviewed.get("uid") or "", extra)
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[_digest(token)] = (user, self._clock.monotonic() + BELIEVED)

    def _answer(self, token: str) -> tuple[UserInfo | None, float] | None:
        known = self._known.get(_digest(token)) if token else None
        return known if known is not None and self._clock.monotonic() < known[1] else None


def bearer_token(headers: Mapping[str, str]) -> str:
    """The bearer token of a request; empty when it has none, or one that nobody issues."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and len(token) <= LONGEST else ""


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
