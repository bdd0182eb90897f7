"""How far a proposed number of replicas may go at once: bounds, stabilisation windows and rates of change."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from karmada.api.autoscaling.v1alpha1 import HorizontalPodAutoscalerBehavior, HPAScalingRules

ABLE_TO_SCALE = "AbleToScale"
SCALING_LIMITED = "ScalingLimited"
_FASTEST_GROWTH = 2
_ALWAYS_ALLOWED = 4
"""Without a behaviour replicas at most double, and may always reach this many."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A recommended number of replicas, or a number of replicas that were added or removed, and when."""

    time: float
    replicas: int


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of a FederatedHPA between two reconciles."""

    recommendations: tuple[Timed, ...] = ()
    scale_ups: tuple[Timed, ...] = ()
    scale_downs: tuple[Timed, ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the replicas of a FederatedHPA may be, and how fast they change."""

    minimum: int
    maximum: int
    downscale_window: float
    """Seconds for which the highest recommendation holds, unless the behaviour gives its own."""
    behavior: HorizontalPodAutoscalerBehavior | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition to be set on the FederatedHPA."""

    type: str
    status: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Allowed:
    """The replicas to be set now, and the conditions that explain them."""

    replicas: int
    stabilized: Condition
    limited: Condition


_STEADY = Condition(ABLE_TO_SCALE, True, "ReadyForNewScale", "recommended size matches current size")
_HELD_UP = Condition(
    ABLE_TO_SCALE,
    True,
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_HELD_DOWN = Condition(
    ABLE_TO_SCALE,
    True,
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
_WITHIN = Condition(SCALING_LIMITED, False, "DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_MANY = Condition(
    SCALING_LIMITED, True, "TooManyReplicas", "the desired replica count is more than the maximum replica count"
)
_TOO_FEW = Condition(
    SCALING_LIMITED, True, "TooFewReplicas", "the desired replica count is less than the minimum replica count"
)
_TOO_FAST_UP = Condition(
    SCALING_LIMITED,
    True,
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
)
_TOO_FAST_DOWN = Condition(
    SCALING_LIMITED,
    True,
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
)


def allowed(current: int, proposed: int, bounds: Bounds, memory: Memory, now: float) -> Allowed:
    """The replicas a proposal comes to now."""
    if bounds.behavior is None:
        return _by_default(current, proposed, bounds, memory, now)
    up = bounds.behavior.scale_up or HPAScalingRules()
    down = bounds.behavior.scale_down or HPAScalingRules()
    wanted = _stabilized(current, proposed, up, down, bounds.downscale_window, memory, now)
    held = _HELD_DOWN if proposed >= current else _HELD_UP
    replicas, limit = _rated(current, wanted, bounds, up, down, memory, now)
    return Allowed(replicas, _STEADY if wanted == proposed else held, limit)


def remembered(memory: Memory, proposed: int, now: float, longest: float) -> Memory:
    """The memory with one more recommendation, without those older than `longest` seconds."""
    kept = tuple(item for item in memory.recommendations if item.time > now - longest)
    return Memory((*kept, Timed(now, proposed)), memory.scale_ups, memory.scale_downs)


def scaled(memory: Memory, before: int, after: int, now: float, longest: float) -> Memory:
    """The memory after replicas changed, without changes older than `longest` seconds."""
    ups = tuple(item for item in memory.scale_ups if item.time > now - longest)
    downs = tuple(item for item in memory.scale_downs if item.time > now - longest)
    if after > before:
        ups = (*ups, Timed(now, after - before))
    elif after < before:
        downs = (*downs, Timed(now, before - after))
    return Memory(memory.recommendations, ups, downs)


def _by_default(current: int, proposed: int, bounds: Bounds, memory: Memory, now: float) -> Allowed:
    since = now - bounds.downscale_window
    wanted = max((proposed, *(item.replicas for item in memory.recommendations if item.time >= since)))
    fastest = max(_FASTEST_GROWTH * current, _ALWAYS_ALLOWED)
    if wanted < bounds.minimum:
        replicas, limit = bounds.minimum, _TOO_FEW
    elif wanted > min(fastest, bounds.maximum):
        replicas, limit = min(fastest, bounds.maximum), _TOO_FAST_UP if fastest < bounds.maximum else _TOO_MANY
    else:
        replicas, limit = wanted, _WITHIN
    return Allowed(replicas, _STEADY if wanted == proposed else _HELD_UP, limit)


def _stabilized(
    current: int,
    proposed: int,
    up: HPAScalingRules,
    down: HPAScalingRules,
    default_window: float,
    memory: Memory,
    now: float,
) -> int:
    """The count nearest to the current one that was recommended within the window of its direction."""
    up_window = up.stabilization_window_seconds or 0
    down_window = down.stabilization_window_seconds
    since_up, since_down = now - up_window, now - (default_window if down_window is None else down_window)
    lowest = min((proposed, *(item.replicas for item in memory.recommendations if item.time > since_up)))
    highest = max((proposed, *(item.replicas for item in memory.recommendations if item.time > since_down)))
    return min(max(current, lowest), highest)


def _rated(
    current: int,
    wanted: int,
    bounds: Bounds,
    up: HPAScalingRules,
    down: HPAScalingRules,
    memory: Memory,
    now: float,
) -> tuple[int, Condition]:
    if wanted > current:
        fastest = max(current, _reach(current, up, memory, now, _grown, widest=max, narrowest=min))
        most = min(fastest, bounds.maximum)
        if wanted > most:
            return most, _TOO_FAST_UP if fastest < bounds.maximum else _TOO_MANY
    elif wanted < current:
        fastest = min(current, _reach(current, down, memory, now, _shrunk, widest=min, narrowest=max))
        fewest = max(fastest, bounds.minimum)
        if wanted < fewest:
            return fewest, _TOO_FAST_DOWN if fastest > bounds.minimum else _TOO_FEW
    return wanted, _WITHIN


def _reach(
    current: int,
    rules: HPAScalingRules,
    memory: Memory,
    now: float,
    move: Callable[[int, str, int], int],
    *,
    widest: Callable[[Iterable[int]], int],
    narrowest: Callable[[Iterable[int]], int],
) -> int:
    """How far the policies of one direction let replicas go, counted from the start of each policy's period."""
    if rules.select_policy == "Disabled" or not rules.policies:
        return current
    reached = []
    for policy in rules.policies:
        since = now - policy.period_seconds
        added = sum(item.replicas for item in memory.scale_ups if item.time > since)
        removed = sum(item.replicas for item in memory.scale_downs if item.time > since)
        reached.append(move(current - added + removed, policy.type, policy.value))
    return narrowest(reached) if rules.select_policy == "Min" else widest(reached)


def _grown(start: int, kind: str, value: int) -> int:
    # Rounded up, so that a small percentage of few replicas still lets them grow. In floating point, as Kubernetes
    # counts: 10 % more than 50 replicas are 56.
    return start + value if kind == "Pods" else math.ceil(start * (1 + value / 100))


def _shrunk(start: int, kind: str, value: int) -> int:
    return start - value if kind == "Pods" else int(start * (1 - value / 100))
