"""Wires the detector: events of templates, policies and override policies become keys to reconcile."""

from typing import Any

from karmada.api.policy.v1alpha1 import (
    ClusterOverridePolicy,
    ClusterPropagationPolicy,
    OverridePolicy,
    PropagationPolicy,
)
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.controllers.context import Context
from karmada.controllers.detector.bindings import COMPONENT, BindingWriter
from karmada.controllers.detector.changes import Meaning, meaning
from karmada.controllers.detector.fresh_claims import FreshClaims
from karmada.controllers.detector.policies import PolicyKey, PolicyReconciler, claimed_by_policy
from karmada.controllers.detector.policy_index import AWAITS, TemplateKey, Waiting
from karmada.controllers.detector.templates import Cause, TemplateReconciler
from karmada.controllers.templates import Templates
from karmada.machinery.controller import Controller, Result, Retry
from karmada.machinery.discovery import ApiResource
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.machinery.workqueue.queue import Priority
from karmada.overrides.withheld import is_withheld
from karmada.policies.binding import objection
from karmada.policies.election import explicit_priority


class Detector:
    """The two reconcile loops of the detector."""

    def __init__(self, context: Context, templates: Templates) -> None:
        self._scope = context.scope
        self._waiting = waiting = Waiting()
        self._fresh = FreshClaims()
        self._writer = BindingWriter(context)
        self._reconciler = TemplateReconciler(context, templates, self._writer, waiting, self._fresh)
        self._policy_reconciler = PolicyReconciler(
            context, templates, self._reconciler, self._writer, waiting, self._fresh, self._enqueue
        )
        self.settled = self._policy_reconciler.settled
        self._backlog = context.backlog
        self._user_changes: set[TemplateKey] = set()
        """Templates whose user change has not been acted on yet; every other key in the queue is Karmada's doing."""
        needs = (
            self._reconciler.policies,
            self._reconciler.wide_policies,
            self._reconciler.overrides,
            self._reconciler.wide_overrides,
            self._writer.bindings,
            self._writer.wide_bindings,
        )
        self.templates: Controller[TemplateKey] = Controller(
            COMPONENT,
            self._reconcile_template,
            workers=context.concurrency.templates,
            needs=needs,
            lane=lambda key: key.namespace,
            clock=context.clock,
        )
        self.policies: Controller[PolicyKey] = Controller(
            f"{COMPONENT}-policies",
            self._reconcile_policy,
            workers=context.concurrency.policies,
            needs=needs,
            lane=lambda key: key.namespace,
            clock=context.clock,
        )
        templates.add_handler(self._templates_changed)
        self._writer.bindings.add_handler(self._bindings_changed)
        self._writer.wide_bindings.add_handler(self._bindings_changed)
        self._reconciler.policies.add_handler(self._policies_changed)
        self._reconciler.wide_policies.add_handler(self._policies_changed)
        self._reconciler.overrides.add_handler(self._overrides_changed)
        self._reconciler.wide_overrides.add_handler(self._overrides_changed)

    async def _reconcile_template(self, key: TemplateKey) -> Result:
        cause = Cause.USER if key in self._user_changes else Cause.KARMADA
        self._user_changes.discard(key)
        if self._backlog is not None:
            self._backlog.discard(key)
        acted = False
        try:
            result = await self._reconciler.reconcile(key, cause)
            acted = not isinstance(result, Retry)
            return result
        finally:
            if cause is Cause.USER and not acted:
                self._user_changes.add(key)

    async def _reconcile_policy(self, key: PolicyKey) -> Result:
        priority = Priority.INITIAL if self.policies.queue.is_background(key) else Priority.NORMAL
        return await self._policy_reconciler.reconcile(key, priority)

    def withdraw(self, key: TemplateKey) -> None:
        """A template that only the first load found is as it was left: nobody need look at it."""
        if self.templates.queue.withdraw(key):
            self._user_changes.discard(key)

    def _enqueue(self, key: TemplateKey, cause: Cause, priority: int = Priority.NORMAL) -> None:
        if cause is Cause.USER:
            self._user_changes.add(key)
        self.templates.enqueue(key, priority)

    def _templates_changed(self, resource: ApiResource, changes: list[Change[JSONObject]]) -> None:
        for change in changes:
            namespace, name = change.key
            if not self._scope.covers(resource.api_version, resource.kind, namespace, name):
                continue
            key = TemplateKey(resource.type, resource.api_version, resource.kind, namespace, name)
            what = Meaning.USER
            if change.new is None:
                self._fresh.gone(key)
            elif change.old is not None:
                what = meaning(change.old.body, change.new.body)
                own = what is Meaning.OWN and self._fresh.is_own(key, change.new.resource_version)
                if what is Meaning.NOTHING or own:
                    continue
            elif not change.initial and self._backlog is not None:
                self._backlog.add(key)
            cause = Cause.USER if what is Meaning.USER else Cause.KARMADA
            self._enqueue(key, cause, Priority.INITIAL if change.initial else Priority.NORMAL)

    def _bindings_changed(self, changes: list[Change[ResourceBinding]] | list[Change[ClusterResourceBinding]]) -> None:
        for change in changes:
            if change.new is not None:
                if objection(change.new.value):
                    continue
                resource = change.new.value.spec.resource
                self._fresh.bound(resource, claimed_by_policy(change.new))
                if change.old is None and not change.initial and is_withheld(resource.api_version, resource.kind):
                    # Its policy let it go, and its resource may have changed, before the cache showed it.
                    for key in self._waiting.of(resource):
                        self._enqueue(key, Cause.KARMADA)
            elif (waiting := self._reconciler.unblocked(change.key)) is not None:
                self._enqueue(waiting, Cause.KARMADA)

    def _policies_changed(
        self, changes: list[Change[PropagationPolicy]] | list[Change[ClusterPropagationPolicy]]
    ) -> None:
        for change in changes:
            if change.new is None:
                continue
            policy = change.new.value
            if change.old is not None:
                old = change.old.value
                if old.metadata.generation == policy.metadata.generation:
                    continue
                for rival in self._policy_reconciler.rivals(policy, explicit_priority(old)):
                    self.policies.enqueue(rival)
            priority = Priority.INITIAL if change.initial else Priority.NORMAL
            self.policies.enqueue(PolicyKey(policy.metadata.namespace, policy.metadata.name), priority)

    def _overrides_changed(self, changes: list[Change[OverridePolicy]] | list[Change[ClusterOverridePolicy]]) -> None:
        """An override policy that appears may be the one that policies wait for."""
        if not (self._reconciler.policies.has_synced and self._reconciler.wide_policies.has_synced):
            return
        for change in changes:
            if change.old is not None or change.new is None or change.initial:
                continue
            informer: Informer[Any] = (
                self._reconciler.policies if change.key.namespace else self._reconciler.wide_policies
            )
            for item in informer.indexed_items(AWAITS, str(change.key)):
                self.policies.enqueue(PolicyKey(*item.key))
