"""The budget of long-running requests (watches, log and exec streams): they hold no seat, but they are counted.

A user may hold as many as are left for everybody else, so that one user takes no more than half, two no more than three
quarters; the last ones are kept for members of `system:masters`, as the owner must be able to act. More is a 429 at
once, as waiting would be of no use. `async with` is not needed: `open` gives a ticket whose `close` may be called any
number of times.
"""

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.failures import too_many_requests
from karmada.apiserver.fairness import never_waits
from karmada.machinery.httpserver.failure import Failure

TOTAL = 10_000
RESERVE = 500
"""For the owner."""


class WatchBudget:
    """Counts long-running requests by user."""

    def __init__(self, total: int = TOTAL, reserve: int = RESERVE) -> None:
        self._total = total
        self._reserve = reserve
        self._open: dict[str, int] = {}
        self.count = 0

    def open(self, user: UserInfo) -> "WatchTicket":
        """Count one more; raises the 429 `Failure`."""
        mine = self._open.get(user.name, 0)
        left = self._total - self.count
        if not never_waits(user):
            left = min(left - self._reserve, left - mine)
        if left <= 0:
            raise _too_many()
        self._open[user.name] = mine + 1
        self.count += 1
        return WatchTicket(self, user.name)

    def release(self, user: str) -> None:
        """Count one less."""
        self.count -= 1
        left = self._open[user] - 1
        if left:
            self._open[user] = left
        else:
            del self._open[user]


class WatchTicket:
    """One counted request."""

    __slots__ = ("_budget", "_user")

    def __init__(self, budget: WatchBudget, user: str) -> None:
        self._budget: WatchBudget | None = budget
        self._user = user

    def close(self) -> None:
        """Give it back."""
        budget, self._budget = self._budget, None
        if budget is not None:
            budget.release(self._user)


def _too_many() -> Failure:
    return too_many_requests("too many open watches, please try again later.", 5)
