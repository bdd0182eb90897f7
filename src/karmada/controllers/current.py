"""Whether what a cache shows is what the server has: a cache may lag behind, most of all after a change of leader."""

from typing import Protocol, TypeVar

from karmada.api.meta import ObjectMeta
from karmada.machinery.errors import NotFound
from karmada.machinery.resource import Resource

BEHIND = 1.0
"""Seconds until what the cache shows out of date is looked at again, should no event bring it back."""


class Object(Protocol):
    """Anything with metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its identity and generation."""
        ...


T = TypeVar("T", bound=Object)


async def is_present(server: Resource[T], cached: T) -> bool:
    """Whether the server still has this very object, by its uid."""
    return await _found(server, cached) is not None


async def is_current(server: Resource[T], cached: T) -> bool:
    """Whether the server has this very object with the same spec, by its generation."""
    found = await _found(server, cached)
    return found is not None and found.metadata.generation == cached.metadata.generation


async def is_known(server: Resource[T], cached: T | None, name: str, namespace: str) -> bool:
    """Whether the server has what a cache shows: this very object with the same spec, or none of that name."""
    return await server.is_gone(name, namespace) if cached is None else await is_current(server, cached)


async def _found(server: Resource[T], cached: T) -> T | None:
    try:
        found = await server.get(cached.metadata.name, cached.metadata.namespace)
    except NotFound:
        return None
    return found if found.metadata.uid == cached.metadata.uid else None
