"""Taints and tolerations: what repels, and who puts up with it for how long.

Works on anything with the fields of a taint and a toleration, so it serves clusters and nodes alike.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

NOT_READY = "cluster.karmada.io/not-ready"
"""Set (NoSchedule) while a cluster's Ready condition is False."""
UNREACHABLE = "cluster.karmada.io/unreachable"
"""Set (NoSchedule) while a cluster's Ready condition is Unknown."""
UNSCHEDULABLE = "cluster.karmada.io/unschedulable"
"""Set (NoSchedule) by `karmadactl cordon`."""


class TaintLike(Protocol):
    """The fields of a taint that decide."""

    @property
    def key(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def effect(self) -> str: ...


class TolerationLike(Protocol):
    """The fields of a toleration that decide."""

    @property
    def key(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def effect(self) -> str: ...
    @property
    def toleration_seconds(self) -> int | None: ...


AnyTaint = TypeVar("AnyTaint", bound=TaintLike)


def spell(taint: TaintLike) -> str:
    """`key=value:effect` as kubectl writes it, without empty parts."""
    name = f"{taint.key}={taint.value}" if taint.value else taint.key
    return f"{name}:{taint.effect}" if taint.effect else name


def tolerates(toleration: TolerationLike, taint: TaintLike) -> bool:
    """Empty effect and empty key match all of them; Equal, the default operator, compares values."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def first_untolerated(
    taints: Iterable[AnyTaint], tolerations: Sequence[TolerationLike], effects: Collection[str]
) -> AnyTaint | None:
    """The first taint with one of the effects that nobody tolerates."""
    for taint in taints:
        if taint.effect in effects and not any(tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None


@dataclass(frozen=True, slots=True)
class Untolerated:
    """At least one taint repels at once."""


@dataclass(frozen=True, slots=True)
class ToleratedUntil:
    """All taints are tolerated, the most impatient toleration ends then."""

    deadline: datetime


@dataclass(frozen=True, slots=True)
class ToleratedForever:
    """All taints are tolerated without a limit, or there are none."""


Endurance = Untolerated | ToleratedUntil | ToleratedForever


def endurance(taints: Iterable[tuple[TaintLike, datetime | None]], tolerations: Sequence[TolerationLike]) -> Endurance:
    """How long NoExecute taints, each with the time it was added, are put up with.

    Of the tolerations that match a taint the first is used; a used one limits every taint it matches. A taint without
    a time sets no limit.
    """
    present = [(taint, added) for taint, added in taints if taint.effect == NO_EXECUTE]
    used = []
    for taint, _ in present:
        match = next((toleration for toleration in tolerations if tolerates(toleration, taint)), None)
        if match is None:
            return Untolerated()
        used.append(match)
    deadlines = [
        added + timedelta(seconds=toleration.toleration_seconds)
        for toleration in used
        if toleration.toleration_seconds is not None
        for taint, added in present
        if added is not None and tolerates(toleration, taint)
    ]
    return ToleratedUntil(min(deadlines)) if deadlines else ToleratedForever()
