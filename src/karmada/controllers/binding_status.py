"""Binding status controller: puts together what the Works of a binding say, for the binding and for its template."""

from typing import Any

import msgspec

from karmada.api import conditions, events, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import AggregatedStatusItem, ResourceBinding
from karmada.controllers.bindings import (
    OF_BINDING,
    Binding,
    BindingKey,
    Bindings,
    belongs,
    key_of,
    of_binding,
    owners_of,
    permanent_id,
)
from karmada.controllers.clusters import is_ready
from karmada.controllers.context import Context
from karmada.controllers.objects import with_condition
from karmada.controllers.template_status import aggregated_status
from karmada.controllers.templates import AwaitedTemplates, ForeignResource, Templates
from karmada.interpreter.model import InterpretError, Operation, kind_of
from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.machinery.committer import Committer, Written
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.machinery.workqueue.queue import Priority
from karmada.works.availability import is_judged, with_conditions, without_ours
from karmada.works.status import aggregate, counted, is_fully_applied

NAMESPACED, WIDE = "resource-binding-status-controller", "cluster-resource-binding-status-controller"
GATHERING = 0.05
"""Seconds in which reports of several Works are gathered into one write."""
PATIENCE = 1.0
"""Seconds in which the Works of a binding that was just scheduled are expected to report."""
UNDER_WAY = 10.0
"""The same for Works that are known to be on their way to a member that is ready: nothing is said without them."""
_SUCCESS = "All works have been successfully applied"
_FAILURE = "Failed to apply all works, see status.aggregatedStatus for details"


class BindingStatusController:
    """Aggregates the statuses of a binding's Works into the binding and its template."""

    def __init__(self, context: Context, templates: Templates) -> None:
        self._context = context
        self._templates = templates
        self._bindings = Bindings(context)
        self._works: Informer[Work] = context.informers.of(Work)
        self._works.add_index(OF_BINDING, of_binding)
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._recorders = {True: context.recorder(NAMESPACED), False: context.recorder(WIDE)}
        self.controller: Controller[BindingKey] = Controller(
            NAMESPACED,
            self.reconcile,
            workers=context.concurrency.bindings,
            needs=(*self._bindings.informers, self._works, self._clusters),
            lane=lambda key: key.namespace,
            clock=context.clock,
        )
        self._awaited = AwaitedTemplates(templates, self.controller.enqueue)
        self._works.add_handler(self._works_changed)
        self._bindings.namespaced.add_handler(self._bindings_changed)
        self._bindings.wide.add_handler(self._bindings_changed)

    def _works_changed(self, changes: list[Change[Work]]) -> None:
        """Works of one binding report one after another: wait a moment, then put them together once."""
        for change in changes:
            for key in _reported(change):
                if change.initial:
                    self.controller.queue.add(key, Priority.INITIAL)
                else:
                    self.controller.queue.add_after(key, GATHERING)

    def _bindings_changed(self, changes: list[Change[Any]]) -> None:
        for change in changes:
            for key in _scheduled(change):
                if change.initial:
                    self.controller.queue.add(key, Priority.INITIAL)
                else:
                    self.controller.queue.add_after(key, PATIENCE)

    async def reconcile(self, key: BindingKey) -> Result:
        """Bring the status of one binding and of its template up to date."""
        binding = self._bindings.get(key)
        if binding is None or binding.metadata.deletion_timestamp is not None:
            self._awaited.forget(key)
            return DONE
        marked = self._works.indexed_items(OF_BINDING, permanent_id(binding))
        works = counted([work for item in marked if belongs(work := item.value, binding)], binding.spec)
        if self._is_under_way(binding, works):
            return RequeueAfter(PATIENCE)
        items = aggregate(works, binding.spec.resource)
        with self._context.tracer.span("aggregate status", binding.metadata.annotations):
            await self._write_binding(binding, items)
            await self._write_template(binding, items)
        return DONE

    def _is_under_way(self, binding: Binding, works: list[Work]) -> bool:
        """Whether the first report of a Work is imminent: it comes here by itself, and one write reports all."""
        scheduled = binding.status.last_scheduled_time
        if scheduled is None or self._context.clock.now() - parse_rfc3339(scheduled) > UNDER_WAY:
            return False
        return any(
            not work.status.conditions
            and not work.spec.suspend_dispatching
            and (cluster := self._clusters.get(names.cluster_of_execution_space(work.metadata.namespace))) is not None
            and is_ready(cluster)
            for work in works
        )

    async def _write_binding(self, binding: Binding, items: tuple[AggregatedStatusItem, ...]) -> None:
        now = self._context.clock.now()

        def decide(current: Any) -> Any:
            complete = is_fully_applied(current.spec, items)
            found = with_condition(
                current.status.conditions,
                conditions.FULLY_APPLIED,
                complete,
                conditions.REASON_FULLY_APPLIED if complete else conditions.REASON_FULLY_APPLIED_FAILED,
                _SUCCESS if complete else _FAILURE,
                now,
            )
            status = msgspec.structs.replace(current.status, aggregated_status=items, conditions=found)
            return msgspec.structs.replace(current, status=status)

        outcome = await self._bindings.commit(binding, decide)
        if isinstance(outcome, Written):
            text = f"Update {key_of(binding)} with AggregatedStatus successfully."
            self._recorders[isinstance(binding, ResourceBinding)].event(
                ObjectReference.to(binding), events.NORMAL, events.AGGREGATE_STATUS.succeeded, text
            )

    def _is_second(self, binding: Binding) -> bool:
        """Whether the resource has another binding, of the name that the control plane gives: that one reports, or the
        two would undo each other's reports for ever."""
        resource = binding.spec.resource
        own = BindingKey(binding.metadata.namespace, names.binding_name(resource.kind, resource.name))
        if own == key_of(binding):
            return False
        first = self._bindings.get(own)
        return first is not None and _which(first) == _which(binding)

    async def _write_template(self, binding: Binding, items: tuple[AggregatedStatusItem, ...]) -> None:
        if self._is_second(binding):
            return
        try:
            item = await self._templates.of(binding)
        except ForeignResource:
            return  # the binding controller says why
        if item is None:
            self._awaited.note(key_of(binding), binding.spec.resource)
            return
        template = item.value
        if not self._context.interpreter.enabled(kind_of(template), Operation.AGGREGATE):
            return
        recorder, about = self._recorders[isinstance(binding, ResourceBinding)], ObjectReference.to(template)

        def decoded() -> JSONObject:
            own = item.value
            return without_ours(own) if is_judged(own) else own

        try:
            aggregated, unreadable = await aggregated_status(self._context.interpreter, decoded, items)
        except InterpretError as error:
            recorder.event(about, events.WARNING, events.AGGREGATE_STATUS.failed, str(error))
            raise
        for cluster, why in unreadable.items():
            text = f"Status of cluster {cluster} is left out: {why}"
            recorder.event(about, events.WARNING, events.AGGREGATE_STATUS.failed, text)
        status = aggregated.get("status")
        if status and is_judged(template):
            replicas = [target.replicas for target in binding.spec.clusters]
            status = with_conditions(status, template, replicas, rfc3339(self._context.clock.now()))

        def decide(current: JSONObject) -> JSONObject:
            return {**current, "status": status} if status is not None else current

        served = await self._templates.resource(template["apiVersion"], template["kind"])
        committer = Committer(
            self._context.client.resource(served.type), status_subresource="status" in served.subresources
        )
        outcome = await committer.commit(template, decide)
        if isinstance(outcome, Written):
            text = "Update Resource with AggregatedStatus successfully."
            recorder.event(about, events.NORMAL, events.AGGREGATE_STATUS.succeeded, text)


def _which(binding: Binding) -> tuple[str, str, str]:
    """The resource of a binding, whatever the version of its API."""
    resource = binding.spec.resource
    return resource.api_version.rpartition("/")[0], resource.kind, resource.name


def _reported(change: Change[Work]) -> list[BindingKey]:
    """A Work came with a status, changed it, or went."""
    if change.new is None:
        return owners_of(change.item.value)
    work = change.new.value
    if change.old is None and not work.status.conditions:
        return []
    if change.old is not None:
        before = change.old.value
        if before.status == work.status and before.metadata.deletion_timestamp == work.metadata.deletion_timestamp:
            return []
    return owners_of(work)


def _scheduled(change: Change[Any]) -> list[BindingKey]:
    """A binding that was scheduled: report when it is new, and when its template changed."""
    if change.new is None or change.new.value.status.last_scheduled_time is None:
        return []
    if change.old is not None:
        before, after = change.old.value.spec.resource, change.new.value.spec.resource
        was_scheduled = change.old.value.status.last_scheduled_time is not None
        if was_scheduled and before.resource_version == after.resource_version:
            return []
    return [BindingKey(*change.key)]
