"""Eviction storm: says on clusters that are not ready, by a condition and an event, that nothing is evicted from them.

Runs with `--unhealthy-clusters-threshold` below 1. The eviction controllers ask `EvictionStorm` before each eviction
and look again after a pause; this one only reports. Evictions go on as soon as enough clusters are ready.
"""

from argparse import ArgumentTypeError
from dataclasses import dataclass

from karmada.api import conditions, events
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import find_condition, is_true
from karmada.controllers.context import Context
from karmada.controllers.objects import with_status_condition
from karmada.machinery.committer import Committer, Written
from karmada.machinery.controller import DONE, Controller, Result
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.options import flag
from karmada.policies.failover.storm import Fleet, fleet_of

COMPONENT = "eviction-storm-controller"
PAUSED = 10.0
"""Seconds between two looks at an eviction that a storm holds back."""


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ArgumentTypeError(f"{text} is no share: write a number from 0 to 1, such as 0.55")
    return value


@dataclass(frozen=True, slots=True)
class StormOptions:
    """When evictions stop because too much fails at once."""

    threshold: float = flag(
        1.0,
        _share,
        "Evict nothing while a larger share of clusters than this is not ready; 1 always evicts.",
        "--unhealthy-clusters-threshold",
    )


class EvictionStorm:
    """Whether evictions have to wait, by the clusters as they are now."""

    def __init__(self, context: Context, options: StormOptions) -> None:
        self._threshold = options.threshold
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)

    @property
    def fleet(self) -> Fleet:
        """The clusters by their readiness."""
        return fleet_of(_readiness(cluster) for cluster in self._clusters.values())

    def rages(self) -> bool:
        """Whether more clusters are unhealthy than evictions are allowed with."""
        return self._threshold < 1 and self.fleet.is_storm(self._threshold)


class EvictionStormController:
    """Keeps the condition EvictionsPaused of clusters up to date."""

    def __init__(self, context: Context, storm: EvictionStorm) -> None:
        self._clock = context.clock
        self._storm = storm
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._recorder = context.recorder(COMPONENT)
        self._commit = Committer(context.client.of(Cluster))
        self.controller: Controller[str] = Controller(
            COMPONENT, self.reconcile, workers=2, needs=(self._clusters,), clock=context.clock
        )
        self.controller.watch(self._clusters, self._readiness_changed)

    async def reconcile(self, name: str) -> Result:
        """Bring the condition of one cluster up to date."""
        cluster = self._clusters.get(name)
        if cluster is None:
            return DONE
        held = self._storm.rages() and _readiness(cluster) is False
        if held == _is_paused(cluster):
            return DONE
        reason = conditions.REASON_MANY_UNHEALTHY if held else conditions.REASON_FEW_UNHEALTHY
        text = f"{self._storm.fleet}: " + ("nothing is evicted" if held else "evictions go on")
        decide = with_status_condition(conditions.EVICTIONS_PAUSED, held, reason, text, self._clock.now())
        if isinstance(await self._commit.commit(cluster, decide), Written):
            kind = events.WARNING if held else events.NORMAL
            self._recorder.event(ObjectReference.to(cluster), kind, reason, text)
        return DONE

    def _readiness_changed(self, change: Change[Cluster]) -> list[str]:
        """Every cluster that is not ready or says so: what one does concerns all of them."""
        before, after = (_readiness(item.value) if item is not None else None for item in (change.old, change.new))
        if not self._clusters.has_synced:
            return [change.key.name]
        if before == after:
            return []
        names = (item.value for item in self._clusters.all_items())
        return [one.metadata.name for one in names if _readiness(one) is False or _is_paused(one)]


def _readiness(cluster: Cluster) -> bool | None:
    found = find_condition(cluster.status.conditions, conditions.READY)
    return None if found is None else found.status == "True"


def _is_paused(cluster: Cluster) -> bool:
    return is_true(cluster.status.conditions, conditions.EVICTIONS_PAUSED)
