"""How often members may have the control plane write: by Work, and by member whatever its Works.

What a rollout reports of itself stays far below. A member that changes its objects all the time, undoes what is written
to it, or reports large statuses, is answered at these rates, and holds up nobody else.
"""

from collections import OrderedDict

from karmada.machinery.clock import Clock
from karmada.machinery.informers.cache import Key
from karmada.machinery.limits import KIB
from karmada.machinery.throttle import TokenBucket

WORK_BURST, WORK_RATE = 20, 1.0
"""Writes that one Work may cause at once, and a second."""
MEMBER_BURST, MEMBER_RATE = 5_000, 200.0
"""The same for all Works of a member; one write counts for every 4 KiB that it carries."""
UNIT = 4 * KIB
REMEMBERED = 4096
"""Works whose rate is known; of a member that uses more its own rate is the limit."""


class Pace:
    """Limits how often members cause writes to the control plane: per Work, and per member over all of its Works."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._works: OrderedDict[Key, TokenBucket] = OrderedDict()
        self._members: dict[str, TokenBucket] = {}

    def wait(self, work: Key) -> float:
        """How long to wait with the next write for a Work."""
        now = self._clock.monotonic()
        buckets = (self._works.get(work), self._members.get(work.namespace))
        return max((bucket.wait(now) for bucket in buckets if bucket is not None), default=0.0)

    def take(self, work: Key, size: int = 0) -> None:
        """A write for a Work happens."""
        now = self._clock.monotonic()
        of_work = self._works.pop(work, None) or TokenBucket(WORK_BURST, WORK_RATE, now)
        self._works[work] = of_work
        if len(self._works) > REMEMBERED:
            self._works.popitem(last=False)
        of_member = self._members.get(work.namespace)
        if of_member is None:
            of_member = self._members[work.namespace] = TokenBucket(MEMBER_BURST, MEMBER_RATE, now)
        of_work.take(1, now)
        of_member.take(1 + size / UNIT, now)

    def forget(self, member: str) -> None:
        """The member is gone; `member` is the namespace of its Works."""
        self._members.pop(member, None)
