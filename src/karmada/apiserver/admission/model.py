"""What admission sees of a write, and the protocol of its plugins.

Plugins are called for HTTP and direct requests alike, after authorisation. `mutate` may change `request.object` in
place (or put a new tree there); `validate` sees the final object and may only refuse. Refusals are `Failure`s. Plugins
must not write when `dry_run` is set.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Protocol

import msgspec

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.resources import JSONObject, ResourceType
from karmada.apiserver.watchcache import Kind


class Operation(StrEnum):
    """Operations as admission rules spell them."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class AdmissionRequest(msgspec.Struct, eq=False):
    """One write on its way to the store. `old` must never be changed."""

    operation: Operation
    type: ResourceType
    namespace: str
    name: str
    subresource: str
    object: JSONObject | None
    old: JSONObject | None
    user: UserInfo
    options: JSONObject
    dry_run: bool = False
    kind: tuple[str, str, str] | None = None
    """Group, version and kind of `object` where the subresource has one of its own (Scale, Eviction ...)."""
    warnings: list[str] = msgspec.field(default_factory=list)
    audit: dict[str, str] = msgspec.field(default_factory=dict)
    concerned: "list[AdmissionPlugin] | None" = None
    """The plugins that have anything to do with the request, found once."""
    verb: str = ""
    """Of an update: what was authorised, `update` or `patch`."""


class AdmissionPlugin(Protocol):
    """Changes or refuses writes. One that is about a few kinds or operations only names them, in an attribute `kinds`
    or `operations`, and is not asked about others."""

    def applies(self, request: AdmissionRequest) -> bool:
        """Cheap test, once for every write, whether the plugin has anything to do with it."""
        ...

    async def mutate(self, request: AdmissionRequest) -> None:
        """Change the object, or refuse it."""
        ...

    async def validate(self, request: AdmissionRequest) -> None:
        """Refuse the final object, or let it pass."""
        ...


SCOPES = 4096
"""Kinds and operations that are remembered; custom kinds come and go."""


class AdmissionChain:
    """Plugins in their order; the first refusal wins."""

    def __init__(self, plugins: Iterable[AdmissionPlugin] = ()) -> None:
        self._plugins = list(plugins)
        self._concerned: dict[tuple[Kind, Operation], list[AdmissionPlugin]] = {}
        """Who is asked whether a write of a kind concerns it, found once."""

    async def mutate(self, request: AdmissionRequest) -> None:
        """Let every plugin change the object."""
        for plugin in self.concerned(request):
            await plugin.mutate(request)

    async def validate(self, request: AdmissionRequest) -> None:
        """Let every plugin judge the object."""
        plugins = request.concerned
        for plugin in self.concerned(request) if plugins is None else plugins:
            await plugin.validate(request)

    def concerned(self, request: AdmissionRequest) -> list[AdmissionPlugin]:
        """The plugins that have anything to do with a request."""
        if request.concerned is None:
            scope = (request.type.stored_as, request.operation)
            plugins = self._concerned.get(scope)
            if plugins is None:
                if len(self._concerned) >= SCOPES:
                    self._concerned.clear()
                plugins = self._concerned[scope] = [plugin for plugin in self._plugins if _may_concern(plugin, *scope)]
            request.concerned = [plugin for plugin in plugins if plugin.applies(request)]
        return request.concerned


def _may_concern(plugin: AdmissionPlugin, kind: Kind, operation: Operation) -> bool:
    kinds: Collection[Kind] | None = getattr(plugin, "kinds", None)
    operations: Collection[Operation] | None = getattr(plugin, "operations", None)
    return (kinds is None or kind in kinds) and (operations is None or operation in operations)
