"""A client of one API server: typed and untyped collections, discovery.

    client = Client(transport, field_manager="karmada-scheduler")
    binding = await client.of(ResourceBinding).get("nginx-deployment", "default")       # a frozen struct
    deployment = await client.resource(DEPLOYMENTS).get("nginx", "default")             # a tree

Holds no state but discovery: what may be cached is cached by informers. Nothing depends on which transport it has.
"""

from functools import cached_property
from typing import Any, TypeVar

from karmada.api.base import Struct
from karmada.api.kinds import BY_TYPE
from karmada.machinery.codec import BYTES, TREE, Codec, structs
from karmada.machinery.resource import Resource
from karmada.machinery.rest_mapper import RESTMapper
from karmada.machinery.transport import GroupVersionResource, JSONObject, Transport

K = TypeVar("K", bound=Struct)
T = TypeVar("T")

COLLECTIONS = 1024
"""That a client remembers; who may define kinds could invent any number of them."""


class Client:
    """Access to one API server as one identity."""

    def __init__(self, transport: Transport, *, field_manager: str = "", timeout: float = 30.0) -> None:
        self.transport = transport
        self.field_manager = field_manager
        self.timeout = timeout
        self._collections: dict[tuple[GroupVersionResource, int], Resource[Any]] = {}
        """Made once: a client is asked for the same few with every object."""

    def of(self, kind: type[K]) -> Resource[K]:
        """The collection of a kind of `karmada.api`, as frozen structs."""
        return self._collection(type_of(kind), structs(kind))

    def resource(self, type_: GroupVersionResource) -> Resource[JSONObject]:
        """Any collection, as trees."""
        return self._collection(type_, TREE)

    def encoded(self, type_: GroupVersionResource) -> Resource[bytes]:
        """Any collection, as encoded objects."""
        return self._collection(type_, BYTES)

    def _collection(self, type_: GroupVersionResource, codec: Codec[T]) -> Resource[T]:
        which = (type_, id(codec))
        made = self._collections.get(which)
        if made is None:
            if len(self._collections) >= COLLECTIONS:
                self._collections.clear()
            made = Resource(self.transport, type_, codec, self.field_manager, self.timeout)
            self._collections[which] = made
        return made

    @cached_property
    def mapper(self) -> RESTMapper:
        """Which kinds the server has, and what their collections are called."""
        return RESTMapper(self.transport)

    async def close(self) -> None:
        """Release the transport."""
        await self.transport.close()


def type_of(kind: type[Struct]) -> GroupVersionResource:
    """The collection that holds objects of a kind of `karmada.api`."""
    entry, version = BY_TYPE[kind]
    return GroupVersionResource(entry.group, version.name, entry.plural)
