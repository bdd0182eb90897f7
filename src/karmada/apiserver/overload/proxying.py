"""Requests passed on to other servers: how many may wait for an answer at once.

One that hangs would otherwise take every seat of this server. A user may have some under way, and so may each server
behind; more is a 429 at once. Members of `system:masters` are not counted by user: the owner must be able to act.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.failures import too_many_requests
from karmada.apiserver.fairness import never_waits
from karmada.machinery.httpserver.failure import Failure

PER_USER = 64
PER_TARGET = 100
RETRY_SECONDS = 1


class ProxyBudget:
    """Counts requests under way by user and by the server behind."""

    def __init__(self, per_user: int = PER_USER, per_target: int = PER_TARGET) -> None:
        self._per_user = per_user
        self._per_target = per_target
        self._users: Counter[str] = Counter()
        self._targets: Counter[str] = Counter()

    @contextmanager
    def take(self, user: UserInfo, target: str) -> Iterator[None]:
        """Count one while it waits; raises the 429 `Failure`."""
        if self._targets[target] >= self._per_target:
            raise _too_many(f"too many requests to {target} are under way")
        if self._users[user.name] >= self._per_user and not never_waits(user):
            raise _too_many("too many of your requests to other servers are under way")
        self._users[user.name] += 1
        self._targets[target] += 1
        try:
            yield
        finally:
            _less(self._users, user.name)
            _less(self._targets, target)


def _less(counts: "Counter[str]", key: str) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def _too_many(why: str) -> Failure:
    return too_many_requests(f"{why}, please try again later.", RETRY_SECONDS)
