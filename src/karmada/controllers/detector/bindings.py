"""Writes the binding of a template under its policy, and takes claims off bindings and templates."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from karmada.api import events, name_rules, names
from karmada.api.meta import ObjectMeta
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.controllers.context import Context
from karmada.controllers.current import is_current
from karmada.controllers.detector.policy_index import TemplateKey
from karmada.interpreter.model import GroupVersionKind, InterpretError, Operation, kind_of
from karmada.machinery.committer import Absent, Committer, Unchanged, Written
from karmada.machinery.errors import NotFound
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.overrides.withheld import is_withheld
from karmada.policies.binding import (
    BindingRefused,
    Workload,
    build_spec,
    following,
    merge_spec,
    new_binding,
    reference_to,
)
from karmada.policies.claims import Claim, ClaimMetadata, claim_metadata, claim_of, claimed, holds
from karmada.policies.election import Policy

Binding = ResourceBinding | ClusterResourceBinding
B = TypeVar("B", ResourceBinding, ClusterResourceBinding)
COMPONENT = "resource-detector"
_PRIORITY_CLASSES = GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses")


class BindingOfAnother(Exception):
    """A binding of that name still belongs to an earlier resource of the same name."""


class BindingWriter:
    """Keeps bindings in step with templates and policies."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._recorder = context.recorder(COMPONENT)
        self.bindings: Informer[ResourceBinding] = context.informers.of(ResourceBinding)
        self.wide_bindings: Informer[ClusterResourceBinding] = context.informers.of(ClusterResourceBinding)
        self._commit = Committer(context.client.of(ResourceBinding))
        self._commit_wide = Committer(context.client.of(ClusterResourceBinding))
        self._of_templates: dict[GroupVersionResource, Committer[JSONObject]] = {}
        """They know of claims that the caches do not show yet."""

    async def claim(
        self, key: TemplateKey, template: JSONObject, claim: Claim, may: Callable[[JSONObject], bool]
    ) -> Unchanged[JSONObject] | Written[JSONObject] | Absent:
        """Have a template carry exactly this claim, if its present state `may` have it."""

        def decide(current: JSONObject) -> JSONObject:
            return with_metadata(current, claimed(*_marks(current), claim)) if may(current) else current

        return await self._committer(key.type).commit(template, decide)

    async def release(self, key: TemplateKey, template: JSONObject, claim: Claim) -> None:
        """Take a claim off a template; what another policy has claimed meanwhile stays claimed."""

        def decide(current: JSONObject) -> JSONObject:
            marks = _marks(current)
            return with_metadata(current, claimed(*marks, None)) if holds(marks[0], claim) else current

        await self._committer(key.type).commit(template, decide)

    def _committer(self, type_: GroupVersionResource) -> Committer[JSONObject]:
        known = self._of_templates.get(type_)
        if known is None:
            known = self._of_templates[type_] = Committer(self._context.client.resource(type_))
        return known

    async def write(self, template: JSONObject, policy: Policy) -> None:
        """Create or refresh the binding of a claimed template."""
        spec = build_spec(
            template, policy, await self._workload(template), await self._priority(policy), self._context.gates
        )
        name = names.binding_name(spec.resource.kind, spec.resource.name)
        namespace = spec.resource.namespace
        fresh = new_binding(template, spec, claim_metadata(claim_of(policy)))
        outcome: object
        if isinstance(fresh, ResourceBinding):
            seen = self.bindings.get(name, namespace)
            outcome = await self._commit.ensure(name, namespace, lambda current: _merged(current, fresh), seen)
        else:
            wide = self.wide_bindings.get(name)
            outcome = await self._commit_wide.ensure(name, "", lambda current: _merged(current, fresh), wide)
        if not isinstance(outcome, Unchanged):
            self._record(template, policy)

    async def follow(self, template: JSONObject, policy: Policy | None = None) -> bool:
        """Have the binding of what grants or limits something be of its resource's present state, though its policy
        cannot be applied or there is none any more; whether it has to be. People of a namespace could else keep in
        members what an administrator takes back. Cluster-wide policies are the administrator's own."""
        resource = reference_to(template)
        if not is_withheld(resource.api_version, resource.kind) or isinstance(policy, ClusterPropagationPolicy):
            return False
        seen = self.bindings.get(names.binding_name(resource.kind, resource.name), resource.namespace)
        if seen is not None:
            await self._commit.commit(seen, lambda current: following(current, resource))
        return seen is not None

    def _record(self, template: JSONObject, policy: Policy) -> None:
        """Record events about a changed binding; an unchanged one was reported when it was written."""
        about, kind = ObjectReference.to(template), kind_of(template)
        if self._has_components(kind):
            text = "Get components of resource template successfully."
            self._recorder.event(about, events.NORMAL, events.GET_COMPONENTS.succeeded, text)
        elif self._has_replicas(kind):
            text = "Get replicas of resource template successfully."
            self._recorder.event(about, events.NORMAL, events.GET_REPLICAS.succeeded, text)
        self._recorder.event(about, events.NORMAL, events.APPLY_POLICY.succeeded, f"{applying(policy)} succeed")

    async def is_held(self, claim: Claim) -> bool:
        """Whether the policy of a claim exists, by the server's word: the cache may lack a new one, and a template that
        was released goes to another policy for good."""
        if name_rules.dns_subdomain(claim.name) or (claim.namespace and name_rules.dns_label(claim.namespace)):
            return False  # what templates say is written by anybody
        client = self._context.client
        found: Policy
        try:
            if claim.is_cluster_wide:
                found = await client.of(ClusterPropagationPolicy).get(claim.name)
            else:
                found = await client.of(PropagationPolicy).get(claim.name, claim.namespace)
        except NotFound:
            return False
        return claim_of(found) == claim

    async def is_current(self, policy: Policy) -> bool:
        """Whether a policy is as the server has it: an older state may not choose yet what was claimed since."""
        client = self._context.client
        if isinstance(policy, PropagationPolicy):
            return await is_current(client.of(PropagationPolicy), policy)
        return await is_current(client.of(ClusterPropagationPolicy), policy)

    async def binding_of(self, key: TemplateKey) -> Binding | None:
        """The binding of a template, by the server's word: the cache may lack one that was written a moment ago."""
        name = names.binding_name(key.kind, key.name)
        try:
            if key.namespace:
                return await self._context.client.of(ResourceBinding).get(name, key.namespace)
            return await self._context.client.of(ClusterResourceBinding).get(name)
        except NotFound:
            return None

    async def release_binding(self, binding: Binding, claim: Claim) -> None:
        """Take a claim off a binding, unless another policy has claimed it meanwhile; its Works and the members'
        copies stay."""

        def decide(current: Any) -> Any:
            if not holds(current.metadata.labels, claim):
                return current
            marks = claimed(current.metadata.labels, current.metadata.annotations, None)
            metadata = msgspec.structs.replace(current.metadata, labels=marks.labels, annotations=marks.annotations)
            return msgspec.structs.replace(current, metadata=metadata)

        if isinstance(binding, ResourceBinding):
            await self._commit.commit(binding, decide)
        else:
            await self._commit_wide.commit(binding, decide)

    async def _workload(self, template: JSONObject) -> Workload:
        kind = kind_of(template)
        interpreter = self._context.interpreter
        reason = events.GET_COMPONENTS if self._has_components(kind) else events.GET_REPLICAS
        try:
            if reason is events.GET_COMPONENTS:
                return Workload(components=await interpreter.components(template))
            return Workload(*await interpreter.replicas(template)) if self._has_replicas(kind) else Workload()
        except InterpretError as error:
            self._recorder.event(ObjectReference.to(template), events.WARNING, reason.failed, str(error))
            raise

    def _has_replicas(self, kind: GroupVersionKind) -> bool:
        return self._context.interpreter.enabled(kind, Operation.REPLICAS)

    def _has_components(self, kind: GroupVersionKind) -> bool:
        gate = self._context.gates.enabled("MultiplePodTemplatesScheduling")
        return gate and self._context.interpreter.enabled(kind, Operation.COMPONENTS)

    async def _priority(self, policy: Policy) -> Any:
        """A lookup of the one PriorityClass the policy may name."""
        wanted = policy.spec.schedule_priority
        values: dict[str, int] = {}
        if wanted is not None and wanted.priority_class_source == "KubePriorityClass":
            try:
                found = await self._context.client.resource(_PRIORITY_CLASSES).get(wanted.priority_class_name)
                values[wanted.priority_class_name] = int(found.get("value") or 0)
            except NotFound as error:
                raise BindingRefused(str(error)) from error
        return values.__getitem__


def with_metadata(tree: JSONObject, marks: ClaimMetadata) -> JSONObject:
    """A tree with other labels and annotations."""
    metadata = dict(tree["metadata"])
    for field, entries in (("labels", marks.labels), ("annotations", marks.annotations)):
        if entries:
            metadata[field] = entries
        else:
            metadata.pop(field, None)
    return {**tree, "metadata": metadata}


def _marks(tree: JSONObject) -> tuple[dict[str, str], dict[str, str]]:
    metadata = tree["metadata"]
    return metadata.get("labels") or {}, metadata.get("annotations") or {}


def _merged(current: B | None, fresh: B) -> B:
    """The binding as it should be: labels, annotations and finalizers are merged, the claim is replaced."""
    if current is None:
        return fresh
    owner = fresh.metadata.owner_references[0]
    mine: ObjectMeta = current.metadata
    controller = next((ref for ref in mine.owner_references if ref.controller), None)
    if controller is not None and controller.uid != owner.uid:
        raise BindingOfAnother(
            f"{current.kind} {mine.name} belongs to a deleted resource of the same name, "
            "try again later after binding is garbage collected"
        )
    free = claimed(mine.labels, mine.annotations, None)
    metadata = msgspec.structs.replace(
        mine,
        labels={**free.labels, **fresh.metadata.labels},
        annotations={**free.annotations, **fresh.metadata.annotations},
        finalizers=tuple(dict.fromkeys((*mine.finalizers, *fresh.metadata.finalizers))),
        owner_references=mine.owner_references if controller else (owner,),
    )
    spec = merge_spec(current.spec, fresh.spec)
    if not mine.namespace:
        # Whether dependencies follow is set once for cluster-scoped resources.
        spec = msgspec.structs.replace(spec, propagate_deps=current.spec.propagate_deps)
    return msgspec.structs.replace(current, metadata=metadata, spec=spec)


def applying(policy: Policy) -> str:
    """How events name the act."""
    claim = claim_of(policy)
    if claim.is_cluster_wide:
        return f"Apply cluster policy({claim.name})"
    return f"Apply policy({claim.namespace}/{claim.name})"
