"""What a controller has just done and its cache does not show yet.

A controller that makes or deletes pods must not decide again before it has seen the effect, or it does everything
twice. `satisfied` says whether everything was seen, or waited for so long that it never will be.
"""

from collections.abc import Iterable

from karmada.machinery.clock import Clock
from karmada.machinery.informers.cache import Change
from karmada.simulator.workloads.views import Pod

PATIENCE = 60.0
"""Seconds after which an unseen effect counts as lost."""


class Expectations:
    """Unseen creations and deletions of pods, by the uid of their owner."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._awaited: dict[str, dict[tuple[str, bool], float]] = {}

    def created(self, owner: str, uid: str) -> None:
        """A pod was made."""
        self._awaited.setdefault(owner, {})[(uid, True)] = self._clock.monotonic() + PATIENCE

    def deleted(self, owner: str, uid: str) -> None:
        """The deletion of a pod was asked for."""
        self._awaited.setdefault(owner, {})[(uid, False)] = self._clock.monotonic() + PATIENCE

    def satisfied(self, owner: str, present: Iterable[Pod]) -> bool:
        """Whether the cache shows everything that was done for an owner."""
        awaited = self._awaited.get(owner)
        if not awaited:
            return True
        now = self._clock.monotonic()
        there = {pod.metadata.uid: pod for pod in present}
        for (uid, creation), deadline in list(awaited.items()):
            pod = there.get(uid)
            seen = pod is not None if creation else pod is None or pod.is_deleted
            if seen or deadline <= now:
                del awaited[(uid, creation)]
        if awaited:
            return False
        del self._awaited[owner]
        return True

    def gone(self, change: Change[Pod]) -> None:
        """A pod went: it was certainly seen before."""
        if change.new is None and change.old is not None:
            owner = change.old.value.metadata.controller
            if owner is not None and owner.uid in self._awaited:
                self._awaited[owner.uid].pop((change.old.uid, True), None)

    def forget(self, owner: str) -> None:
        """The owner is gone."""
        self._awaited.pop(owner, None)
