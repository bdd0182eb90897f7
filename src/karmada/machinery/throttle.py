"""Few words about what happens often: one log line per cause and minute, and token buckets."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any, NamedTuple

PERIOD = 60.0
CAUSES = 1024
"""Causes that are remembered; beyond them the one that was logged first is forgotten."""


class TokenBucket:
    """`burst` at once, `rate` a second for ever. Takers are never refused: what was taken too much is waited for."""

    __slots__ = ("_at", "_burst", "_left", "_rate")

    def __init__(self, burst: float, rate: float, now: float) -> None:
        self._burst = burst
        self._rate = rate
        self._left = burst
        self._at = now

    def take(self, cost: float, now: float) -> float:
        """Take some; how long to wait before the next."""
        self._left = min(self._burst, self._left + (now - self._at) * self._rate) - cost
        self._at = now
        return max(0.0, -self._left / self._rate)

    def wait(self, now: float) -> float:
        """How long to wait before something may be taken."""
        return self.take(0.0, now)


class _Logged(NamedTuple):
    at: float
    left_out: int


class ThrottledLog:
    """Logs the first of what has one cause, and counts the others until a minute has passed."""

    def __init__(self, log: logging.Logger, now: Callable[[], float] = monotonic) -> None:
        self._log = log
        self._now = now
        self._logged: OrderedDict[Hashable, _Logged] = OrderedDict()

    def warning(self, cause: Hashable, message: str, *values: Any, trace: Exception | None = None) -> None:
        """Log a warning, or with `trace` an error with its traceback."""
        self._write(logging.ERROR if trace is not None else logging.WARNING, cause, message, values, trace)

    def info(self, cause: Hashable, message: str, *values: Any) -> None:
        """Log what is no trouble of ours."""
        self._write(logging.INFO, cause, message, values, None)

    def _write(
        self, level: int, cause: Hashable, message: str, values: tuple[Any, ...], trace: Exception | None
    ) -> None:
        now = self._now()
        before = self._logged.pop(cause, None)
        if before is not None and now - before.at < PERIOD:
            self._logged[cause] = before._replace(left_out=before.left_out + 1)
            return
        self._logged[cause] = _Logged(now, 0)
        if len(self._logged) > CAUSES:
            self._logged.popitem(last=False)
        if before is not None and before.left_out:
            message += " (%d more like this in the %.0f s before)"
            values = (*values, before.left_out, now - before.at)
        self._log.log(level, message, *values, exc_info=trace)
