"""Taint manager: evicts workloads from clusters whose NoExecute taints their placement does not tolerate (any longer).

Runs with the gate Failover and `--enable-no-execute-taint-eviction`. Evictions are paced, and wait while too many
clusters are unhealthy at once. A key is a binding in one cluster; it is reconciled when taints, targets or the applied
placement change, and when a toleration runs out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import msgspec

from karmada.api import annotations, evictions
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import DecodeError, decode
from karmada.api.policy.v1alpha1 import Placement
from karmada.api.taints import NO_EXECUTE
from karmada.controllers.bindings import BY_CLUSTER, Binding, BindingKey, Bindings, clusters_of
from karmada.controllers.context import Context
from karmada.controllers.eviction_storm import PAUSED as STORM_PAUSE
from karmada.controllers.eviction_storm import EvictionStorm, StormOptions
from karmada.controllers.evictions import record_eviction
from karmada.controllers.metrics import ERROR, EVICTIONS, SUCCESS, WaitingEviction
from karmada.machinery.clock import Clock
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result, Retry
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.options import flag
from karmada.machinery.workqueue.queue import Priority
from karmada.policies.failover.state import StateUnavailable
from karmada.policies.failover.taints import eviction_task, remaining_toleration
from karmada.policies.failover.tasks import evict, is_target

COMPONENT = "taint-manager"
PAUSED = 10.0
"""Seconds between two looks at an eviction that a rate of zero holds back, or of which only a cache knows."""


@dataclass(frozen=True, slots=True)
class TaintManagerOptions:
    """Eviction from clusters with NoExecute taints."""

    enabled: bool = flag(False, str, "Evict from clusters with NoExecute taints.", "--enable-no-execute-taint-eviction")
    purge_mode: str = flag(
        evictions.PURGE_GRACEFULLY,
        str,
        "How evicted copies are purged when the policy does not say.",
        "--no-execute-taint-eviction-purge-mode",
        choices=(evictions.PURGE_GRACEFULLY, evictions.PURGE_DIRECTLY),
    )
    rate: float = flag(0.5, float, "Evictions per second; 0 pauses them.", "--resource-eviction-rate")


class PlacementUnknown(Exception):
    """Nobody can say what a binding tolerates; the message says why."""


class EvictionKey(NamedTuple):
    """A binding in one cluster."""

    cluster: str
    binding: BindingKey


class EvictionPace:
    """Gives each eviction its turn, so many per second; a key keeps its turn until it has used it."""

    def __init__(self, rate: float, clock: Clock) -> None:
        self._interval = 1 / rate if rate > 0 else 0.0
        self._is_paused = rate <= 0
        self._clock = clock
        self._free = 0.0
        self._turns: dict[EvictionKey, float] = {}

    def wait(self, key: EvictionKey) -> float:
        """Seconds until a key may evict; 0 uses up its turn."""
        if self._is_paused:
            return PAUSED
        now = self._clock.monotonic()
        turn = self._turns.get(key)
        if turn is None:
            turn = max(now, self._free)
            self._free = turn + self._interval
        if turn <= now:
            self._turns.pop(key, None)
            return 0.0
        self._turns[key] = turn
        return turn - now

    @property
    def waiting(self) -> tuple[EvictionKey, ...]:
        """Those whose turn has not come."""
        return tuple(self._turns)

    def forget(self, key: EvictionKey) -> None:
        """The key has nothing to evict any more."""
        self._turns.pop(key, None)


class TaintManager:
    """Evicts bindings from tainted clusters, each at its turn."""

    def __init__(self, context: Context, options: TaintManagerOptions, storm: EvictionStorm | None = None) -> None:
        self._storm = storm or EvictionStorm(context, StormOptions())
        self._gates = context.gates
        self._clock = context.clock
        self._options = options
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._server = context.client.of(Cluster)
        self._bindings = Bindings(context)
        for informer in self._bindings.informers:
            informer.add_index(BY_CLUSTER, clusters_of)
        self._loading = True
        """Whether an informer has not completed its first load."""
        self._recorder = context.recorder(COMPONENT)
        # Bindings of both scopes have a pace of their own: one kind does not hold up the other.
        self._paces = {scope: EvictionPace(options.rate, context.clock) for scope in (True, False)}
        self._metrics = context.metrics
        self._metrics.waiting_evictions = self._waiting
        self.controller: Controller[EvictionKey] = Controller(
            COMPONENT,
            self.reconcile,
            workers=5,
            needs=(self._clusters, *self._bindings.informers),
            lane=lambda key: key.cluster,
            clock=context.clock,
        )
        self.controller.watch(self._clusters, self._cluster_changed)
        for informer in self._bindings.informers:
            self.controller.watch(informer, self._binding_changed)
            informer.add_load_handler(self._loaded)
        self._clusters.add_load_handler(self._loaded)

    async def reconcile(self, key: EvictionKey) -> Result:
        """Evict a binding from a cluster if its tolerations have run out."""
        cluster, binding = self._clusters.get(key.cluster), self._bindings.get(key.binding)
        pace = self._paces[bool(key.binding.namespace)]
        if cluster is None or binding is None or binding.metadata.deletion_timestamp is not None:
            pace.forget(key)
            return DONE
        if not _is_tainted(cluster) or not is_target(binding.spec, key.cluster):
            pace.forget(key)
            return DONE
        try:
            remaining = self._remaining(cluster, binding)
            if remaining is None:
                pace.forget(key)
                return DONE
            if remaining > 0:
                return RequeueAfter(remaining)
            if self._storm.rages():
                return RequeueAfter(STORM_PAUSE)
            if wait := pace.wait(key):
                return RequeueAfter(wait)
            if not await self._is_due(key.cluster, binding):
                return RequeueAfter(PAUSED)
            return await self._evict(binding, key.cluster)
        except PlacementUnknown as error:
            return Retry(f"the applied placement of {key.binding} {error}")

    def _remaining(self, cluster: Cluster, binding: Binding) -> float | None:
        """Seconds for which the applied placement tolerates the taints of a cluster; None for ever."""
        applied = binding.metadata.annotations.get(annotations.APPLIED_PLACEMENT, "")
        if not applied:
            raise PlacementUnknown("is not known yet")
        try:
            tolerations = decode(applied, Placement).cluster_tolerations
        except DecodeError as error:
            raise PlacementUnknown(f"cannot be read: {error}") from error
        return remaining_toleration(cluster.spec.taints, tolerations, self._clock.now())

    async def _is_due(self, name: str, binding: Binding) -> bool:
        """Whether a binding has to leave a cluster by the taints that the server has: a cache may show some that were
        taken back."""
        try:
            cluster = await self._server.get(name)
        except NotFound:
            return False
        return self._remaining(cluster, binding) == 0

    async def _evict(self, binding: Binding, cluster: str) -> Result:
        def decide(current: Binding) -> Binding:
            tainted = self._clusters.get(cluster)
            if current is not binding and (tainted is None or self._remaining(tainted, current) != 0):
                return current  # it was placed by other tolerations since then, which brings it here again
            observed, failover = current.status.aggregated_status, current.spec.failover
            task = eviction_task(cluster, failover, observed, self._options.purge_mode, self._gates)
            return msgspec.structs.replace(current, spec=evict(current.spec, [task]))

        queue, started, result = EVICTIONS[bool(binding.metadata.namespace)], perf_counter(), ERROR
        try:
            await self._bindings.commit(binding, decide)
            result = SUCCESS
        except (ApiError, StateUnavailable) as error:
            record_eviction(self._recorder, binding, cluster, succeeded=False)
            return Retry(error)
        finally:
            self._metrics.evict.observe(perf_counter() - started, queue)
            self._metrics.evicted[queue, result] += 1
        return DONE

    def _waiting(self) -> Iterator[WaitingEviction]:
        for scope, pace in self._paces.items():
            for key in pace.waiting:
                if (binding := self._bindings.get(key.binding)) is not None:
                    yield WaitingEviction(EVICTIONS[scope], key.cluster, binding.spec.resource.kind)

    def _loaded(self) -> None:
        """Of what came while the other was being loaded for the first time nobody knew that the two belong together."""
        loading = not all(informer.has_synced for informer in (self._clusters, *self._bindings.informers))
        if self._loading and not loading:
            tainted = filter(_is_tainted, self._clusters.values())
            self.controller.enqueue_all(
                (key for cluster in tainted for key in self._keys_of(cluster.metadata.name)), Priority.INITIAL
            )
        self._loading = loading

    def _cluster_changed(self, change: Change[Cluster]) -> tuple[()]:
        """Have every binding of a cluster whose NoExecute taints changed looked at: they may be very many."""
        if change.new is None or not _is_tainted(change.new.value):
            return ()
        if change.old is None or change.old.value.spec.taints != change.new.value.spec.taints:
            priority = Priority.INITIAL if change.initial else Priority.NORMAL
            self.controller.enqueue_all(self._keys_of(change.key.name), priority)
        return ()

    def _keys_of(self, name: str) -> Iterator[EvictionKey]:
        return (EvictionKey(name, BindingKey(*item.key)) for item in self._bindings.loaded(BY_CLUSTER, name))

    def _binding_changed(self, change: Change[Any]) -> list[EvictionKey]:
        """A binding that is new to a tainted cluster, or was scheduled by another placement."""
        if change.new is None or not self._clusters.has_synced:
            return []
        after: Binding = change.new.value
        if change.old is not None and _decisive(change.old.value) == _decisive(after):
            return []
        tainted = (self._clusters.get(target.name) for target in after.spec.clusters)
        key = BindingKey(*change.key)
        return [EvictionKey(found.metadata.name, key) for found in tainted if found is not None and _is_tainted(found)]


def _is_tainted(cluster: Cluster) -> bool:
    return any(taint.effect == NO_EXECUTE for taint in cluster.spec.taints)


def _decisive(binding: Binding) -> tuple[object, ...]:
    return binding.spec.clusters, binding.metadata.annotations.get(annotations.APPLIED_PLACEMENT, "")
