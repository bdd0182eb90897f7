"""What the scheduler decided about a binding, and why: plain data for conditions, events, `why` and `simulate`.

A decision holds one attempt per affinity term that was tried. Mappings by cluster name may be views that are computed
when they are read: deciding must not pay for details nobody looks at.

Two kinds of "no" are two families of types. `NotNow`: clusters fit but lack room, it may work later as it is.
`Impossible`: nothing changes until somebody changes the placement or the clusters.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import msgspec

from karmada.api import conditions
from karmada.api.base import Struct
from karmada.api.work.v1alpha2 import TargetCluster


class Placed(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """The binding goes to these clusters."""

    REASON: ClassVar[str] = conditions.REASON_SCHEDULE_SUCCESS

    clusters: tuple[TargetCluster, ...] = ()
    """The result, as `spec.clusters` gets it."""


class NotEnoughRoom(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Clusters fit but cannot hold all replicas now."""

    REASON: ClassVar[str] = conditions.REASON_UNSCHEDULABLE

    message: str
    """For people."""


class NoClusterFits(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Every cluster was rejected."""

    REASON: ClassVar[str] = conditions.REASON_NO_CLUSTER_FIT

    message: str
    """For people."""


class ConstraintUnmet(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """The clusters that fit cannot satisfy the placement."""

    REASON: ClassVar[str] = conditions.REASON_SCHEDULER_ERROR

    message: str
    """For people."""


NotNow = NotEnoughRoom
Impossible = NoClusterFits | ConstraintUnmet
No = NotNow | Impossible
Outcome = Placed | No


class Rejection(Struct, frozen=True, kw_only=True):
    """A filter that said no."""

    plugin: str
    """Which one."""
    reason: str
    """Why, as the condition spells it."""


class Group(Struct, frozen=True, kw_only=True):
    """Clusters with the same region (or zone, provider, label value)."""

    name: str
    """The common value."""
    clusters: int
    """How many clusters it has."""
    weight: int
    """How well it could hold its part."""
    chosen: bool = False
    """Whether it belongs to the chosen combination."""


class Division(Struct, frozen=True, kw_only=True):
    """How replicas were shared."""

    strategy: str
    """Duplicated, StaticWeight, DynamicWeight or Aggregated."""
    mode: str
    """whole, within room, scale up, scale down, keep or fresh."""
    replicas: int
    """How many were shared in this step."""
    weights: Mapping[str, int] = {}
    """The weight of each cluster that took part."""
    held: Mapping[str, int] = {}
    """What clusters held before and keep."""


class Attempt(Struct, frozen=True, kw_only=True):
    """One run of the algorithm, for one affinity term."""

    affinity: str = ""
    """The term of clusterAffinities; empty if the placement has none."""
    outcome: Outcome
    """How it ended."""
    rejections: Mapping[str, tuple[Rejection, ...]] = {}
    """The clusters that do not fit, with every filter that said no."""
    scores: Mapping[str, Mapping[str, int]] = {}
    """The clusters that fit, with their score by plugin."""
    estimates: Mapping[str, int] = {}
    """Replicas (or whole component sets) that still fit into each cluster; absent when nobody asked."""
    groups: tuple[Group, ...] = ()
    """Groups of clusters that were weighed for a spread constraint."""
    combinations: int = 0
    """How many combinations of groups satisfied the constraints."""
    selected: Sequence[str] = ()
    """The clusters left after the spread constraints, best first."""
    divisions: tuple[Division, ...] = ()
    """The arithmetic, one per tier of affinities."""


class Decision(Struct, frozen=True, kw_only=True):
    """The outcome of one scheduling of one binding."""

    previous: tuple[TargetCluster, ...] = ()
    """Where the binding was before."""
    attempts: tuple[Attempt, ...]
    """The affinity terms tried, in order."""
    outcome: Outcome
    """How it ended: that of the attempt that succeeded, or of the first."""
    affinity: str = ""
    """The term that succeeded."""

    @property
    def decisive(self) -> Attempt:
        """The attempt the outcome comes from."""
        return self.attempts[-1] if isinstance(self.outcome, Placed) else self.attempts[0]


@runtime_checkable
class View(Protocol):
    """A mapping or sequence that is computed when it is read."""

    def plain(self) -> object:
        """All of it at once, for an encoder: with thousands of clusters that is much less work than one by one."""
        ...


def encode(decision: Decision) -> bytes:
    """As JSON."""
    return msgspec.json.encode(decision, enc_hook=_plain)


def decode(data: bytes) -> Decision:
    """From JSON."""
    return msgspec.json.decode(data, type=Decision)


def _plain(value: Any) -> Any:
    if isinstance(value, View):
        return value.plain()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise NotImplementedError(f"a decision holds no {type(value).__name__}")
