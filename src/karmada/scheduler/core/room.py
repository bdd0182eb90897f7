"""How much room clusters have for one kind of replica, kept between requests that ask the same.

With many clusters the first answer is computed for all of them at once on columns of numbers (numpy, loaded only then);
afterwards clusters that change are worked out one by one. The dictionary is never changed in place.
"""

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

from karmada.api.quantity import QuantityError
from karmada.api.work.v1alpha2 import ReplicaRequirements
from karmada.scheduler.core.amounts import UNLIMITED, requested
from karmada.scheduler.core.snapshot import Snapshot

if TYPE_CHECKING:
    from karmada.scheduler.core.columns import Columns

MANY = 256
"""From so many clusters on columns pay."""


class Room:
    """Replicas that fit into every cluster."""

    def __init__(self, snapshot: Snapshot, key: Hashable, needs: Mapping[str, int] | None, by_model: bool) -> None:
        self.key = key
        self._needs = needs
        self._by_model = by_model
        self._version = snapshot.version
        self.of: dict[str, int] = self._all(snapshot)
        self.unlimited = {name for name, count in self.of.items() if count == UNLIMITED}
        """Clusters whose room is unknown but ample: they count as having just what is asked for."""

    def refresh(self, snapshot: Snapshot) -> None:
        """Bring it up to date with the snapshot."""
        changed = snapshot.changes_since(self._version)
        if changed is None:
            self.of = self._all(snapshot)
            self.unlimited = {name for name, count in self.of.items() if count == UNLIMITED}
        elif changed:
            news = {
                name: snapshot.capacity(name).replicas(self._needs, self._by_model)
                for name in changed
                if name in snapshot.clusters
            }
            if any(self.of.get(name) != news.get(name) for name in changed):
                found = self.of | news
                for name in changed - news.keys():
                    found.pop(name, None)
                self.of = found
                self.unlimited -= changed
                self.unlimited |= {name for name, count in news.items() if count == UNLIMITED}
        self._version = snapshot.version

    def _all(self, snapshot: Snapshot) -> dict[str, int]:
        if len(snapshot.clusters) >= MANY:
            return columns_of(snapshot).room(self._needs, self._by_model)
        return {name: snapshot.capacity(name).replicas(self._needs, self._by_model) for name in snapshot.clusters}


def columns_of(snapshot: Snapshot) -> "Columns":
    """The columns of a snapshot, up to date."""
    from karmada.scheduler.core.columns import Columns

    found: Columns | None = snapshot.kept("columns", ())
    if found is None:
        found = snapshot.keep("columns", (), Columns(snapshot))
    found.refresh(snapshot)
    return found


def room(snapshot: Snapshot, requirements: ReplicaRequirements | None, by_model: bool) -> Room:
    """The room for replicas with these requirements, up to date; none anywhere for those that ask for nonsense."""
    needs = needs_of(requirements)
    key: Hashable = (None if needs is None else tuple(sorted(needs.items())), by_model)
    found: Room | None = snapshot.kept("room", key)
    if found is None:
        return snapshot.keep("room", key, Room(snapshot, key, needs, by_model))
    found.refresh(snapshot)
    return found


def needs_of(requirements: ReplicaRequirements | None) -> dict[str, int] | None:
    """What one replica asks for; something nobody has where that is no amount."""
    try:
        return None if requirements is None else requested(requirements.resource_request)
    except QuantityError:
        return {"": UNLIMITED}
