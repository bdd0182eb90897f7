"""The last decisions about each binding, for those who ask why. Bounded: the longest untouched binding goes first."""

from collections import OrderedDict, deque
from typing import NamedTuple

from karmada.api.decision import Decision
from karmada.scheduler.keys import BindingKey

PER_BINDING = 5
BINDINGS = 5000


class Noted(NamedTuple):
    """A decision, when it was made and what made the scheduler look."""

    at: float
    cause: str
    decision: Decision


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
            if ring and ring[-1].decision.outcome == noted.decision.outcome:
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
