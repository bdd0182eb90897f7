"""The catalog: every resource the server serves now.

Built-ins are there from the start; CRDs and aggregated groups come and go. Lookups are by (group, version, plural)
and cost one dict access. Whoever derives something from the whole (discovery, OpenAPI) compares `version`, which
changes with every change, or subscribes.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator

from karmada.apiserver.builtin.conversions import converter_of
from karmada.apiserver.resources import ANY, ResourceType
from karmada.apiserver.served_resource import Converter, Served

Key = tuple[str, str, str]


class Catalog:
    """Served resources by group, version and plural name."""

    def __init__(
        self,
        types: Iterable[ResourceType] = (),
        converter: Callable[[ResourceType], Converter | None] = lambda type_: None,
    ) -> None:
        self.version = 0
        self._served: dict[Key, Served] = {}
        self._kinds: dict[Key, Served] = {}
        self._stored: dict[tuple[str, str], Served] = {}
        self._listeners: list[Callable[[], None]] = []
        for type_ in types:
            self._put(Served(type_, converter_of(type_)))
        self._builtin = frozenset(served.type.group for served in self)

    def __iter__(self) -> Iterator[Served]:
        return iter(self._served.values())

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """The resource served under these names."""
        return self._served.get((group, version, plural)) or self._any(group, version, plural)

    def serves(self, group: str, version: str, plural: str, subresource: str = "") -> bool:
        """Whether a resource, or one of its subresources, is served."""
        served = self._served.get((group, version, plural))
        if served is None or served.type.open or not subresource:
            return served is not None
        return any(known.name == subresource for known in served.type.subresources)

    def by_kind(self, group: str, version: str, kind: str) -> Served | None:
        """The resource of a kind, where the kind names objects (not options or reviews of a subresource)."""
        return self._kinds.get((group, version, kind))

    def stored(self, key: tuple[str, str]) -> Served | None:
        """The resource in whose version the objects under a store key are kept."""
        return self._stored.get(key)

    def storage_resources(self) -> list[Served]:
        """One resource per stored kind: the storage version of each."""
        return list(self._stored.values())

    def is_builtin_group(self, group: str) -> bool:
        """Whether a group is served whatever the store holds."""
        return group in self._builtin

    def types(self) -> list[ResourceType]:
        """All served types, in order of registration."""
        return [served.type for served in self._served.values()]

    def replace(self, remove: Iterable[Key], add: Iterable[Served]) -> None:
        """Withdraw and register resources in one step, then notify the listeners."""
        for key in remove:
            self._drop(key)
        for served in add:
            self._put(served)
        self.touch()

    def touch(self) -> None:
        """What is derived from the catalog is out of date."""
        self.version += 1
        for listener in self._listeners:
            listener()

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every change."""
        self._listeners.append(listener)

    def _any(self, group: str, version: str, plural: str) -> Served | None:
        """A resource that no type names, where one type stands for all of its group version."""
        template = self._served.get((group, version, ANY))
        return Served(dataclasses.replace(template.type, plural=plural)) if template is not None else None

    def _put(self, served: Served) -> None:
        type_ = served.type
        self._served[(type_.group, type_.version, type_.plural)] = served
        self._kinds.setdefault((type_.group, type_.version, type_.kind), served)
        if served.is_storage_version and not type_.open:
            self._stored[served.key] = served

    def _drop(self, key: Key) -> None:
        served = self._served.pop(key, None)
        if served is None:
            return
        type_ = served.type
        self._kinds.pop((type_.group, type_.version, type_.kind), None)
        if self._stored.get(served.key) is served:
            del self._stored[served.key]
