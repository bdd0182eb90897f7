"""What requests that ask the same have in common: who fits, what room there is, and the order of the two.

Found by one look at what the request depends on, and up to date when handed out.
"""

from karmada.scheduler.core.fitting import Signature, fit
from karmada.scheduler.core.framework import Framework
from karmada.scheduler.core.order import Order
from karmada.scheduler.core.request import Request
from karmada.scheduler.core.room import Question, question_of, room, takes_room
from karmada.scheduler.core.snapshot import Snapshot


class Basis:
    """See the module."""

    def __init__(self, snapshot: Snapshot, framework: Framework, request: Request, asked: "_Asked") -> None:
        self._version = -1
        self.fit = fit(snapshot, framework, request, asked[0])
        self.room = room(snapshot, asked[1]) if asked[1] is not None else None
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


_Asked = tuple[Signature, Question | None]


def basis_of(snapshot: Snapshot, request: Request, framework: Framework) -> Basis | None:
    """What is kept for a request; None when a filter cannot say what its answers depend on."""
    signature = framework.signature(request)
    if signature is None:
        return None
    question = question_of(request) if takes_room(request) else None
    key = (signature, None if question is None else question.key)
    found: Basis | None = snapshot.kept("basis", key)
    if found is None:
        found = snapshot.keep("basis", key, Basis(snapshot, framework, request, (signature, question)))
    found.refresh(snapshot, request)
    return found
