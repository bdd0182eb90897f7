"""Graceful eviction: ends the eviction tasks of a binding when the replacement is healthy or their time is up.

This controller is the one that stamps and removes tasks; others only add them. The binding controller deletes the Work
of a cluster once no task keeps it.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.bindings import Binding, BindingKey, Bindings
from karmada.controllers.context import Context
from karmada.controllers.evictions import record_eviction, requeue
from karmada.machinery.committer import Written
from karmada.machinery.controller import DONE, Controller, Result
from karmada.machinery.flags import seconds
from karmada.machinery.informers.cache import Change
from karmada.machinery.options import flag
from karmada.policies.failover.graceful import Assessment, assess

NAMESPACED = "resource-binding-graceful-eviction-controller"
WIDE = "cluster-resource-binding-graceful-eviction-controller"


@dataclass(frozen=True, slots=True)
class GracefulEvictionOptions:
    """How long an evicted copy waits for its replacement."""

    timeout: float = flag(600.0, seconds, "How long a replacement may take.", "--graceful-eviction-timeout")


class GracefulEvictionController:
    """Keeps evicted copies until their replacement is healthy, within their grace period."""

    def __init__(self, context: Context, options: GracefulEvictionOptions) -> None:
        self._clock = context.clock
        self._timeout = options.timeout
        self._bindings = Bindings(context)
        self._recorders = {True: context.recorder(NAMESPACED), False: context.recorder(WIDE)}
        self.controller: Controller[BindingKey] = Controller(
            NAMESPACED, self.reconcile, workers=5, needs=self._bindings.informers, clock=context.clock
        )
        for informer in self._bindings.informers:
            self.controller.watch(informer, _with_tasks)

    async def reconcile(self, key: BindingKey) -> Result:
        """Assess the tasks of one binding."""
        binding = self._bindings.get(key)
        if binding is None or binding.metadata.deletion_timestamp is not None:
            return DONE
        assessment = self._assess(binding)

        def decide(current: Binding) -> Binding:
            nonlocal assessment
            assessment = self._assess(current)
            return _with(current, assessment.kept)

        outcome = await self._bindings.commit(binding, decide)
        if isinstance(outcome, Written):
            for cluster in assessment.evicted:
                record_eviction(self._recorders[isinstance(binding, ResourceBinding)], binding, cluster, succeeded=True)
        return requeue(assessment.requeue_after)

    def _assess(self, binding: Binding) -> Assessment:
        return assess(binding.spec, binding.status, binding.metadata.generation, self._timeout, self._clock.now())


def _with(binding: Binding, tasks: tuple[Any, ...]) -> Binding:
    if tasks == binding.spec.graceful_eviction_tasks:
        return binding
    return msgspec.structs.replace(binding, spec=msgspec.structs.replace(binding.spec, graceful_eviction_tasks=tasks))


def _with_tasks(change: Change[Any]) -> list[BindingKey]:
    if change.new is None or not change.new.value.spec.graceful_eviction_tasks:
        return []
    return [BindingKey(*change.key)]
