"""When bindings are looked at again because a cluster changed: at once, or at a pace while its readiness flaps.

The taints of readiness follow what a member says of itself, and each look renews the status of every binding that may
go there: one that is ready and not ready in turns must not have all of them written each time. New decisions heed a
taint at once, and taints that people or their policies set are looked at at once.
"""

import asyncio
from collections import deque
from collections.abc import Callable

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster, ClusterSpec
from karmada.api.taints import NO_SCHEDULE, NOT_READY, UNREACHABLE
from karmada.machinery.clock import Clock

_OF_READINESS = ((NOT_READY, NO_SCHEDULE), (UNREACHABLE, NO_SCHEDULE))
MOST, PERIOD = 4, 120.0
"""Looks because of the readiness of one cluster within so many seconds."""


class ClusterLooks:
    """Calls `look` with the states of a cluster before and after its changes."""

    def __init__(self, look: Callable[[tuple[Cluster, ...]], None], clock: Clock) -> None:
        self._look = look
        self._clock = clock
        self._times: dict[str, deque[float]] = {}
        self._waiting: dict[str, tuple[tuple[Cluster, ...], asyncio.TimerHandle]] = {}
        """The changes that nobody has looked at, by cluster."""

    def changed(self, versions: tuple[Cluster, ...]) -> None:
        """A cluster changed from the first of these states to the last."""
        name = versions[-1].metadata.name
        times = self._times.setdefault(name, deque(maxlen=MOST))
        now = self._clock.monotonic()
        pause = times[0] + PERIOD - now if len(times) == MOST else 0.0
        waiting = self._waiting.pop(name, None)
        if pause > 0 and _differ_in_readiness(versions):
            if waiting is None:
                waiting = versions, self._clock.call_later(pause, lambda: self._due(name))
            self._waiting[name] = ((*waiting[0][:1], versions[-1]), waiting[1])
            return
        if waiting is not None:
            waiting[1].cancel()
            versions = (waiting[0][0], *versions)
        if _differ_in_readiness(versions):
            times.append(now)
        self._look(versions)

    def forget(self, name: str) -> None:
        """A cluster is gone."""
        self._times.pop(name, None)
        if (waiting := self._waiting.pop(name, None)) is not None:
            waiting[1].cancel()

    def close(self) -> None:
        """Look at nothing any more."""
        for name in list(self._waiting):
            self.forget(name)

    def _due(self, name: str) -> None:
        versions, _ = self._waiting.pop(name)
        self._times[name].append(self._clock.monotonic())
        self._look(versions)


def _differ_in_readiness(versions: tuple[Cluster, ...]) -> bool:
    """Whether nothing but the taints of readiness differs of what decides where bindings may go."""
    before, after = versions[0], versions[-1]
    return (
        before is not after
        and after.metadata.deletion_timestamp is None
        and before.metadata.labels == after.metadata.labels
        and _as_ready(before.spec) == _as_ready(after.spec)
    )


def _as_ready(spec: ClusterSpec) -> ClusterSpec:
    kept = tuple(one for one in spec.taints if (one.key, one.effect) not in _OF_READINESS)
    return msgspec.structs.replace(spec, taints=kept)
