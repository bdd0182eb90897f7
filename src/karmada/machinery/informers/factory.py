"""One shared informer per collection and process.

Two askers for the same collection with the same scope get the same informer. An informer starts when it is first asked
for and runs until it is released or the supervisor stops; each is a task of its own, so one that cannot load delays no
other.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from random import Random
from typing import Any, TypeVar, cast

from karmada.api.base import Struct
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.codec import Codec
from karmada.machinery.informers.cache import Room
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import EVERYTHING, Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, JSONObject

K = TypeVar("K", bound=Struct)
Projection = Callable[[bytes], bytes]
_Identity = tuple[GroupVersionResource, type[Any] | None, Scope, Projection | None]


class InformerFactory:
    """The informers of one client."""

    def __init__(
        self,
        client: Client,
        supervisor: Supervisor,
        *,
        clock: Clock = REAL,
        random: Random | None = None,
        scopes: Mapping[GroupVersionResource, Scope] | None = None,
        room: Room | None = None,
        lender: "InformerFactory | None" = None,
    ) -> None:
        """`scopes` limit what "everything" means for some collections: an identity may be allowed no more. `room`: how
        much the caches may hold, of a server that is not trusted.

        `lender` belongs to another component of this process: what it follows already is shared with this one, which
        shows once that it may list and watch the same itself.
        """
        self._scopes = scopes or {}
        self._room = room
        self._lender = lender
        self._lent: set[_Identity] = set()
        self._client = client
        self._supervisor = supervisor
        self._clock = clock
        self._random = random or clock.random()
        self._informers: dict[_Identity, Informer[Any]] = {}

    def of(self, kind: type[K], scope: Scope = EVERYTHING) -> Informer[K]:
        """The informer of a kind of `karmada.api`, as frozen structs."""
        resource = self._client.of(kind)
        return cast("Informer[K]", self._shared(resource.type, kind, resource.codec, scope, None))

    def resource(
        self, type_: GroupVersionResource, scope: Scope = EVERYTHING, project: Projection | None = None
    ) -> Informer[JSONObject]:
        """The informer of any collection, kept as bytes and read as trees; `project` drops what nobody reads."""
        codec = self._client.resource(type_).codec
        return cast("Informer[JSONObject]", self._shared(type_, None, codec, scope, project))

    def __iter__(self) -> Iterator[Informer[Any]]:
        """The informers there are now."""
        return iter(list(self._informers.values()))

    async def synced(self, informers: Iterable[Informer[Any]] | None = None) -> None:
        """Wait for the first load of the informers given, or of all there are now."""
        waiting = self._informers.values() if informers is None else informers
        await asyncio.gather(*(informer.synced() for informer in list(waiting)))

    async def release(self, informer: Informer[Any]) -> None:
        """Stop and forget an informer."""
        for identity, known in self._informers.items():
            if known is informer:
                del self._informers[identity]
                await self._supervisor.cancel(self._task(identity))
                return

    def _shared(
        self,
        type_: GroupVersionResource,
        kind: type[Any] | None,
        codec: Codec[Any],
        scope: Scope,
        project: Projection | None,
    ) -> Informer[Any]:
        if scope == EVERYTHING:
            scope = self._scopes.get(type_, EVERYTHING)
        identity = (type_, kind, scope, project)
        informer = self._informers.get(identity)
        if informer is None and self._lender is not None and identity in self._lender._informers:
            if identity not in self._lent:
                self._lent.add(identity)
                self._supervisor.start(f"proof of {self._task(identity)}", partial(self._prove, type_, scope))
            return self._lender._informers[identity]
        if informer is None:
            informer = Informer(
                self._client.transport,
                type_,
                codec,
                scope,
                project=project,
                clock=self._clock,
                random=Random(self._random.getrandbits(64)),
                room=self._room,
            )
            self._informers[identity] = informer
            self._supervisor.start(self._task(identity), informer.run)
        return informer

    def _task(self, identity: _Identity) -> str:
        """The name of a task; a factory that borrows shares its supervisor with the lender."""
        return _name(identity) if self._lender is None else f"{_name(identity)} for {self._client.field_manager}"

    async def _prove(self, type_: GroupVersionResource, scope: Scope) -> None:
        """List and watch what is shared, as this factory's own identity; raises what the server refuses."""
        resource = self._client.encoded(type_)
        seen = await resource.page(scope, limit=1)
        async with resource.watch(scope, resource_version=seen.resource_version):
            pass


def _name(identity: _Identity) -> str:
    (group, version, resource), kind, scope, project = identity
    form = (
        kind.__name__ if kind else f"projected by {project.__module__}.{project.__qualname__}" if project else "trees"
    )
    return f"informer {group}/{version}/{resource} as {form} in {scope}"
