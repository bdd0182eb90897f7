"""Binding controller: turns every cluster chosen for a binding into a Work, and takes back what is no longer wanted.

Clusters are handled apart: an error for one does not keep the others from progressing. Works are found by the binding's
permanent id, and are its own only if they were made for it: no other is written or deleted. Nothing is deleted because
it was missing from a cache. A binding that may not speak for its resource gets a condition and an event, no Works.
"""

import asyncio
from collections.abc import Iterable
from time import perf_counter

from karmada.api import conditions, events, finalizers, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.binding_triggers import BindingTriggers, spec_changed
from karmada.controllers.bindings import (
    OF_BINDING,
    Binding,
    BindingKey,
    Bindings,
    belongs,
    id_label,
    key_of,
    of_binding,
    permanent_id,
)
from karmada.controllers.clusters import readiness, stays
from karmada.controllers.context import Context
from karmada.controllers.current import BEHIND
from karmada.controllers.metrics import ERROR, SUCCESS
from karmada.controllers.objects import with_status_condition, without_finalizer
from karmada.controllers.override_choices import OverrideChoices
from karmada.controllers.templates import AwaitedTemplates, ForeignResource, Templates
from karmada.controllers.work_sync import Source, WorkSync
from karmada.interpreter.model import Operation, gvk
from karmada.machinery.committer import Written
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result, Retry
from karmada.machinery.errors import ApiError
from karmada.machinery.events import EventRecorder, ObjectReference
from karmada.machinery.informers.cache import Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Scope
from karmada.overrides.apply import overridden_replicas
from karmada.overrides.errors import OverrideError
from karmada.works.build import Overrides, WorkBuilder, work_name
from karmada.works.copies import Facts
from karmada.works.limits import Waiting, has_limits
from karmada.works.owner import WorkOfAnother
from karmada.works.plan import Plan, plan

NAMESPACED, WIDE = "binding-controller", "cluster-resource-binding-controller"
PURGE_WAIT = 5.0
"""Seconds until a copy that must be gone before its replacement starts is looked for again."""


class BindingController:
    """Reconciles a binding into one Work per target cluster, and removes Works that are no longer wanted."""

    def __init__(self, context: Context, templates: Templates) -> None:
        self._context = context
        self._templates = templates
        self._bindings = Bindings(context)
        self._works: Informer[Work] = context.informers.of(Work)
        self._works.add_index(OF_BINDING, of_binding)
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._is_ready = readiness(self._clusters)
        self._overrides: Informer[OverridePolicy] = context.informers.of(OverridePolicy)
        self._wide_overrides: Informer[ClusterOverridePolicy] = context.informers.of(ClusterOverridePolicy)
        self._choices = OverrideChoices(self._wide_overrides, self._overrides)
        self._is_limited = context.gates.enabled("ControlledMoves")
        self._recorders = {True: context.recorder(NAMESPACED), False: context.recorder(WIDE)}
        self.controller: Controller[BindingKey] = Controller(
            NAMESPACED,
            self.reconcile,
            workers=context.concurrency.bindings,
            needs=(*self._bindings.informers, self._works, self._clusters, self._overrides, self._wide_overrides),
            lane=lambda key: key.namespace,
            lane_limit=context.concurrency.bindings,
            clock=context.clock,
        )
        self._awaited = AwaitedTemplates(templates, self.controller.enqueue)
        self._triggers = BindingTriggers(self._bindings, self._clusters, self.controller.enqueue)
        leaving, extend = self._triggers.leaving, self.controller.extend
        self._work_sync = WorkSync(context, self._works, self._clusters, leaving, self._recorders[True], extend)
        self.controller.watch(self._bindings.namespaced, spec_changed)
        self.controller.watch(self._bindings.wide, spec_changed)
        self._works.add_handler(self._triggers.works_changed)
        self.controller.watch(self._clusters, self._triggers.cluster_changed)
        self._overrides.add_handler(self._triggers.overrides_changed)
        self._wide_overrides.add_handler(self._triggers.overrides_changed)

    async def reconcile(self, key: BindingKey) -> Result:
        """Bring the Works of one binding up to date."""
        binding = self._bindings.get(key)
        if binding is None:
            self._awaited.forget(key)
            self._triggers.moving.discard(key)
            return DONE
        marked = self._works.indexed_items(OF_BINDING, permanent_id(binding))
        works = [work for item in marked if belongs(work := item.value, binding)]
        if binding.metadata.deletion_timestamp is not None:
            return await self._remove(binding, works)
        if self._is_limited and has_limits(binding.spec.failover):
            return await self._move(key, binding, works)
        self._triggers.moving.discard(key)
        result = await self._carry_out(binding, plan(binding.spec, works, work_name(binding.spec)))
        await self._report_waiting(binding, None)
        return result

    async def _carry_out(self, binding: Binding, planned: Plan) -> Result:
        if planned.delete and not await self._bindings.is_current(binding):
            return RequeueAfter(BEHIND)
        await self._delete(binding, planned.delete)
        if planned.purging:
            return RequeueAfter(PURGE_WAIT)
        return await self._sync(binding, planned)

    async def _move(self, key: BindingKey, binding: Binding, works: list[Work]) -> Result:
        """The same within the limits of the policy; moves that wait for them are reported."""
        assert binding.spec.failover is not None
        if binding.spec.failover.fencing is not None:
            works = await self._live(binding, works)
        planned = plan(binding.spec, works, work_name(binding.spec), await self._facts(binding, works))
        waiting = planned.waiting
        moving = self._triggers.moving
        (moving.add if waiting is not None else moving.discard)(key)
        result = await self._carry_out(binding, planned)
        await self._report_waiting(binding, waiting)
        return RequeueAfter(waiting.look_again) if waiting is not None and result is DONE else result

    async def _live(self, binding: Binding, works: list[Work]) -> list[Work]:
        """The Works by the server's word: one that the cache lacks yet may be a copy that runs."""
        if not permanent_id(binding):
            return works
        scope = Scope(labels=f"{id_label(binding)}={permanent_id(binding)}")
        found = (await self._context.client.of(Work).list(scope)).items
        return [work for work in found if belongs(work, binding)]

    async def _facts(self, binding: Binding, works: list[Work]) -> Facts:
        """What limits are judged by; replicas that override policies set cannot be chosen here."""
        spec, overridden = binding.spec, {}
        kind = gvk(spec.resource.api_version, spec.resource.kind)
        try:
            item = await self._templates.of(binding)
        except ForeignResource:
            item = None
        policies = self._choices.of(item.value).policies if item is not None else Overrides()
        named = {names.cluster_of_execution_space(work.metadata.namespace) for work in works}
        for name in {*named, *(target.name for target in spec.clusters)} if item is not None else ():
            cluster = self._clusters.get(name)
            try:
                replicas = overridden_replicas(item.value, cluster, *policies) if item and cluster is not None else None
            except OverrideError:
                continue  # nor is a Work made, and that is reported
            if replicas is not None:
                overridden[name] = replicas
        has_health = self._context.interpreter.enabled(kind, Operation.HEALTH)
        return Facts(self._is_ready, self._context.clock.now(), has_health, overridden)

    async def _remove(self, binding: Binding, works: list[Work]) -> Result:
        """Delete every Work there is, by the server's word: one that the cache lacks yet must not be left behind."""
        await self._delete(binding, await self._live(binding, works))
        finalizer = (
            finalizers.RESOURCE_BINDING if isinstance(binding, ResourceBinding) else finalizers.CLUSTER_RESOURCE_BINDING
        )
        await self._bindings.commit(binding, without_finalizer(finalizer))
        return DONE

    async def _delete(self, binding: Binding, works: Iterable[Work]) -> None:
        doomed = [work for work in works if work.metadata.deletion_timestamp is None]
        self._triggers.leaving.update(work.metadata.uid for work in doomed)
        try:
            await asyncio.gather(*(self._work_sync.remove(work) for work in doomed))
        except ApiError as error:
            recorder = self._recorders[isinstance(binding, ResourceBinding)]
            about = ObjectReference.to(binding)
            recorder.event(about, events.WARNING, events.CLEANUP_WORK_FAILED, f"Failed to clean up works: {error}")
            raise

    async def _sync(self, binding: Binding, planned: Plan) -> Result:
        about_binding = ObjectReference.to(binding)
        recorder = self._recorders[isinstance(binding, ResourceBinding)]
        try:
            item = await self._templates.of(binding)
        except ForeignResource as error:
            recorder.event(about_binding, events.WARNING, events.SYNC_WORK.failed, str(error))
            await self._report(binding, conditions.REASON_FOREIGN_RESOURCE, str(error))
            return DONE
        if item is None:
            self._awaited.note(key_of(binding), binding.spec.resource)
            return DONE
        template = item.value
        chosen = self._choices.of(template)
        builder = WorkBuilder(binding, template, chosen.policies, self._context.gates)
        source = Source.of(item.body, builder, chosen, lambda: self._stays(key_of(binding)))
        started = perf_counter()
        for target, _ in planned.write:
            if not stays(self._clusters.get(target.name)):
                self._triggers.without.setdefault(target.name, set()).add(key_of(binding))
        with self._context.tracer.span("write Works", binding.metadata.annotations if planned.write else {}):
            outcomes = await self._work_sync.sync(source, planned.write)
        errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        self._context.metrics.sync_work.observe(perf_counter() - started, ERROR if errors else SUCCESS)
        about = ObjectReference.to(template)
        for (target, _), outcome in zip(planned.write, outcomes, strict=True):
            if isinstance(outcome, WorkOfAnother):
                taken = Key(names.execution_space(target.name), builder.name)
                self._triggers.blocked.setdefault(taken, set()).add(key_of(binding))
        conflicts = [error for error in errors if isinstance(error, WorkOfAnother)]
        await self._report(binding, conditions.REASON_WORK_CONFLICT if conflicts else "", _joined(conflicts))
        if errors:
            text = _joined(errors)
            _record(recorder, (about_binding, about), events.WARNING, events.SYNC_WORK.failed, text)
            return Retry(text)
        if planned.delete or any(outcomes) or not outcomes:
            text = f"Sync work of {key_of(binding)} successful."
            _record(recorder, (about_binding, about), events.NORMAL, events.SYNC_WORK.succeeded, text)
        return DONE

    def _stays(self, key: BindingKey) -> bool:
        binding = self._bindings.get(key)
        return binding is not None and binding.metadata.deletion_timestamp is None

    async def _report(self, binding: Binding, reason: str, message: str) -> None:
        """Set the condition that says why Works cannot be written; without a reason, that they can be."""
        if not reason and _without(binding, conditions.WORKS_SYNCED):
            return
        text = message or "All works could be written"
        await self._set_condition(
            binding, conditions.WORKS_SYNCED, not reason, reason or conditions.REASON_WORKS_SYNCED, text
        )

    async def _report_waiting(self, binding: Binding, waiting: Waiting | None) -> None:
        """Set the condition that says that a move waits, or that none does, and record an event when one begins to."""
        if waiting is None:
            if not _without(binding, conditions.MOVES_WAITING):
                reason = conditions.REASON_NOTHING_WAITS
                await self._set_condition(binding, conditions.MOVES_WAITING, False, reason, "No move waits")
            return
        if await self._set_condition(binding, conditions.MOVES_WAITING, True, waiting.reason, waiting.message):
            recorder = self._recorders[isinstance(binding, ResourceBinding)]
            recorder.event(ObjectReference.to(binding), events.NORMAL, events.MOVE_WAITS, waiting.message)

    async def _set_condition(self, binding: Binding, type_: str, status: bool, reason: str, message: str) -> bool:
        decide = with_status_condition(type_, status, reason, message, self._context.clock.now())
        return isinstance(await self._bindings.commit(binding, decide), Written)


def _without(binding: Binding, type_: str) -> bool:
    return all(known.type != type_ for known in binding.status.conditions)


def _joined(errors: Iterable[Exception]) -> str:
    return "; ".join(dict.fromkeys(str(error) for error in errors))


def _record(recorder: EventRecorder, about: Iterable[ObjectReference], type_: str, reason: str, message: str) -> None:
    for reference in about:
        recorder.event(reference, type_, reason, message)
