"""Reconciles one policy: releases what it no longer matches, enqueues what it may match, cleans up when it goes."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import msgspec

from karmada.api import events, finalizers, labels
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.controllers.context import Context
from karmada.controllers.detector.bindings import COMPONENT, Binding, BindingWriter
from karmada.controllers.detector.fresh_claims import FreshClaims
from karmada.controllers.detector.policy_index import TemplateKey, Waiting
from karmada.controllers.detector.templates import Cause, TemplateReconciler, is_lazy
from karmada.controllers.metrics import ERROR, SUCCESS
from karmada.controllers.templates import Templates
from karmada.machinery.committer import Committer, Unchanged
from karmada.machinery.controller import DONE, Result
from karmada.machinery.discovery import UnknownKind
from karmada.machinery.errors import ApiError, Unavailable
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.machinery.workqueue.queue import Priority
from karmada.policies.binding import objection
from karmada.policies.claims import Claim, claim_of, holder_of
from karmada.policies.election import Policy, explicit_priority
from karmada.policies.matching import Match, fit, kinds, subject_of
from karmada.policies.preemption import may_preempt

P = TypeVar("P", PropagationPolicy, ClusterPropagationPolicy)
CLAIMED_BY_POLICY = "claimed-by-policy"


class PolicyKey(NamedTuple):
    """Names a policy; the namespace is empty for a cluster-wide one."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PolicyGone(Exception):
    """The policy that holds a claim does not exist."""


Enqueue = Callable[[TemplateKey, Cause, int], None]
REVIEWED = 16
"""Templates that are looked at before others get their turn."""


def claimed_by_policy(item: Item[ResourceBinding] | Item[ClusterResourceBinding]) -> Iterable[str]:
    """Index function of bindings: the permanent ids of the policies that claim them."""
    marks = item.value.metadata.labels
    ids = (
        marks.get(labels.PROPAGATION_POLICY_PERMANENT_ID),
        marks.get(labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID),
    )
    return [permanent_id for permanent_id in ids if permanent_id]


class PolicyReconciler:
    """Reconciles a policy: releases what it no longer selects, enqueues what it may select, cleans up after it."""

    def __init__(
        self,
        context: Context,
        templates: Templates,
        reconciler: TemplateReconciler,
        writer: BindingWriter,
        waiting: Waiting,
        fresh: FreshClaims,
        enqueue: Enqueue,
    ) -> None:
        self._context = context
        self._templates = templates
        self._reconciler = reconciler
        self._writer = writer
        self._waiting = waiting
        self._fresh = fresh
        self._enqueue = enqueue
        self.settled: set[Key] = set()
        """Bindings that are as a restart found them, and were left with nothing to do before it: a policy that is as
        well need not look at them."""
        self._recorder = context.recorder(COMPONENT)
        self._commit = Committer(context.client.of(PropagationPolicy), status_subresource=False)
        self._commit_wide = Committer(context.client.of(ClusterPropagationPolicy), status_subresource=False)
        writer.bindings.add_index(CLAIMED_BY_POLICY, claimed_by_policy)
        writer.wide_bindings.add_index(CLAIMED_BY_POLICY, claimed_by_policy)

    async def reconcile(self, key: PolicyKey, priority: int = Priority.NORMAL) -> Result:
        """Bring everything one policy holds up to date; templates are looked at again with the priority given."""
        policy: Policy | None
        if key.namespace:
            policy = self._reconciler.policies.get(key.name, key.namespace)
        else:
            policy = self._reconciler.wide_policies.get(key.name)
        if policy is None:
            return DONE
        if policy.metadata.deletion_timestamp is not None:
            await self._clean_up(policy)
            return DONE
        await self._review_claimed(policy, priority)
        if self._reconciler.missing_override(policy) is None:
            for number, (waiting, is_chosen) in enumerate(self._waiting.reached_by(policy)):
                if is_chosen:
                    self._waiting.discard(waiting)
                    self._enqueue(waiting, Cause.KARMADA if is_lazy(policy) else Cause.USER, priority)
                if number % REVIEWED == REVIEWED - 1:
                    await asyncio.sleep(0)
        if policy.spec.preemption == "Always" and self._context.gates.enabled("PropagationPolicyPreemption"):
            await self._preempt(policy)
        return DONE

    async def _review_claimed(self, policy: Policy, priority: int) -> None:
        """Free what the policy no longer chooses; look again at what it does."""
        cause = Cause.KARMADA if is_lazy(policy) else Cause.USER
        for unbound in self._fresh.of_policy(claim_of(policy).permanent_id):
            await self._review_unbound(unbound, policy)
            self._enqueue(unbound, cause, priority)
        # After a restart most of what there is is as it was left.
        settled = self.settled if priority <= Priority.INITIAL else frozenset[Key]()
        is_current = False
        for number, binding in enumerate(self._claimed(policy, settled)):
            if number % REVIEWED == REVIEWED - 1:
                await asyncio.sleep(0)
            found = await self._template_of(binding)
            if found is None:
                continue
            key, template = found
            if fit(policy, subject_of(template)) is Match.NONE:
                if not is_current and not await self._writer.is_current(policy):
                    return  # the event of its change brings it here again
                is_current = True
                await self._release(key, template, binding, claim_of(policy))
            else:
                self._enqueue(key, cause, priority)

    async def _review_unbound(self, key: TemplateKey, policy: Policy) -> None:
        """Free a template that was claimed a moment ago, unless its policy stays and still chooses it."""
        informer = self._templates.cached(key.type)
        template = informer.get(key.name, key.namespace) if informer is not None else None
        if template is None:
            return
        stays = policy.metadata.deletion_timestamp is None
        if not stays or fit(policy, subject_of(template)) is Match.NONE:
            await self._reconciler.release(key, template, claim_of(policy))

    async def _clean_up(self, policy: Policy) -> None:
        """Take the claim off everything, then let the policy go. Bindings, Works and copies stay."""
        claim = claim_of(policy)
        for unbound in self._fresh.of_policy(claim.permanent_id):
            await self._review_unbound(unbound, policy)
        for binding in self._claimed(policy):
            found = await self._template_of(binding)
            if found is not None:
                await self._release(*found, binding, claim)
            else:
                await self._writer.release_binding(binding, claim)
        for api_version, kind in kinds(policy.spec.resource_selectors):
            await self._release_unbound(api_version, kind, claim)
        if isinstance(policy, PropagationPolicy):
            await self._commit.commit(policy, lambda p: _without(p, finalizers.PROPAGATION_POLICY))
        else:
            await self._commit_wide.commit(policy, lambda p: _without(p, finalizers.CLUSTER_PROPAGATION_POLICY))

    async def _release_unbound(self, api_version: str, kind: str, claim: Claim) -> None:
        """Templates a lazy policy claimed have no binding yet: find them by their label."""
        try:
            served = await self._templates.resource(api_version, kind)
        except UnknownKind:
            return
        informer = self._templates.cached(served.type)
        if informer is None:
            return
        if not await informer.is_loaded():
            raise Unavailable(f"{served.type.resource} cannot be listed yet")
        for item in _claimed_items(informer, claim):
            key = TemplateKey(served.type, api_version, kind, item.key.namespace, item.key.name)
            await self._writer.release(key, item.value, claim)

    async def _preempt(self, policy: Policy) -> None:
        for number, selector in enumerate(policy.spec.resource_selectors):
            if number % REVIEWED == REVIEWED - 1:
                await asyncio.sleep(0)
            try:
                served = await self._templates.resource(selector.api_version, selector.kind)
            except UnknownKind:
                continue
            namespace = selector.namespace or policy.metadata.namespace
            informer = self._templates.cached(served.type)
            template = informer.get(selector.name, namespace) if informer else None
            if template is None or fit(policy, subject_of(template)) is Match.NONE:
                continue
            holder = holder_of(template)
            if holder is None or is_leaving(template) or not self._may_preempt(policy, holder):
                continue
            key = TemplateKey(served.type, selector.api_version, selector.kind, namespace, selector.name)
            await self._take_over(key, template, policy, holder)

    async def _take_over(self, key: TemplateKey, template: JSONObject, policy: Policy, holder: Claim) -> None:
        claim = claim_of(policy)
        about, taker = ObjectReference.to(template), spelled(claim).capitalize()

        def may(current: JSONObject) -> bool:
            return not is_leaving(current) and self._may_preempt(policy, holder_of(current))

        try:
            if isinstance(await self._writer.claim(key, template, claim, may), Unchanged):
                return  # A stronger one was faster.
        except ApiError as error:
            self._context.metrics.preemptions[ERROR] += 1
            text = f"{taker} failed to preempt {spelled(holder)}: {error}"
            self._recorder.event(about, events.WARNING, events.PREEMPT_POLICY.failed, text)
            raise
        self._context.metrics.preemptions[SUCCESS] += 1
        text = f"{taker} preempted {spelled(holder)} successfully"
        self._recorder.event(about, events.NORMAL, events.PREEMPT_POLICY.succeeded, text)

    def _may_preempt(self, policy: Policy, holder: Claim | None) -> bool:
        try:
            return may_preempt(policy, holder, self._find)
        except PolicyGone:
            # Nobody takes over from a policy that is gone: its template is released, and elects another.
            return False

    def _find(self, claim: Claim) -> Policy:
        policy = self._reconciler.holder(claim)
        if policy is None:
            raise PolicyGone(f"policy {claim.name} does not exist")
        return policy

    def rivals(self, policy: Policy, old_priority: int) -> list[PolicyKey]:
        """Policies that may take over now that a policy's priority fell, highest first."""
        new_priority = explicit_priority(policy)
        if not self._context.gates.enabled("PropagationPolicyPreemption") or new_priority >= old_priority:
            return []
        kin: list[Policy]
        if isinstance(policy, PropagationPolicy):
            kin = list(self._reconciler.policies.values(policy.metadata.namespace))
        else:
            kin = list(self._reconciler.wide_policies.values())
        stronger = [
            other
            for other in kin
            if other.spec.preemption == "Always" and new_priority < explicit_priority(other) < old_priority
        ]
        stronger.sort(key=explicit_priority, reverse=True)
        return [PolicyKey(other.metadata.namespace, other.metadata.name) for other in stronger]

    def _claimed(self, policy: Policy, settled: Collection[Key] = ()) -> Iterator[Binding]:
        """The bindings that a policy holds now, but for those of no interest, each decoded when its turn comes:
        thousands at once would take most of a second, in which nobody else runs, and stay in memory together."""
        permanent_id = claim_of(policy).permanent_id
        namespaced = self._writer.bindings.indexed_items(CLAIMED_BY_POLICY, permanent_id)
        wide = self._writer.wide_bindings.indexed_items(CLAIMED_BY_POLICY, permanent_id)
        return (item.value for item in chain[Item[Any]](namespaced, wide) if item.key not in settled)

    async def _template_of(self, binding: Binding) -> tuple[TemplateKey, JSONObject] | None:
        reference = binding.spec.resource
        if objection(binding):
            return None
        item = await self._templates.get(reference)
        if item is None:
            return None
        served = await self._templates.resource(reference.api_version, reference.kind)
        key = TemplateKey(served.type, reference.api_version, reference.kind, reference.namespace, reference.name)
        return key, item.value

    async def _release(self, key: TemplateKey, template: JSONObject, binding: Binding, claim: Claim) -> None:
        self._fresh.unbinds(key, claim.permanent_id)
        await self._writer.release_binding(binding, claim)
        await self._writer.release(key, template, claim)
        self._fresh.released(key, claim.permanent_id)


def is_leaving(template: JSONObject) -> bool:
    """Whether a template is being deleted: another policy would bring it into clusters in which it never was."""
    return "deletionTimestamp" in template["metadata"]


def spelled(claim: Claim) -> str:
    """A policy as events name it."""
    if claim.is_cluster_wide:
        return f"cluster propagation policy({claim.name})"
    return f"propagation policy({claim.namespace}/{claim.name})"


def _claimed_items(informer: Informer[JSONObject], claim: Claim) -> list[Item[JSONObject]]:
    marker = claim.permanent_id.encode()
    return [item for item in informer.all_items(claim.namespace) if marker in item.body]


def _without(policy: P, finalizer: str) -> P:
    kept = tuple(name for name in policy.metadata.finalizers if name != finalizer)
    metadata = msgspec.structs.replace(policy.metadata, finalizers=kept)
    return msgspec.structs.replace(policy, metadata=metadata)
