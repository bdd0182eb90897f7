"""Says of a ServiceExport that there is nothing to export: no cluster it was applied in has a Service of its name.

A Service has EndpointSlices even while no pod is ready, so a cluster without any has no such Service, or one without a
selector and endpoints. The condition is set only when there is something to report, and not before endpoints had time
to be collected.
"""

from karmada.api import conditions, names
from karmada.api.multicluster.v1alpha1 import ServiceExport
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.context import Context
from karmada.controllers.objects import with_status_condition
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.works.slices import EXPORT, MemberKey

COMPONENT = "service-export-status-controller"
WAIT = 30.0
"""Seconds for endpoints to be collected after an export was applied."""


class ServiceExportStatusController:
    """Reconciles the condition `Valid` of ServiceExports; `collected` is the index of Works by exported Service."""

    def __init__(self, context: Context, works: Informer[Work], collected: str) -> None:
        self._clock = context.clock
        self._works = works
        self._collected = collected
        self._exports: Informer[ServiceExport] = context.informers.of(ServiceExport)
        self._bindings: Informer[ResourceBinding] = context.informers.of(ResourceBinding)
        self._commit = Committer(context.client.of(ServiceExport))
        self._since: dict[Key, float] = {}
        """Since when exports were applied and nothing was collected."""
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            needs=(self._exports, self._bindings, works),
            lane=lambda key: key.namespace,
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(self._exports, lambda change: [change.key])
        self.controller.watch(self._bindings, _of_binding)
        self.controller.watch(works, _of_work)

    async def reconcile(self, key: Key) -> Result:
        """Say whether a ServiceExport exports anything."""
        export = self._exports.get(key.name, key.namespace)
        clusters = self._applied(key) if export is not None else []
        if export is None or export.metadata.deletion_timestamp is not None or not clusters:
            self._since.pop(key, None)
            return DONE
        if any(self._works.indexed_items(self._collected, str(MemberKey(each, *key))) for each in clusters):
            self._since.pop(key, None)
            known = any(found.type == conditions.VALID for found in export.status.conditions)
            if known:
                await self._say(export, True, conditions.REASON_EXPORTED, "")
            return DONE
        left = self._since.setdefault(key, self._clock.monotonic()) + WAIT - self._clock.monotonic()
        if left > 0:
            return RequeueAfter(left)
        text = f"no Service {key} with endpoints is in {', '.join(clusters)}: create it, and propagate it there"
        await self._say(export, False, conditions.REASON_NO_SERVICE, text)
        return DONE

    def _applied(self, key: Key) -> list[str]:
        """The clusters in which an export was applied."""
        binding = self._bindings.get(names.binding_name("ServiceExport", key.name), key.namespace)
        reported = binding.status.aggregated_status if binding is not None else ()
        return sorted(item.cluster_name for item in reported if item.applied)

    async def _say(self, export: ServiceExport, valid: bool, reason: str, text: str) -> None:
        decide = with_status_condition(conditions.VALID, valid, reason, text, self._clock.now())
        await self._commit.commit(export, decide)


def _of_binding(change: Change[ResourceBinding]) -> list[Key]:
    resource = change.item.value.spec.resource
    return [Key(resource.namespace, resource.name)] if resource.kind == "ServiceExport" else []


def _of_work(change: Change[Work]) -> list[Key]:
    """The export of a slice whose Work came or went."""
    if change.old is not None and change.new is not None:
        return []
    service = EXPORT.service(change.item.value)
    return [Key(service.namespace, service.name)] if service is not None else []
