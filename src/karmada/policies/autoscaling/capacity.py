"""How many of the replicas that metrics ask for the clusters have room for (gate `RoomAwareScaling`).

Replicas that nobody has room for are not asked for: they would wait for nodes, and a division by room would fail as a
whole. A cluster that does not say what it has limits nobody.
"""

from collections.abc import Sequence
from typing import NamedTuple

from karmada.policies.autoscaling.limits import SCALING_LIMITED, Condition

SETTLING = 20.0
"""Seconds until replicas are pods in the figures of their cluster, which reports every ten."""
INSUFFICIENT, SCALING_OUT = "InsufficientCapacity", "ScalingOut"


class Room(NamedTuple):
    """What a cluster has left for one kind of replica."""

    cluster: str
    replicas: int | None
    """How many more fit; None when the cluster does not say."""
    scarce: str
    """The resource of which there is least."""
    runs: bool
    """Whether the workload runs there."""


class Fit(NamedTuple):
    """The replicas to be asked for, and the condition that says why; None where all fit where the workload runs."""

    replicas: int
    condition: Condition | None = None


def fit(current: int, wanted: int, rooms: Sequence[Room], uncounted: int = 0) -> Fit:
    """What there is room for; replicas that run already are never given up for want of it.

    `uncounted` replicas were added so lately that they take room which clusters still report as free.
    """
    growth = wanted - current
    if growth <= 0 or not rooms:
        return Fit(wanted)
    needed = growth + uncounted
    here = [room for room in rooms if room.runs]
    elsewhere = [room for room in rooms if not room.runs]
    if _holds(here, needed):
        return Fit(wanted)
    if _holds(rooms, needed):
        # Those with most room first: it is them that the scheduler turns to.
        others = sorted(elsewhere, key=lambda room: (room.replicas is not None, -(room.replicas or 0), room.cluster))
        names = ", ".join(room.cluster for room in others if room.replicas is None or room.replicas > 0)
        text = f"{_spelled(here)}; {names} can take the rest of {growth} more"
        return Fit(wanted, Condition(SCALING_LIMITED, False, SCALING_OUT, text))
    total = max(0, sum(room.replicas or 0 for room in rooms) - uncounted)
    text = f"{growth} more replicas are wanted, {total} fit: {_spelled(rooms)}"
    return Fit(current + total, Condition(SCALING_LIMITED, True, INSUFFICIENT, text))


def _holds(rooms: Sequence[Room], replicas: int) -> bool:
    return any(room.replicas is None for room in rooms) or sum(room.replicas or 0 for room in rooms) >= replicas


def _spelled(rooms: Sequence[Room]) -> str:
    return ", ".join(f"{room.cluster} has room for {room.replicas} more (insufficient {room.scarce})" for room in rooms)
