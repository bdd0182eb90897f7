"""How much room clusters have for one kind of replica, kept between requests that ask the same.

With many clusters the first answer is computed for all of them at once on columns of numbers (numpy, loaded only then);
afterwards clusters that change are worked out one by one. The dictionary is never changed in place.
"""

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from karmada.api.quantity import QuantityError
from karmada.api.work.v1alpha2 import ReplicaRequirements
from karmada.machinery.extras import has_numpy
from karmada.scheduler.core.amounts import UNLIMITED, requested
from karmada.scheduler.core.estimation import Capacity, demands_of
from karmada.scheduler.core.request import Request
from karmada.scheduler.core.simulation import Demand
from karmada.scheduler.core.snapshot import Memo, Snapshot

if TYPE_CHECKING:
    from karmada.scheduler.core.columns import Columns

MANY = 256
"""From so many clusters on columns pay."""


class Question(NamedTuple):
    """What is asked about every cluster."""

    needs: Mapping[str, int] | None
    """What one replica asks for; None for nothing but a pod."""
    by_model: bool
    """Whether grade models are looked at."""
    sets: tuple[Demand, ...] | None = None
    """The parts of a set of components, if whole sets are asked about."""

    def answer(self, capacity: Capacity) -> int:
        """How many fit into a cluster."""
        if self.sets is not None:
            return capacity.sets(self.sets, self.by_model)
        return capacity.replicas(self.needs, self.by_model)

    @property
    def key(self) -> Hashable:
        """What makes two questions the same."""
        if self.sets is not None:
            return tuple((demand.replicas, _hashable(demand.needs)) for demand in self.sets), self.by_model
        return _hashable(self.needs), self.by_model


def takes_room(request: Request) -> bool:
    """Whether the binding takes room in clusters at all."""
    return request.spec.replicas != 0 or bool(request.spec.components)


def question_of(request: Request) -> Question:
    """The question a request asks; an invalid quantity is an unsatisfiable one."""
    by_model = request.settings.by_model
    if request.places_sets:
        return Question(None, by_model, tuple(demands_of(request.spec.components)))
    return Question(needs_of(request.spec.replica_requirements), by_model)


def _hashable(needs: Mapping[str, int] | None) -> Hashable:
    return None if needs is None else tuple(needs.items())


class Room:
    """What fits into every cluster."""

    def __init__(self, snapshot: Snapshot, question: Question) -> None:
        self.question = question
        self._version = snapshot.version
        self.of: dict[str, int] = self._all(snapshot)
        self.unlimited = {name for name, count in self.of.items() if count >= UNLIMITED}
        """Clusters whose room is unknown but ample: they count as having just what is asked for."""

    def refresh(self, snapshot: Snapshot) -> None:
        """Bring it up to date with the snapshot."""
        changed = snapshot.changes_since(self._version)
        if changed is None:
            self.of = self._all(snapshot)
            self.unlimited = {name for name, count in self.of.items() if count >= UNLIMITED}
        elif changed:
            answer = self.question.answer
            answers = {name: answer(snapshot.capacity(name)) for name in changed if name in snapshot.clusters}
            if any(self.of.get(name) != answers.get(name) for name in changed):
                found = self.of | answers
                for name in changed - answers.keys():
                    found.pop(name, None)
                self.of = found
                self.unlimited -= changed
                self.unlimited |= {name for name, count in answers.items() if count >= UNLIMITED}
        self._version = snapshot.version

    def _all(self, snapshot: Snapshot) -> dict[str, int]:
        question = self.question
        if len(snapshot.clusters) >= MANY and question.sets is None and has_numpy():
            return columns_of(snapshot).room(question.needs, question.by_model)
        return {name: question.answer(snapshot.capacity(name)) for name in snapshot.clusters}


_ROOMS = Memo[Room]()
_COLUMNS: "Memo[Columns]" = Memo(1)


def columns_of(snapshot: Snapshot) -> "Columns":
    """The columns of a snapshot, up to date."""
    from karmada.scheduler.core.columns import Columns

    found: Columns = snapshot.kept(_COLUMNS, (), Columns)
    found.refresh(snapshot)
    return found


def room(snapshot: Snapshot, question: Question) -> Room:
    """The answers to a question, to be brought up to date."""
    return snapshot.kept(_ROOMS, question.key, lambda: Room(snapshot, question))


def needs_of(requirements: ReplicaRequirements | None) -> Mapping[str, int] | None:
    """What one replica asks for; an invalid quantity is an unsatisfiable request."""
    try:
        return None if requirements is None else requested(requirements.resource_request)
    except QuantityError:
        return {"": UNLIMITED}
