"""The budget of long-running requests (watches, log and exec streams): they hold no seat, but they are counted.

A user may hold a share of the budget, all users together the whole; more is a 429 at once, as waiting would be of no
use. `async with` is not needed: `open` gives a ticket whose `close` may be called any number of times.
"""

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.failures import Failure, too_many_requests

TOTAL = 10_000
PER_USER = 5_000


class WatchBudget:
    """Counts long-running requests by user."""

    def __init__(self, total: int = TOTAL, per_user: int = PER_USER) -> None:
        self._total = total
        self._per_user = per_user
        self._open: dict[str, int] = {}
        self.count = 0

    def open(self, user: UserInfo) -> "WatchTicket":
        """Count one more; raises the 429 `Failure`."""
        mine = self._open.get(user.name, 0)
        if self.count >= self._total or mine >= self._per_user:
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
