"""Which kinds an API server has, and what their collections are called.

`RESTMapper` keeps the last discovery answer and asks again when something is not in it, at most once in
`MINIMUM_AGE` seconds. A group that cannot be discovered right now (its aggregated server is down) keeps its
last known kinds: a transient error is never a verdict that a kind is gone. Documents that are too large or have
another shape raise `BadAnswer`, and what was known stays.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from karmada.machinery import limits
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import ApiError, BadAnswer, NotFound
from karmada.machinery.transport import GroupVersionResource, Transport

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
MINIMUM_AGE = 1.0
_ROOTS = ("/api", "/apis")
_LONGEST_NAME = 253
_SHAPES = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading a document raises that is none."""


@dataclass(frozen=True, slots=True)
class ApiResource:
    """One kind and its collection."""

    type: GroupVersionResource
    kind: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()
    short_names: tuple[str, ...] = ()
    singular: str = ""
    categories: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """Group and version as objects spell them."""
        return api_version(self.type.group, self.type.version)


class UnknownKind(NotFound):
    """The server has no such kind or collection."""


def api_version(group: str, version: str) -> str:
    """`apps/v1`, or `v1` for the core group."""
    return f"{group}/{version}" if group else version


def split_api_version(text: str) -> tuple[str, str]:
    """Group and version of an object's apiVersion."""
    group, _, version = text.rpartition("/")
    return group, version


class RESTMapper:
    """Kinds and collections of one server."""

    def __init__(self, transport: Transport, clock: Clock = REAL) -> None:
        self._transport = transport
        self._clock = clock
        self._by_kind: dict[tuple[str, str], ApiResource] = {}
        self._by_type: dict[GroupVersionResource, ApiResource] = {}
        self._answered_at = float("-inf")
        self._asking = asyncio.Lock()
        self._answers: list[bytes] = []
        self.known: tuple[ApiResource, ...] = ()
        """What the last discovery said, in its order; the same object until a discovery says something else."""
        self.stale: frozenset[str] = frozenset()
        """Group versions the last discovery could not tell about; their kinds are those known before."""

    async def of_kind(self, api_version: str, kind: str) -> ApiResource:
        """The collection that holds objects of a kind."""
        found = self.known_kind(api_version, kind)
        if found is None:
            await self._refresh_if_old()
            found = self.known_kind(api_version, kind)
        if found is None:
            raise UnknownKind(f'the server has no kind "{kind}" in version "{api_version}"')
        return found

    async def of_type(self, type_: GroupVersionResource) -> ApiResource:
        """The kind of the objects in a collection."""
        found = self._by_type.get(type_)
        if found is None:
            await self._refresh_if_old()
            found = self._by_type.get(type_)
        if found is None:
            raise UnknownKind(f'the server has no resource "{type_.resource}" in "{type_.group}/{type_.version}"')
        return found

    def known_kind(self, api_version: str, kind: str) -> ApiResource | None:
        """What the last discovery said, without asking again."""
        return self._by_kind.get((api_version, kind))

    async def all(self) -> list[ApiResource]:
        """Every kind, in discovery order (preferred versions first within a group)."""
        if not self.known:
            await self._refresh_if_old()
        return list(self.known)

    async def refresh(self) -> None:
        """Ask the server now."""
        async with self._asking:
            await self._ask()

    async def _refresh_if_old(self) -> None:
        # Whoever comes while somebody is asking waits for that answer: no answer yet is not a no.
        async with self._asking:
            if self._clock.monotonic() - self._answered_at >= MINIMUM_AGE:
                await self._ask()

    async def _ask(self) -> None:
        answers = [await _document(self._transport, root, AGGREGATED) for root in _ROOTS]
        # The same words mean the same kinds: an idle server is asked often and changes rarely.
        if answers != self._answers:
            try:
                found, stale, whole = await _discover(self._transport, answers, list(self._by_type.values()))
                _check(found)
            except _SHAPES as error:
                text = limits.printable(f"the server's discovery cannot be read: {error!r}")
                raise BadAnswer(text) from error
            self._by_type = {resource.type: resource for resource in found}
            self.known = tuple(self._by_type.values())
            self._by_kind = {(resource.api_version, resource.kind): resource for resource in found}
            self._answers = answers if whole else []
            self.stale = frozenset(stale)
        self._answered_at = self._clock.monotonic()


async def _document(transport: Transport, path: str, accept: str = "") -> bytes:
    answer = await transport.raw("GET", path, accept=accept)
    if len(answer) > limits.DISCOVERY:
        raise BadAnswer(f"the server's discovery has a document of more than {limits.DISCOVERY} bytes")
    return answer


def _check(found: list[ApiResource]) -> None:
    if len(found) > limits.RESOURCES:
        raise BadAnswer(f"the server's discovery lists more than {limits.RESOURCES} resources")
    for resource in found:
        lists = (resource.verbs, resource.subresources, resource.short_names, resource.categories)
        names: list[object] = [*resource.type, resource.kind, resource.singular]
        for text in (*names, *(text for some in lists for text in some)):
            if not isinstance(text, str) or len(text) > _LONGEST_NAME or not text.isprintable():
                raise ValueError("a name is no name")


async def _discover(
    transport: Transport, answers: list[bytes], previous: Iterable[ApiResource]
) -> tuple[list[ApiResource], set[str], bool]:
    """The kinds, the group versions that could not be discovered, and whether the answers alone told all of it."""
    found: list[ApiResource] = []
    stale: set[str] = set()
    whole = True
    for root, answer in zip(_ROOTS, map(orjson.loads, answers), strict=True):
        if "items" in answer:
            found += _from_aggregated(answer, previous, stale)
        else:
            whole = False
            found += await _from_documents(transport, root, answer, previous, stale)
    return found, stale, whole


def _from_aggregated(answer: dict[str, Any], previous: Iterable[ApiResource], stale: set[str]) -> Iterable[ApiResource]:
    for group in answer["items"] or ():
        name = (group.get("metadata") or {}).get("name", "")
        for version in group.get("versions") or ():
            if version.get("freshness") == "Stale":
                stale.add(api_version(name, version["version"]))
                yield from _kept(previous, name, version["version"])
                continue
            for entry in version.get("resources") or ():
                kind = entry.get("responseKind") or {}
                yield ApiResource(
                    GroupVersionResource(name, version["version"], entry["resource"]),
                    kind.get("kind", ""),
                    entry.get("scope") == "Namespaced",
                    frozenset(entry.get("verbs") or ()),
                    frozenset(sub["subresource"] for sub in entry.get("subresources") or ()),
                    tuple(entry.get("shortNames") or ()),
                    entry.get("singularResource", ""),
                    tuple(entry.get("categories") or ()),
                )


async def _from_documents(
    transport: Transport, root: str, answer: dict[str, Any], previous: Iterable[ApiResource], stale: set[str]
) -> list[ApiResource]:
    """Discovery of servers without the aggregated form: one document per group and version."""
    if root == "/api":
        versions = [("", version) for version in answer.get("versions") or ()]
    else:
        versions = [
            (group["name"], version["version"]) for group in answer.get("groups") or () for version in group["versions"]
        ]
    found: list[ApiResource] = []
    for group, version in versions:
        path = f"{root}/{group}/{version}" if group else f"{root}/{version}"
        try:
            document = orjson.loads(await _document(transport, path))
        except BadAnswer:
            raise
        except ApiError:
            stale.add(api_version(group, version))
            found += _kept(previous, group, version)
            continue
        found += _from_document(group, version, document.get("resources") or [])
    return found


def _from_document(group: str, version: str, entries: list[dict[str, Any]]) -> Iterable[ApiResource]:
    subresources: dict[str, list[str]] = {}
    for entry in entries:
        name, _, subresource = entry["name"].partition("/")
        subresources.setdefault(name, []).extend([subresource] if subresource else [])
    for entry in entries:
        if "/" not in entry["name"]:
            yield ApiResource(
                GroupVersionResource(group, version, entry["name"]),
                entry["kind"],
                bool(entry.get("namespaced")),
                frozenset(entry.get("verbs") or ()),
                frozenset(subresources[entry["name"]]),
                tuple(entry.get("shortNames") or ()),
                entry.get("singularName", ""),
                tuple(entry.get("categories") or ()),
            )


def _kept(previous: Iterable[ApiResource], group: str, version: str) -> Iterable[ApiResource]:
    return [resource for resource in previous if resource.type[:2] == (group, version)]
