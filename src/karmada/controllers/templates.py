"""User resources, whatever their kind: read from shared informers that follow discovery.

A kind that appears (a CRD is created) is followed at once. Objects are handed out as cached items: encoded bytes,
decoded by whoever needs the tree.
"""

import asyncio
from collections.abc import Callable

from karmada.api.work.v1alpha2 import ClusterResourceBinding, ObjectReference, ResourceBinding
from karmada.controllers.bindings import BindingKey
from karmada.controllers.context import Context
from karmada.machinery.codec import TREE, identity
from karmada.machinery.discovery import ApiResource, UnknownKind
from karmada.machinery.errors import NotFound
from karmada.machinery.informers.cache import Change, Item, Key, is_older
from karmada.machinery.informers.dynamic import DynamicInformers
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Resource
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.policies.binding import objection

Binding = ResourceBinding | ClusterResourceBinding
Handler = Callable[[ApiResource, list[Change[JSONObject]]], None]

_SOURCES_OF_KINDS = (
    GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices"),
)


class ForeignResource(Exception):
    """A binding names a resource for which it may not speak; nothing is done on its word."""

    def __init__(self, resource: ObjectReference, why: str) -> None:
        where = f"{resource.namespace}/" if resource.namespace else ""
        super().__init__(f"{resource.kind} {where}{resource.name} is not propagated: {why}")


class Templates:
    """All propagatable resources of the control plane."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._handlers: list[Handler] = []
        self._followed: dict[GroupVersionResource, tuple[ApiResource, Informer[JSONObject]]] = {}
        self._types: dict[tuple[str, str], GroupVersionResource] = {}
        """Of the kinds that are followed, by apiVersion and kind."""
        self._more = asyncio.Event()
        """Set when another kind is followed."""
        self._dynamic = DynamicInformers(
            context.informers,
            context.client.mapper,
            context.scope.watches,
            self._started,
            self._stopped,
            clock=context.clock,
        )
        for source in _SOURCES_OF_KINDS:
            context.informers.resource(source).add_handler(lambda changes: self._dynamic.wake())

    def add_handler(self, handler: Handler) -> None:
        """Call `handler` with every batch of changes of every kind, those to come included."""
        self._handlers.append(handler)
        for resource, informer in self._followed.values():
            self._attach(resource, informer, handler)

    async def run(self) -> None:
        """Follow discovery until cancelled."""
        await self._dynamic.run()

    async def resource(self, api_version: str, kind: str) -> ApiResource:
        """How a kind is served; raises `UnknownKind`."""
        return await self._context.client.mapper.of_kind(api_version, kind)

    async def collection(self, api_version: str, kind: str) -> Resource[JSONObject]:
        """The collection of a kind, for writes."""
        return self._context.client.resource((await self.resource(api_version, kind)).type)

    async def get(self, reference: ObjectReference) -> Item[JSONObject] | None:
        """A resource by reference; None when it does not exist, or its kind does not."""
        try:
            served = await self.resource(reference.api_version, reference.kind)
        except UnknownKind:
            return None
        return await self.item(served, Key(reference.namespace, reference.name))

    async def bound(self, reference: ObjectReference) -> Item[JSONObject] | None:
        """The resource that a binding is for, no older than the binding says; None also when it is gone and another
        one has its name."""
        item = await self.get(reference)
        if item is not None and is_older(item.resource_version, reference.resource_version):
            item = await self._present(await self.resource(reference.api_version, reference.kind), item.key)
        return item if item is None or reference.uid in ("", item.uid) else None

    async def of(self, binding: Binding) -> Item[JSONObject] | None:
        """The resource that a binding is for, as `bound` finds it; raises `ForeignResource` when the binding may not
        speak for it."""
        reference = binding.spec.resource
        if why := objection(binding):
            raise ForeignResource(reference, why)
        try:
            served = await self.resource(reference.api_version, reference.kind)
        except UnknownKind:
            return None
        scope = self._context.scope
        if served.namespaced != isinstance(binding, ResourceBinding):
            how = "namespaced" if served.namespaced else "cluster-scoped"
            raise ForeignResource(reference, f"the kind is {how}, and a {binding.kind} is not for such kinds")
        if not scope.watches(served) or not scope.covers(
            reference.api_version, reference.kind, reference.namespace, reference.name
        ):
            raise ForeignResource(reference, "resources of that kind or namespace are excluded from propagation")
        return await self.bound(reference)

    async def item(self, served: ApiResource, key: Key) -> Item[JSONObject] | None:
        """A resource of a served kind, from the cache where the kind is followed and can be loaded."""
        informer = self.cached(served.type)
        if informer is not None and await informer.is_loaded():
            return informer.item(key)
        return await self._present(served, key)

    async def _present(self, served: ApiResource, key: Key) -> Item[JSONObject] | None:
        """A resource by the server's word."""
        collection = self._context.client.encoded(served.type)
        try:
            body = await collection.get(key.name, key.namespace)
        except NotFound:
            return None
        which = identity(body)
        return Item(Key(which.namespace, which.name), which.uid, which.resource_version, body, TREE)

    def type_of(self, api_version: str, kind: str) -> GroupVersionResource | None:
        """The type of a followed kind."""
        return self._types.get((api_version, kind))

    def cached(self, type_: GroupVersionResource) -> Informer[JSONObject] | None:
        """The informer of a followed kind."""
        followed = self._followed.get(type_)
        return followed[1] if followed else None

    async def followed(self, type_: GroupVersionResource) -> Informer[JSONObject]:
        """The informer of a kind, which is waited for: until its kind is followed, and until it has loaded."""
        while type_ not in self._followed:
            await self._more.wait()
        informer = self._followed[type_][1]
        await informer.synced()
        return informer

    def _started(self, resource: ApiResource, informer: Informer[JSONObject]) -> None:
        self._followed[resource.type] = (resource, informer)
        self._types[resource.api_version, resource.kind] = resource.type
        self._more.set()
        self._more = asyncio.Event()
        for handler in self._handlers:
            self._attach(resource, informer, handler)

    def _stopped(self, resource: ApiResource) -> None:
        del self._followed[resource.type]
        self._types.pop((resource.api_version, resource.kind), None)

    @staticmethod
    def _attach(resource: ApiResource, informer: Informer[JSONObject], handler: Handler) -> None:
        informer.add_handler(lambda changes: handler(resource, changes))


class AwaitedTemplates:
    """Bindings that were looked at while the cache did not show their templates, as one that lags does after a start:
    they are looked at again once it does."""

    def __init__(self, templates: Templates, wake: Callable[[BindingKey], None]) -> None:
        self._wake = wake
        self._waiting: dict[tuple[str, str, str, str], dict[BindingKey, None]] = {}
        """By template; in order."""
        self._noted: dict[BindingKey, set[tuple[str, str, str, str]]] = {}
        """By binding: what it waits for."""
        templates.add_handler(self._changed)

    def note(self, key: BindingKey, template: ObjectReference) -> None:
        """A binding was looked at without its template."""
        which = (template.api_version, template.kind, template.namespace, template.name)
        self._waiting.setdefault(which, {})[key] = None
        self._noted.setdefault(key, set()).add(which)

    def forget(self, key: BindingKey) -> None:
        """The binding is gone."""
        for which in self._noted.pop(key, ()):
            waiting = self._waiting[which]
            del waiting[key]
            if not waiting:
                del self._waiting[which]

    def _changed(self, resource: ApiResource, changes: list[Change[JSONObject]]) -> None:
        if not self._waiting:
            return
        for change in changes:
            which = (resource.api_version, resource.kind, change.key.namespace, change.key.name)
            if change.new is not None:
                for key in self._waiting.pop(which, {}):
                    noted = self._noted[key]
                    noted.discard(which)
                    if not noted:
                        del self._noted[key]
                    self._wake(key)
