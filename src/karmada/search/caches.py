"""All mirrors of all members: started and stopped as wanted, found by kind.

One member that does not answer costs its own rows and nobody's time: connecting has a deadline, and what is wrong with
it is remembered for the conditions of the registries.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Protocol

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.served_resource import Served
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.discovery import ApiResource, UnknownKind
from karmada.machinery.errors import ApiError
from karmada.machinery.informers.cache import Room
from karmada.machinery.rest_mapper import RESTMapper
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.members import Members, MemberUnavailable
from karmada.search.fulltext import FullText
from karmada.search.mirror import Mirror
from karmada.search.plan import KindRef, Part
from karmada.search.view import GroupKind

CONNECT_SECONDS = 10.0
LOADING = "it is being loaded"
_FOLLOWED = frozenset({"list", "watch"})
Joined = Callable[[Mirror], None]
"""Called with each mirror of a kind that has loaded."""


@dataclass(slots=True)
class MemberCaches:
    """The mirrors of one member."""

    cluster: Cluster
    client: Client
    room: Room = field(default_factory=Room)
    mirrors: dict[GroupVersionResource, Mirror] = field(default_factory=dict)


class MirrorSubscriptions(Protocol):
    """Announces mirrors to watches that are open."""

    def subscribe(self, type_: GroupVersionResource, joined: Joined) -> Callable[[], None]:
        """Call `joined` with every mirror of a collection that loads from now on; returns how to stop that."""
        ...


class Caches:
    """Mirrors by cluster and kind."""

    def __init__(
        self, members: Members, served: Callable[[ApiResource], Served], supervisor: Supervisor, clock: Clock
    ) -> None:
        """`served` knows how objects of a discovered kind are selected and printed."""
        self._members = members
        self._served = served
        self._supervisor = supervisor
        self._clock = clock
        self._caches: dict[str, MemberCaches] = {}
        self._watching: dict[GroupVersionResource, list[Joined]] = {}
        self._registered: dict[GroupVersionResource, Served] = {}
        self.children: Set[GroupVersionResource] = frozenset()
        """Those of them that the view of templates shows from members."""
        self.child_kinds: Set[GroupKind] = frozenset()
        """Their kinds."""
        self.registries_are_known = False
        """Whether the registries have been read: until then nobody can say which collections they name."""
        self.index: FullText | None = None
        """The indexer of every mirror, so that people find objects by their words."""

    @property
    def registered(self) -> Set[GroupVersionResource]:
        """Collections that some registry names, whether or not a member has them."""
        return self._registered.keys()

    def register(self, resources: Iterable[ApiResource], children: Set[GroupVersionResource] = frozenset()) -> None:
        """These are the collections that registries name, and those of them that members fill themselves."""
        known = self._registered
        self._registered = {each.type: known.get(each.type) or self._served(each) for each in resources}
        self.children = frozenset(children)
        types = [self._registered[type_].type for type_ in children]
        self.child_kinds = frozenset(GroupKind(served.group, served.kind) for served in types)
        self.registries_are_known = True

    def served(self, type_: GroupVersionResource) -> Served:
        """How objects of a registered collection are selected and printed."""
        return self._registered[type_]

    def mappers(self) -> list[RESTMapper]:
        """What the members say about their kinds."""
        return [caches.client.mapper for caches in self._caches.values()]

    def member(self, cluster: str) -> MemberCaches | None:
        """What is cached of a cluster."""
        return self._caches.get(cluster)

    def mirrors(self, type_: GroupVersionResource) -> list[Mirror]:
        """The mirrors of a collection, in the order of their clusters."""
        found = (caches.mirrors.get(type_) for _, caches in sorted(self._caches.items()))
        return [mirror for mirror in found if mirror is not None]

    def clusters(self) -> list[str]:
        """Of which clusters something is cached."""
        return sorted(self._caches)

    def subscribe(self, type_: GroupVersionResource, joined: Joined) -> Callable[[], None]:
        """Call `joined` with every mirror of a collection that loads from now on; returns how to stop that."""
        listeners = self._watching.setdefault(type_, [])
        listeners.append(joined)
        return lambda: listeners.remove(joined)

    async def apply(self, cluster: Cluster, kinds: Mapping[KindRef, Part]) -> dict[KindRef, str]:
        """Mirror these kinds of a cluster and no others; by kind, why it is not served yet, or nothing."""
        name = cluster.metadata.name
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                caches = await self._connected(cluster)
                found, problems = await _discovered(caches.client, kinds)
        except TimeoutError:
            return dict.fromkeys(kinds, f"no answer within {CONNECT_SECONDS:g} s")
        except (ApiError, MemberUnavailable) as error:
            return dict.fromkeys(kinds, str(error))
        for type_, mirror in list(caches.mirrors.items()):
            resource = next((resource for resource in found if resource.type == type_), None)
            if resource is None or found[resource][1] != mirror.part:
                await self._stop(caches, type_)
        for resource, (kind, part) in found.items():
            mirror = caches.mirrors.get(resource.type) or self._start(caches, name, resource, part)
            if not mirror.loaded.is_set():
                problems[kind] = mirror.trouble() or LOADING
            elif mirror.trouble():
                problems[kind] = mirror.trouble()
        return problems

    async def drop(self, cluster: str) -> None:
        """Forget a cluster; open watches see its objects go."""
        caches = self._caches.pop(cluster, None)
        if caches is not None:
            for type_ in list(caches.mirrors):
                await self._stop(caches, type_)
        await self._members.forget(cluster)

    async def _connected(self, cluster: Cluster) -> MemberCaches:
        name = cluster.metadata.name
        member = await self._members.connect(cluster)
        caches = self._caches.get(name)
        if caches is not None and caches.client is member.client:
            caches.cluster = cluster
            return caches
        if caches is not None:
            for type_ in list(caches.mirrors):
                await self._stop(caches, type_)
        caches = self._caches[name] = MemberCaches(cluster, member.client)
        return caches

    def _start(self, caches: MemberCaches, cluster: str, resource: ApiResource, part: Part) -> Mirror:
        index, fingerprint = self.index, _fingerprint(caches.cluster, part)
        mirror = Mirror(
            cluster,
            self._served(resource),
            caches.client,
            part,
            caches.room,
            self._clock,
            self._loaded,
            (lambda mirror: index.resume(mirror, fingerprint)) if index is not None else None,
        )
        caches.mirrors[resource.type] = mirror
        self._supervisor.start(_task(cluster, resource.type), mirror.run)
        return mirror

    async def _stop(self, caches: MemberCaches, type_: GroupVersionResource) -> None:
        mirror = caches.mirrors.pop(type_)
        await self._supervisor.cancel(_task(mirror.cluster, type_))
        if self.index is not None:
            self.index.forget(mirror)

    def _loaded(self, mirror: Mirror) -> None:
        for joined in tuple(self._watching.get(mirror.type, ())):
            joined(mirror)


def _fingerprint(cluster: Cluster, part: Part) -> str:
    """What must be the same for something kept of a cluster to be used: it is the cluster that joined, and as much."""
    return "\n".join([cluster.metadata.uid, cluster.spec.id, *sorted(part.namespaces), "", *sorted(part.trimmed)])


def _task(cluster: str, type_: GroupVersionResource) -> str:
    return f"mirror of {type_.group}/{type_.version}/{type_.resource} in {cluster}"


async def _discovered(
    client: Client, kinds: Mapping[KindRef, Part]
) -> tuple[dict[ApiResource, tuple[KindRef, Part]], dict[KindRef, str]]:
    """The collections of kinds in a member, and what is wrong with the others."""
    found: dict[ApiResource, tuple[KindRef, Part]] = {}
    problems = dict.fromkeys(kinds, "")
    for kind, part in kinds.items():
        try:
            resource = await client.mapper.of_kind(*kind)
        except UnknownKind:
            problems[kind] = "the cluster has no such kind"
            continue
        if resource.verbs >= _FOLLOWED:
            found[resource] = (kind, part)
        else:
            problems[kind] = "the kind cannot be listed and watched"
    return found, problems
