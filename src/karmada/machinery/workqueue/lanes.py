"""The order in which ready keys are taken: by priority, then in turn between lanes, then in turn between the tenants of
a lane, then first come first served.

Pure bookkeeping: no clock, no waiting. Every operation costs the same however many keys wait.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from karmada.machinery.workqueue.tenants import Tenants

K = TypeVar("K", bound=Hashable)

LEAST_TURN = 16
"""Every so often the lowest priority is served first, so that a stream of urgent keys cannot starve it."""


class _Level(Generic[K]):
    """The keys of one priority."""

    __slots__ = ("parked", "turns")

    def __init__(self) -> None:
        self.turns: OrderedDict[Hashable, Tenants[K]] = OrderedDict()
        """Lanes with keys that may be taken, in the order of their turns."""
        self.parked: dict[Hashable, Tenants[K]] = {}
        """Lanes with keys that must wait until one of the lane's workers is free."""


class Lanes(Generic[K]):
    """Ready keys. A key is here at most once; its priority can only be raised."""

    def __init__(self, lane_limit: int | None = None) -> None:
        self._limit = lane_limit
        self._levels: dict[int, _Level[K]] = {}
        self._order: list[int] = []
        self._priority: dict[K, int] = {}
        """The priority of every key that is here. An entry that disagrees is a left-over and is skipped."""
        self._busy: dict[Hashable, int] = {}
        self._turn = 0

    def __len__(self) -> int:
        return len(self._priority)

    def __contains__(self, key: K) -> bool:
        return key in self._priority

    def push(self, key: K, lane: Hashable, priority: int, tenant: Hashable = None) -> None:
        """Add a key behind the others of its tenant in its lane, or raise its priority if it is here with a lower
        one."""
        known = self._priority.get(key)
        if known is not None and known >= priority:
            return
        self._priority[key] = priority
        level = self._levels.get(priority)
        if level is None:
            level = self._levels[priority] = _Level()
            self._order = sorted(self._levels, reverse=True)
        full = self._limit is not None and self._busy.get(lane, 0) >= self._limit
        lanes = level.parked if full else level.turns
        keys = lanes.get(lane)
        if keys is None:
            keys = lanes[lane] = Tenants()
        keys.append(key, tenant)

    def remove(self, key: K, priority: int) -> bool:
        """Take a key out that waits with a priority; whether it did."""
        if self._priority.get(key) != priority:
            return False
        del self._priority[key]
        return True

    def highest(self) -> int | None:
        """The highest priority of which a key may be taken."""
        return next((priority for priority in self._order if self._levels[priority].turns), None)

    def pop(self, *, fair: bool = True) -> tuple[K, Hashable, int] | None:
        """Take the next key; its lane is busy with it until `free`. None when nothing may be taken. Without fairness
        the lowest priority gets no turn of its own."""
        self._turn += 1
        lowest_first = fair and self._turn % LEAST_TURN == 0
        for priority in reversed(self._order) if lowest_first else self._order:
            turns = self._levels[priority].turns
            while turns:
                lane, keys = turns.popitem(last=False)
                key = keys.popleft()
                if keys:
                    turns[lane] = keys
                if self._priority.get(key) != priority:
                    continue
                del self._priority[key]
                self._occupy(lane)
                return key, lane, priority
        return None

    def free(self, lane: Hashable) -> bool:
        """A worker of a lane is free again; whether that makes a key available that was not."""
        if self._limit is None:
            return False
        left = self._busy[lane] - 1
        if left:
            self._busy[lane] = left
        else:
            del self._busy[lane]
        freed = False
        if left == self._limit - 1:
            for level in self._levels.values():
                if (keys := level.parked.pop(lane, None)) is not None:
                    level.turns[lane] = keys
                    freed = True
        return freed

    def _occupy(self, lane: Hashable) -> None:
        if self._limit is None:
            return
        busy = self._busy[lane] = self._busy.get(lane, 0) + 1
        if busy == self._limit:
            for level in self._levels.values():
                if (keys := level.turns.pop(lane, None)) is not None:
                    level.parked[lane] = keys
