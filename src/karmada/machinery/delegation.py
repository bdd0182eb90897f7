"""Asks the API server who somebody is and whether they may: for the pages a component serves by itself.

The caller's bearer token goes into a TokenReview, the user it names into a SubjectAccessReview for reading the page's
path (a non-resource URL, so an ordinary ClusterRole with `nonResourceURLs` grants it). Answers are kept for a short
while; a review that fails means no. Tokens are kept only as digests.
"""

import hashlib
import logging
from typing import Any

from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import ApiError
from karmada.machinery.serving import DiagnosticsRequest
from karmada.machinery.transport import GroupVersionResource, JSONObject

log = logging.getLogger(__name__)

TOKEN_REVIEWS = GroupVersionResource("authentication.k8s.io", "v1", "tokenreviews")
ACCESS_REVIEWS = GroupVersionResource("authorization.k8s.io", "v1", "subjectaccessreviews")
KEPT = 10.0
MOST = 1000


class DelegatedAuthorizer:
    """The `authorize` function of a `DiagnosticsServer`."""

    def __init__(self, client: Client, clock: Clock = REAL) -> None:
        self._tokens = client.resource(TOKEN_REVIEWS)
        self._access = client.resource(ACCESS_REVIEWS)
        self._clock = clock
        self._known: dict[tuple[bytes, str], tuple[float, bool]] = {}

    async def __call__(self, request: DiagnosticsRequest) -> bool:
        """Whether the caller may read the page."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return False
        key = (hashlib.sha256(token.encode()).digest(), request.path)
        known = self._known.get(key)
        now = self._clock.monotonic()
        if known is not None and now < known[0]:
            return known[1]
        try:
            allowed = await self._review(token, request.path)
        except ApiError as error:
            log.warning("access to %s could not be reviewed: %s", request.path, error)
            return False
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = (now + KEPT, allowed)
        return allowed

    async def _review(self, token: str, path: str) -> bool:
        user = await self._user(token)
        if user is None:
            return False
        spec: dict[str, Any] = {name: user[name] for name in ("uid", "groups", "extra") if user.get(name)}
        spec |= {"user": user.get("username", ""), "nonResourceAttributes": {"path": path, "verb": "get"}}
        review = await self._access.create(
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        )
        status = review.get("status") or {}
        return bool(status.get("allowed")) and not status.get("denied")

    async def _user(self, token: str) -> JSONObject | None:
        review = await self._tokens.create(
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        )
        status = review.get("status") or {}
        user: JSONObject | None = status.get("user") if status.get("authenticated") else None
        return user
