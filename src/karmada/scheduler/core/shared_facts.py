"""What requests that ask the same have in common: who fits, what room there is, and the order of the two.

Found by one look at what the request depends on, and up to date when handed out.
"""

from collections.abc import Hashable
from typing import NamedTuple

from karmada.scheduler.core.capacity import Question, question_of, room, takes_room
from karmada.scheduler.core.fitting import Signature, fit
from karmada.scheduler.core.framework import Framework
from karmada.scheduler.core.order import Order
from karmada.scheduler.core.request import Request
from karmada.scheduler.core.snapshot import Memo, Snapshot


class WantedFacts(NamedTuple):
    """What a request wants to know about clusters."""

    signature: Signature
    question: Question | None
    """About their room; None when the request takes none."""
    key: Hashable
    """What makes two requests ask the same."""


def wanted_facts(request: Request, framework: Framework) -> WantedFacts | None:
    """What a request asks; None where it is of no usual kind, or a filter cannot say what its answers depend on."""
    if len(request.tiers) > 1 or not framework.scores_by_locality:
        return None
    signature = framework.signature(request)
    if signature is None:
        return None
    question = question_of(request) if takes_room(request) else None
    return WantedFacts(signature, question, (signature, None if question is None else question.key))


class Basis:
    """Fitting clusters, their capacity and their order for all requests of one signature, brought up to date on use."""

    def __init__(self, snapshot: Snapshot, framework: Framework, request: Request, wanted: WantedFacts) -> None:
        self._version = -1
        self.fit = fit(snapshot, framework, request, wanted.signature)
        self.room = room(snapshot, wanted.question) if wanted.question is not None else None
        """Of all clusters; None when the request takes none."""
        self.order = Order()

    def refresh(self, snapshot: Snapshot, request: Request) -> None:
        """Bring it up to date with the snapshot."""
        if self._version == snapshot.version:
            return
        self.fit.refresh(snapshot, request)
        if self.room is not None:
            self.room.refresh(snapshot)
        self.order.refresh(snapshot, self.fit.names, None if self.room is None else self.room.of)
        self._version = snapshot.version


_BASES = Memo[Basis]()


def basis_of(snapshot: Snapshot, framework: Framework, request: Request, wanted: WantedFacts) -> Basis:
    """What is kept for a request, up to date."""
    found = snapshot.kept(_BASES, wanted.key, lambda: Basis(snapshot, framework, request, wanted))
    found.refresh(snapshot, request)
    return found
