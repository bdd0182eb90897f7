"""Works that this process has just created: who applies them need not ask whether the server has them."""

from karmada.machinery.clock import Clock

FRESH = 1.0
"""Seconds after which the server is asked again: a member may take as long to answer."""


class CreatedWorks:
    """Remembers the uids of Works for `FRESH` seconds after the server confirmed that it created them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}
        """When a uid is forgotten; the oldest comes first."""

    def __len__(self) -> int:
        return len(self._until)

    def add(self, uid: str) -> None:
        """The server has answered that it created this Work."""
        now = self._clock.monotonic()
        while self._until and self._until[oldest := next(iter(self._until))] <= now:
            del self._until[oldest]
        self._until[uid] = now + FRESH

    def __contains__(self, uid: str) -> bool:
        until = self._until.get(uid)
        return until is not None and self._clock.monotonic() < until
