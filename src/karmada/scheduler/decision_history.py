"""The last decisions about each binding, for those who ask why. Bounded: the longest untouched binding goes first.

A decision names all clusters, and holds on to what was known about them: packed, it takes a few bytes for each. It is
unpacked when somebody reads it.
"""

import zlib
from collections import OrderedDict, deque

from karmada.api import decision as decisions
from karmada.api.decision import Decision, Outcome
from karmada.scheduler.keys import BindingKey

PER_BINDING = 5
BINDINGS = 5000


class Noted:
    """A decision, when it was made and what made the scheduler look."""

    __slots__ = ("_decision", "_packed", "at", "cause", "outcome")

    def __init__(self, at: float, cause: str, decision: Decision) -> None:
        self.at = at
        self.cause = cause
        self.outcome = decision.outcome
        self._decision: Decision | None = decision
        self._packed = b""

    @classmethod
    def restored(cls, at: float, cause: str, outcome: Outcome, packed: bytes) -> "Noted":
        """One that was packed before."""
        noted = cls.__new__(cls)
        noted.at, noted.cause, noted.outcome = at, cause, outcome
        noted._decision, noted._packed = None, packed
        return noted

    @property
    def decision(self) -> Decision:
        """The decision itself."""
        return self._decision or decisions.decode(zlib.decompress(self._packed))

    def packed(self) -> bytes:
        """The decision as bytes, from now on kept in place of it. Any thread may call this while others read."""
        decision = self._decision
        if decision is not None:
            self._packed = zlib.compress(decisions.encode(decision), 1)
            self._decision = None
        return self._packed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Noted):
            return NotImplemented
        return (self.at, self.cause, self.decision) == (other.at, other.cause, other.decision)

    def __hash__(self) -> int:
        return hash((self.at, self.cause))


class DecisionHistory:
    """The last decisions about each binding; the longest untouched binding is forgotten first."""

    def __init__(self, per_binding: int = PER_BINDING, bindings: int = BINDINGS) -> None:
        self._per_binding = per_binding
        self._bindings = bindings
        self._noted: OrderedDict[BindingKey, deque[Noted]] = OrderedDict()
        self.touched: set[BindingKey] | None = None
        """The bindings of which something was noted or forgotten, for whoever keeps the history; None: nobody does."""

    def note(self, key: BindingKey, noted: Noted) -> None:
        """Remember a decision. One that says nothing new replaces the one before it."""
        ring = self._noted.get(key)
        if ring is None:
            ring = self._noted[key] = deque(maxlen=self._per_binding)
            if len(self._noted) > self._bindings:
                self._noted.popitem(last=False)
        else:
            self._noted.move_to_end(key)
            if ring and ring[-1].outcome == noted.outcome:
                ring.pop()
        ring.append(noted)
        if self.touched is not None:
            self.touched.add(key)

    def of(self, key: BindingKey) -> list[Noted]:
        """What is remembered about a binding, newest first."""
        return list(reversed(self._noted.get(key, ())))

    def forget(self, key: BindingKey) -> None:
        """The binding is gone."""
        self._noted.pop(key, None)
        if self.touched is not None:
            self.touched.add(key)
