"""Reconciles one template: finds its policy, claims it, writes its binding."""

import asyncio
from collections.abc import Iterable
from enum import Enum
from time import perf_counter
from typing import Any

from karmada.api import events, labels, names
from karmada.api.policy.v1alpha1 import (
    ClusterOverridePolicy,
    ClusterPropagationPolicy,
    OverridePolicy,
    PropagationPolicy,
)
from karmada.controllers.context import Context
from karmada.controllers.current import BEHIND
from karmada.controllers.detector.bindings import COMPONENT, BindingOfAnother, BindingWriter, applying
from karmada.controllers.detector.fresh_claims import FreshClaims
from karmada.controllers.detector.policy_index import AWAITS, SELECTS, TemplateKey, Waiting, awaits, candidates, selects
from karmada.controllers.templates import Templates
from karmada.interpreter.model import InterpretError
from karmada.machinery.committer import Absent, Unchanged, Written
from karmada.machinery.controller import DONE, RequeueAfter, Result, Retry
from karmada.machinery.errors import ApiError
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.policies.binding import BindingRefused
from karmada.policies.claims import Claim, claim_of, holder_of, holds
from karmada.policies.election import P, Policy, election
from karmada.policies.matching import Match, Subject, fit, subject_of

COMPARED = 1000
"""Selectors, labels and values that are compared before others get their turn: ten milliseconds."""


class Cause(Enum):
    """Why a template is looked at; lazy policies act on a user's change only."""

    KARMADA = 0
    USER = 1


class TemplateReconciler:
    """Reconciles a template: elects its policy, claims it, writes its binding."""

    def __init__(
        self, context: Context, templates: Templates, writer: BindingWriter, waiting: Waiting, fresh: FreshClaims
    ) -> None:
        self._templates = templates
        self._fresh = fresh
        self._writer = writer
        self._waiting = waiting
        self._recorder = context.recorder(COMPONENT)
        self._metrics = context.metrics
        self._tracer = context.tracer
        self.policies = context.informers.of(PropagationPolicy)
        self.wide_policies = context.informers.of(ClusterPropagationPolicy)
        self.overrides = context.informers.of(OverridePolicy)
        self.wide_overrides = context.informers.of(ClusterOverridePolicy)
        self._blocked: dict[Key, TemplateKey] = {}
        """Templates whose bindings still belong to earlier resources of their names, by those bindings."""
        for informer in (self.policies, self.wide_policies):
            informer.add_index(SELECTS, selects)
            informer.add_index(AWAITS, awaits)

    async def reconcile(self, key: TemplateKey, cause: Cause) -> Result:
        """Bring one template's claim and binding up to date."""
        informer = self._templates.cached(key.type)
        if informer is None:
            self._waiting.discard(key)
            return DONE
        await informer.synced()
        template = informer.get(key.name, key.namespace)
        if template is None:
            self._waiting.discard(key)
            return DONE
        if (template["metadata"].get("labels") or {}).get(labels.CLAIMED_BY):
            return DONE
        claim = holder_of(template)
        if claim is not None:
            return await self._under_claim(key, template, claim, cause)
        # A policy that comes while others are compared finds it waiting.
        self._waiting.add(key, subject_of(template))
        policy = await self._elected(template)
        if policy is not None and self.missing_override(policy) is None:
            self._waiting.discard(key)
        if policy is None:
            await self._writer.follow(template)
            return DONE
        return await self._apply(key, template, policy, cause)

    def unblocked(self, binding: Key) -> TemplateKey | None:
        """The template that waited for a binding to go."""
        return self._blocked.pop(binding, None)

    def holder(self, claim: Claim) -> Policy | None:
        """The policy that holds a claim, if it still exists under the same identity."""
        policy: Policy | None
        if claim.is_cluster_wide:
            policy = self.wide_policies.get(claim.name)
        else:
            policy = self.policies.get(claim.name, claim.namespace)
        return policy if policy is not None and claim_of(policy) == claim else None

    def missing_override(self, policy: Policy) -> str | None:
        """The first override policy that a policy depends on and that does not exist."""
        for name in policy.spec.dependent_overrides:
            if isinstance(policy, PropagationPolicy):
                found: object = self.overrides.get(name, policy.metadata.namespace)
            else:
                found = self.wide_overrides.get(name)
            if found is None:
                return name
        return None

    async def _elected(self, template: JSONObject) -> Policy | None:
        started = perf_counter()
        subject = subject_of(template)
        namespaced, wide = candidates(self.policies, self.wide_policies, subject)
        elected = await _elect(namespaced, subject) or await _elect(wide, subject)
        self._metrics.match.observe(perf_counter() - started)
        return elected

    async def _under_claim(self, key: TemplateKey, template: JSONObject, claim: Claim, cause: Cause) -> Result:
        policy = self.holder(claim)
        if policy is None:
            if await self._writer.is_held(claim):
                return RequeueAfter(BEHIND)
            await self.release(key, template, claim)
            return DONE
        if policy.metadata.deletion_timestamp is not None:
            await self._writer.follow(template, policy)
            return Retry(f"policy {claim.name} is being deleted")
        if fit(policy, subject_of(template)) is Match.NONE:
            if self._fresh.is_unbound(key, claim.permanent_id) or self._is_half_released(key, claim):
                if not await self._writer.is_current(policy):
                    return RequeueAfter(BEHIND)
                # The policy's own review did not find the two linked: it changed while the binding was on its way, or
                # whoever freed the binding died before the template was free.
                await self.release(key, template, claim)
            await self._writer.follow(template, policy)
            return DONE
        return await self._apply(key, template, policy, cause)

    async def _apply(self, key: TemplateKey, template: JSONObject, policy: Policy, cause: Cause) -> Result:
        missing = self.missing_override(policy)
        about = ObjectReference.to(template)
        if missing is not None:
            text = f"{applying(policy)} waits for override policy {missing}, which does not exist"
            if await self._writer.follow(template, policy):
                self._recorder.event(about, events.WARNING, events.APPLY_POLICY.failed, text)
            return Retry(text)
        try:
            annotations = template["metadata"].get("annotations") or {}
            with (
                self._metrics.apply.timing(),
                self._tracer.span("apply policy", annotations, policy=policy.metadata.name),
            ):
                outcome, again = await self._claim(key, template, claim_of(policy))
                if isinstance(outcome, Absent):
                    return DONE
                if holder_of(outcome.value) != claim_of(policy):
                    # Another policy took it over since the cache saw it, and that change is on its way here.
                    self._fresh.released(key, claim_of(policy).permanent_id)
                    return RequeueAfter(0.0) if again else DONE
                if self._still_chooses(policy, template):
                    if not is_lazy(policy) or cause is Cause.USER:
                        await self._writer.write(outcome.value, policy)
                    else:
                        await self._writer.follow(outcome.value, policy)
                if not self._still_chooses(policy, template):
                    await self.release(key, outcome.value, claim_of(policy))
                    return RequeueAfter(0.0)
        except (BindingOfAnother, BindingRefused, InterpretError, ApiError) as error:
            if isinstance(error, BindingOfAnother):
                self._blocked[Key(key.namespace, names.binding_name(key.kind, key.name))] = key
            self._recorder.event(
                about, events.WARNING, events.APPLY_POLICY.failed, f"{applying(policy)} failed: {error}"
            )
            await self._writer.follow(template, policy)
            if isinstance(error, ApiError):
                raise
            return Retry(str(error))
        return RequeueAfter(0.0) if again else DONE

    async def _claim(
        self, key: TemplateKey, template: JSONObject, claim: Claim
    ) -> tuple[Unchanged[JSONObject] | Written[JSONObject] | Absent, bool]:
        """Claim a template for its policy, unless another holds it by now; whether it must be looked at once more."""

        def is_free(current: JSONObject) -> bool:
            return holder_of(current) in (None, claim)

        with self._fresh.claiming(key, claim.permanent_id):
            outcome = await self._writer.claim(key, template, claim, is_free)
            version = outcome.value["metadata"]["resourceVersion"] if isinstance(outcome, Written) else ""
            return outcome, self._fresh.claimed(key, version)

    def _still_chooses(self, policy: Policy, template: JSONObject) -> bool:
        """Whether a policy is as it was when it chose a template, or chooses it all the same. One that released it
        while the template was being claimed and bound for it knew nothing of that."""
        now = self.holder(claim_of(policy))
        if now is None or now.metadata.deletion_timestamp is not None:
            return False
        return now is policy or fit(now, subject_of(template)) is not Match.NONE

    async def release(self, key: TemplateKey, template: JSONObject, claim: Claim) -> None:
        """Free the binding of a released template first: the scheduler lets it rest before another policy comes."""
        binding = await self._writer.binding_of(key)
        if binding is not None:
            await self._writer.release_binding(binding, claim)
        await self._writer.release(key, template, claim)
        self._fresh.released(key, claim.permanent_id)

    def _is_half_released(self, key: TemplateKey, claim: Claim) -> bool:
        name = names.binding_name(key.kind, key.name)
        bindings: Informer[Any] = self._writer.bindings if key.namespace else self._writer.wide_bindings
        binding = bindings.get(name, key.namespace)
        return binding is not None and not holds(binding.metadata.labels, claim)


async def _elect(policies: Iterable[P], subject: Subject) -> P | None:
    """The winner among policies of one kind, with turns for others."""
    winner, compared = None, 0
    for best, effort in election(policies, subject):
        winner, compared = best, compared + effort
        if compared >= COMPARED:
            compared = 0
            await asyncio.sleep(0)
    return winner


def is_lazy(policy: Policy) -> bool:
    """Whether a policy acts on a user's change of a template only."""
    return policy.spec.activation_preference == "Lazy"
