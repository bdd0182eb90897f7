"""Dependencies distributor: what a resource refers to (ConfigMaps, Secrets, ...) goes wherever the resource goes.

The dependencies of a binding are recorded in an annotation, by which a dependency that appears or changes later finds
the bindings that wait for it; where they do not fit into it none is distributed, and an event says so. A dependency
that does not exist is waited for, never an error. What is outside of the binding's namespace never follows it, whatever
the resource or an interpreter says: a ResourceBinding does not speak for it.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec
import orjson

from karmada.api import annotations, events, finalizers, labels, names
from karmada.api.codec import DecodeError, decode, encode
from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.label_selector import matches
from karmada.api.meta import ANNOTATIONS_LIMIT
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.bindings import BindingKey
from karmada.controllers.context import Context
from karmada.controllers.objects import without_finalizer
from karmada.controllers.templates import AwaitedTemplates, ForeignResource, Templates
from karmada.interpreter.model import InterpretError, Operation, kind_of
from karmada.machinery.committer import Absent, Committer, Written
from karmada.machinery.controller import DONE, Controller, GiveUp, Result, Retry
from karmada.machinery.discovery import ApiResource, UnknownKind
from karmada.machinery.errors import ApiError, NotFound, Unavailable
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Scope
from karmada.machinery.transport import JSONObject
from karmada.machinery.workqueue.queue import Priority
from karmada.policies.dependencies import Attached, AttachedToAnother, attach, dependency_label, detach

COMPONENT = "dependencies-distributor"
GATE = "PropagateDeps"
NEEDS = "needs"
DEPENDED_BY = "depended-by"
_ANY = "*"
_NONE = "null"
"""How the annotation says that there are no dependencies."""


def needs(item: Item[ResourceBinding]) -> Iterable[str]:
    """Index function of bindings: the objects they depend on. The record outlives the wish to propagate them."""
    if not item.value.spec.propagate_deps:
        return ()
    return {_slot(d.api_version, d.kind, d.namespace, d.name or _ANY) for d in _recorded(item.value)}


def depended_by(item: Item[ResourceBinding]) -> Iterable[str]:
    """Index function of bindings: who requires them."""
    marks = item.value.metadata.labels
    return [f"{key}={value}" for key, value in marks.items() if key.startswith(labels.DEPENDED_BY_PREFIX)]


class DependenciesDistributor:
    """Distributes what a resource depends on (ConfigMaps, Secrets, ...) to the clusters of the resource."""

    def __init__(self, context: Context, templates: Templates) -> None:
        self._context = context
        self._distributes = context.gates.enabled(GATE)
        """Without the gate nothing is distributed, and released is what was: a binding could not go otherwise."""
        self._templates = templates
        self._bindings: Informer[ResourceBinding] = context.informers.of(ResourceBinding)
        self._bindings.add_index(NEEDS, needs)
        self._bindings.add_index(DEPENDED_BY, depended_by)
        self._commit = Committer(context.client.of(ResourceBinding))
        self._recorder = context.recorder(COMPONENT)
        self._gone: dict[BindingKey, ResourceBinding] = {}
        """Bindings that are gone, as they were last seen: what they required has not been looked at since."""
        self._blocked: dict[BindingKey, set[BindingKey]] = {}
        """Bindings whose dependencies wait for earlier objects' bindings to go, by those."""
        self.controller: Controller[BindingKey] = Controller(
            COMPONENT,
            self.reconcile,
            workers=context.concurrency.dependencies,
            needs=(self._bindings,),
            lane=lambda key: key.namespace,
            clock=context.clock,
        )
        self._awaited = AwaitedTemplates(templates, self.controller.enqueue)
        self.controller.watch(self._bindings, self._concerned)
        if self._distributes:
            templates.add_handler(self._templates_changed)

    async def reconcile(self, key: BindingKey) -> Result:
        """Bring the dependencies of one binding where the binding goes."""
        gone = self._gone.get(key)
        if gone is not None:
            result = await self._detach_all(gone)
            if result is not DONE:
                return result
            del self._gone[key]
        binding = self._bindings.get(key.name, key.namespace)
        if binding is None:
            self._awaited.forget(key)
            return DONE
        if not self._distributes and binding.metadata.deletion_timestamp is None:
            return DONE
        if not _asks(binding):
            return await self._detach_all(binding)
        try:
            item = await self._templates.of(binding)
        except ForeignResource:
            return await self._detach_all(binding)  # the binding controller says why
        if item is None:
            self._awaited.note(key, binding.spec.resource)
            return DONE
        template = item.value
        if not self._context.interpreter.enabled(kind_of(template), Operation.DEPENDENCIES):
            return DONE
        dependencies = await self._own(binding, await self._dependencies(template))
        if _annotations_size(_recording(binding, dependencies)) > ANNOTATIONS_LIMIT:
            text = (
                f"{len(dependencies)} dependencies are too many for the annotation {annotations.DEPENDENCIES} "
                f"(all annotations have at most {ANNOTATIONS_LIMIT} bytes): none is distributed until the resource "
                "refers to fewer objects"
            )
            reason = events.SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES.failed
            self._recorder.event(ObjectReference.to(binding), events.WARNING, reason, text)
            return GiveUp(text)
        recorded = await self._commit.commit(binding, lambda b: _recording(b, dependencies))
        current = recorded.value if isinstance(recorded, Written) else await self._present(binding)
        if current is None or not _asks(current):
            return DONE  # only a cache asks that has not caught up; what it missed is on its way
        return await self._distribute(current, dependencies)

    async def _present(self, binding: ResourceBinding) -> ResourceBinding | None:
        """A binding by the server's word. Whoever stopped asking has released its dependencies, and does not look for
        any that were attached since then."""
        metadata = binding.metadata
        try:
            found = await self._context.client.of(ResourceBinding).get(metadata.name, metadata.namespace)
        except NotFound:
            return None
        return found if found.metadata.uid == metadata.uid else None

    async def _dependencies(self, template: JSONObject) -> list[DependentObjectReference]:
        about = ObjectReference.to(template)
        try:
            found = sorted(await self._context.interpreter.dependencies(template), key=_order)
        except InterpretError as error:
            text = f"Get dependencies failed: {error}"
            self._recorder.event(about, events.WARNING, events.GET_DEPENDENCIES.failed, text)
            raise
        text = f"Get dependencies([{' '.join(_shown(d) for d in found)}]) succeed."
        self._recorder.event(about, events.NORMAL, events.GET_DEPENDENCIES.succeeded, text)
        return found

    async def _own(
        self, binding: ResourceBinding, dependencies: list[DependentObjectReference]
    ) -> list[DependentObjectReference]:
        """The dependencies a binding may speak for; others get an event."""
        kept = []
        for dependency in dependencies:
            if dependency.namespace == binding.metadata.namespace and await self._is_namespaced(dependency):
                kept.append(dependency)
                continue
            text = f"{_shown(dependency)} is outside of namespace {binding.metadata.namespace} and is not distributed"
            reason = events.SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES.failed
            self._recorder.event(ObjectReference.to(binding), events.WARNING, reason, text)
        return kept

    async def _is_namespaced(self, dependency: DependentObjectReference) -> bool:
        """Whether a kind is namespaced; one that is not served yet is looked at again when it is."""
        try:
            return (await self._templates.resource(dependency.api_version, dependency.kind)).namespaced
        except UnknownKind:
            return True

    async def _distribute(self, binding: ResourceBinding, dependencies: list[DependentObjectReference]) -> Result:
        about = ObjectReference.to(binding)
        meant = _by_object(dependencies)
        outcomes = await asyncio.gather(
            *(self._attach_all(dependency, binding) for dependency in dependencies),
            *(self._review(attached, binding, _meaning(attached, meant)) for attached in self._attached(binding)),
        )
        errors = [outcome for outcome in outcomes if outcome is not None]
        if errors:
            text = "; ".join(str(error) for error in errors)
            self._recorder.event(about, events.WARNING, events.SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES.failed, text)
            return Retry(text)
        text = "Sync schedule results to dependencies succeed."
        self._recorder.event(about, events.NORMAL, events.SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES.succeeded, text)
        return DONE

    async def _attach_all(self, dependency: DependentObjectReference, binding: ResourceBinding) -> Exception | None:
        try:
            for found in await self._objects(dependency):
                await self._attach(found, binding)
        except (ApiError, AttachedToAnother) as error:
            return error
        return None

    async def _objects(self, dependency: DependentObjectReference) -> list[JSONObject]:
        """The objects a dependency means; none when they do not exist yet."""
        try:
            served = await self._templates.resource(dependency.api_version, dependency.kind)
        except UnknownKind:
            return []
        if dependency.name:
            item = await self._templates.item(served, Key(dependency.namespace, dependency.name))
            return [item.value] if item is not None else []
        informer = self._templates.cached(served.type)
        if informer is None or dependency.label_selector is None:
            return []
        if not await informer.is_loaded():
            raise Unavailable(f"{served.type.resource} cannot be listed yet")
        trees = informer.values(dependency.namespace)
        selector = dependency.label_selector
        return [tree for tree in trees if matches(selector, tree["metadata"].get("labels") or {})]

    async def _attach(self, dependency: JSONObject, binding: ResourceBinding) -> None:
        draft = attach(dependency, binding, None, self._find).binding.metadata
        complaint = ""

        def decide(current: ResourceBinding | None) -> ResourceBinding:
            nonlocal complaint
            outcome = attach(dependency, binding, current, self._find)
            complaint = outcome.complaint
            return outcome.binding

        seen = self._bindings.get(draft.name, draft.namespace)
        try:
            outcome = await self._commit.ensure(draft.name, draft.namespace, decide, seen)
        except AttachedToAnother:
            waiting = self._blocked.setdefault(BindingKey(draft.namespace, draft.name), set())
            waiting.add(BindingKey(binding.metadata.namespace, binding.metadata.name))
            raise
        if complaint and not isinstance(outcome, Absent):
            about = ObjectReference.to(outcome.value)
            self._recorder.event(about, events.WARNING, events.DEPENDENCY_POLICY_CONFLICT, complaint)

    async def _review(
        self, attached: ResourceBinding, binding: ResourceBinding, meant: list[DependentObjectReference]
    ) -> Exception | None:
        """Detach what none of the dependencies means any more; `meant` are those that may."""
        try:
            if not await self._is_orphan(attached, meant):
                return None
        except ApiError as error:
            return error
        return await self._detach(attached, binding)

    async def _is_orphan(self, attached: ResourceBinding, meant: list[DependentObjectReference]) -> bool:
        """Whether no dependency means the object of an attached binding, by its name or by the labels it has now."""
        if not meant or any(dependency.name for dependency in meant):
            return not meant
        item = await self._templates.bound(attached.spec.resource)
        if item is None:
            return False  # the binding goes with its object
        marks = item.value["metadata"].get("labels") or {}
        return not any(one.label_selector is not None and matches(one.label_selector, marks) for one in meant)

    async def _detach(self, attached: ResourceBinding, binding: ResourceBinding) -> Exception | None:
        """Another requirer that is missing, perhaps for ever, must not keep this one from going."""

        def decide(current: ResourceBinding) -> ResourceBinding:
            outcome: Attached = detach(current, binding, lambda space, name: self._bindings.get(name, space))
            return outcome.binding

        try:
            await self._commit.commit(attached, decide)
        except ApiError as error:
            return error
        return None

    async def _detach_all(self, binding: ResourceBinding) -> Result:
        """Nothing requires the dependencies any more on behalf of this binding. One that holds none may have been
        given some all the same, on the word of a cache that had not caught up."""
        key, value = dependency_label(binding)
        # By the server's word: one that was attached a moment ago may not be in the cache yet.
        scope = Scope(binding.metadata.namespace, f"{key}={value}")
        attached = (await self._context.client.of(ResourceBinding).list(scope)).items
        outcomes = await asyncio.gather(*(self._detach(one, binding) for one in attached))
        errors = [outcome for outcome in outcomes if outcome is not None]
        if errors:
            return Retry(errors[0])
        if finalizers.BINDING_DEPENDENCIES in binding.metadata.finalizers:
            await self._commit.commit(binding, without_finalizer(finalizers.BINDING_DEPENDENCIES))
        return DONE

    def _attached(self, binding: ResourceBinding) -> list[ResourceBinding]:
        key, value = dependency_label(binding)
        found = self._bindings.indexed(DEPENDED_BY, f"{key}={value}")
        return [one for one in found if one.metadata.namespace == binding.metadata.namespace]

    def _find(self, namespace: str, name: str) -> ResourceBinding:
        found = self._bindings.get(name, namespace)
        if found is None:
            raise NotFound(f'resourcebindings.work.karmada.io "{name}" not found')
        return found

    def _templates_changed(self, resource: ApiResource, changes: list[Change[JSONObject]]) -> None:
        """Wake the bindings that depend on an object which appeared, changed or went. What is there when its kind is
        first followed may have come since they were looked at."""
        if not self._bindings.has_synced:
            return
        for change in changes:
            head = (resource.api_version, resource.kind, change.key.namespace)
            for slot in (_slot(*head, change.key.name), _slot(*head, _ANY)):
                for item in self._bindings.indexed_items(NEEDS, slot):
                    if change.initial and self._is_attached(resource.kind, change.key, item.value):
                        continue
                    self.controller.enqueue(BindingKey(*item.key), Priority.NORMAL)

    def _is_attached(self, kind: str, dependency: Key, binding: ResourceBinding) -> bool:
        attached = self._bindings.get(names.binding_name(kind, dependency.name), dependency.namespace)
        key, value = dependency_label(binding)
        return attached is not None and attached.metadata.labels.get(key) == value

    def _concerned(self, change: Change[ResourceBinding]) -> list[BindingKey]:
        """A binding with dependencies that moves, one that has not released them yet, perhaps for a crash ago, one
        that is gone, and those whose dependencies waited for that."""
        key = BindingKey(*change.key)
        if change.new is None:
            assert change.old is not None
            waiting = sorted(self._blocked.pop(key, ()))
            if not change.old.value.spec.propagate_deps:
                return waiting
            self._gone[key] = change.old.value
            return [key, *waiting]
        binding = change.new.value
        holds = finalizers.BINDING_DEPENDENCIES in binding.metadata.finalizers
        if change.old is None:
            concerned = holds or (binding.spec.propagate_deps and bool(binding.spec.clusters))
        else:
            before, after = change.old.value, binding
            moved = before.metadata.generation != after.metadata.generation
            leaving = before.metadata.deletion_timestamp != after.metadata.deletion_timestamp
            concerned = (moved or leaving) and (holds or before.spec.propagate_deps or after.spec.propagate_deps)
        return [key] if concerned else []


def _recorded(binding: ResourceBinding) -> tuple[DependentObjectReference, ...]:
    text = binding.metadata.annotations.get(annotations.DEPENDENCIES)
    if not text or text == _NONE:
        return ()
    try:
        return decode(text, tuple[DependentObjectReference, ...])
    except DecodeError:
        return ()


def _asks(binding: ResourceBinding) -> bool:
    """Whether a binding wants its dependencies to go where it goes."""
    return binding.spec.propagate_deps and binding.metadata.deletion_timestamp is None


def _recording(binding: ResourceBinding, dependencies: list[DependentObjectReference]) -> ResourceBinding:
    if not _asks(binding):
        return binding
    metadata = binding.metadata
    text = encode(dependencies).decode() if dependencies else _NONE
    return msgspec.structs.replace(
        binding,
        metadata=msgspec.structs.replace(
            metadata,
            annotations={**metadata.annotations, annotations.DEPENDENCIES: text},
            finalizers=tuple(dict.fromkeys((*metadata.finalizers, finalizers.BINDING_DEPENDENCIES))),
        ),
    )


def _annotations_size(binding: ResourceBinding) -> int:
    found = binding.metadata.annotations
    return len("".join((*found, *found.values())).encode())


_ByObject = dict[str, list[DependentObjectReference]]


def _by_object(dependencies: Iterable[DependentObjectReference]) -> _ByObject:
    """Dependencies by the object they name, or by `_ANY` of a kind."""
    found: _ByObject = {}
    for one in dependencies:
        found.setdefault(_slot(one.api_version, one.kind, one.namespace, one.name or _ANY), []).append(one)
    return found


def _meaning(attached: ResourceBinding, dependencies: _ByObject) -> list[DependentObjectReference]:
    """The dependencies that may mean the object of an attached binding, as far as names say."""
    resource = attached.spec.resource
    head = (resource.api_version, resource.kind, resource.namespace)
    return [one for name in (resource.name, _ANY) for one in dependencies.get(_slot(*head, name), ())]


def _slot(api_version: str, kind: str, namespace: str, name: str) -> str:
    return f"{api_version}|{kind}|{namespace}|{name}"


def _order(dependency: DependentObjectReference) -> tuple[bool, str, str, str, str]:
    """Core kinds first, as a Service before its EndpointSlices."""
    grouped = "/" in dependency.api_version
    return grouped, dependency.api_version, dependency.kind, dependency.namespace, dependency.name


def _shown(dependency: DependentObjectReference) -> str:
    selector: Any = "nil"
    if dependency.label_selector is not None:
        selector = orjson.dumps(msgspec.to_builtins(dependency.label_selector)).decode()
    return (
        f"{{APIVersion:{dependency.api_version} Kind:{dependency.kind} Namespace:{dependency.namespace} "
        f"Name:{dependency.name} LabelSelector:{selector}}}"
    )
