"""What pods and nodes of all members used lately, for `karmadactl top --history`.

Kept in memory only: `POINTS` points of each object, `MOST` objects of each kind. Of more objects, those that were there
first are kept; one that was not measured for two rounds makes room. A round that a member missed is a gap, never a
zero.
"""

import logging
from array import array
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from karmada.api.base import ResourceList
from karmada.api.quantity import Quantity
from karmada.machinery.clock import Clock
from karmada.machinery.codec import reading
from karmada.machinery.errors import BadAnswer
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.resource import EVERYTHING
from karmada.machinery.transport import JSONObject
from karmada.metrics_adapter.fanout import Fanout
from karmada.metrics_adapter.measuring import KINDS, everything

log = logging.getLogger(__name__)
INTERVAL = 30.0
"""Seconds between two rounds."""
POINTS = 60
MOST: Mapping[str, int] = {"nodes": 2_000, "pods": 10_000}
_GAP = -1
_LARGEST = 2**31 - 1
_MEBI = 1 << 20


class Key(NamedTuple):
    """An object of a member."""

    cluster: str
    namespace: str
    name: str


class Used(NamedTuple):
    """What an object used in one round: thousandths of a CPU and MiB of memory."""

    cpu: int
    memory: int


class _Meta(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""


class _Container(msgspec.Struct, frozen=True, gc=False):
    usage: ResourceList = {}


class _Measured(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    usage: ResourceList = {}
    containers: tuple[_Container, ...] = ()


class _Series:
    """The rounds of one object, the last of them `round`."""

    __slots__ = ("cpu", "memory", "round")

    def __init__(self, round_: int) -> None:
        self.cpu = array("i")
        self.memory = array("i")
        self.round = round_

    def put(self, round_: int, used: Used) -> None:
        missed = max(0, min(round_ - self.round - 1, POINTS)) if self.cpu else 0
        for points, value in ((self.cpu, used.cpu), (self.memory, used.memory)):
            points.extend([_GAP] * missed)
            points.append(max(0, min(value, _LARGEST)))
            del points[:-POINTS]
        self.round = round_


class History:
    """The last rounds of every object."""

    def __init__(self) -> None:
        self.round = 0
        self._series: dict[str, dict[Key, _Series]] = {plural: {} for plural in KINDS}
        """Those that were measured last stand last."""

    def put(self, plural: str, measured: Iterable[tuple[Key, Used]]) -> None:
        """Note what objects use in the present round."""
        known, most = self._series[plural], MOST[plural]
        for key, used in measured:
            series = known.pop(key, None)
            if series is None:
                if len(known) >= most and not self._has_dropped(known):
                    continue
                series = _Series(self.round)
            series.put(self.round, used)
            known[key] = series

    def of(self, plural: str, key: Key) -> JSONObject | None:
        """The rounds of an object up to the present one, oldest first; None if nothing is known of it."""
        series = self._series[plural].get(key)
        if series is None:
            return None
        missed = [None] * min(self.round - series.round, POINTS)
        return {
            "intervalSeconds": int(INTERVAL),
            "cpuMilli": [*_shown(series.cpu), *missed][-POINTS:],
            "memoryMebi": [*_shown(series.memory), *missed][-POINTS:],
        }

    def forget_old(self) -> None:
        """Drop objects of which all points are gaps by now."""
        for known in self._series.values():
            for key in [key for key, series in known.items() if self.round - series.round >= POINTS]:
                del known[key]

    def _has_dropped(self, known: dict[Key, _Series]) -> bool:
        """Make room by forgetting what was not measured in this round and the one before."""
        oldest = next(iter(known))
        if known[oldest].round >= self.round - 1:
            return False
        del known[oldest]
        return True


class Sampler:
    """Asks all members every round."""

    def __init__(self, history: History, fanout: Fanout, clock: Clock) -> None:
        self._history = history
        self._fanout = fanout
        self._clock = clock

    async def run(self) -> None:
        """Go on for ever."""
        while True:
            await self.sample()
            await self._clock.sleep(INTERVAL)

    async def sample(self) -> None:
        """One round; members that give no answer have a gap."""
        history = self._history
        history.round += 1
        history.forget_old()
        for plural in KINDS:
            try:
                gathered = await everything(self._fanout, plural, EVERYTHING)
            except Failure:
                return  # The clusters are not loaded yet.
            for cluster, found in gathered.found.items():
                try:
                    measured = [(_key(one, cluster), _used(one)) for one in map(_read, found)]
                except (BadAnswer, ValueError) as error:
                    log.warning("the metrics of %s in cluster %s cannot be read: %s", plural, cluster, error)
                    continue
                history.put(plural, measured)


_decode = msgspec.json.Decoder(_Measured).decode


def _read(body: bytes) -> _Measured:
    return reading(_decode, body)


def _key(one: _Measured, cluster: str) -> Key:
    return Key(cluster, one.metadata.namespace, one.metadata.name)


def _used(one: _Measured) -> Used:
    parts = [one.usage, *(container.usage for container in one.containers)]
    cpu = sum(Quantity.parse(part["cpu"]).milli_value() for part in parts if "cpu" in part)
    memory = sum(Quantity.parse(part["memory"]).value() for part in parts if "memory" in part)
    return Used(cpu, memory // _MEBI)


def _shown(points: Iterable[int]) -> list[int | None]:
    return [None if point == _GAP else point for point in points]
