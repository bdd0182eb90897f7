"""Which kinds an API server has, and what their collections are called: the documents in which it says so.

A group that cannot be discovered right now (its aggregated server is down) keeps its last known kinds: a transient
error is never a verdict that a kind is gone. Documents that are too large or have another shape raise `BadAnswer`.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from karmada.machinery import limits, small_json
from karmada.machinery.errors import ApiError, BadAnswer, NotFound
from karmada.machinery.transport import GroupVersionResource, Transport

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
_ROOTS = ("/api", "/apis")
_LONGEST_NAME = 253
_SHAPES = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading a document raises that is none."""


class ApiResource(NamedTuple):
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


async def documents(transport: Transport) -> list[bytes]:
    """The server's own words about its kinds."""
    return [await _document(transport, root, AGGREGATED) for root in _ROOTS]


class Discovered(NamedTuple):
    """What the documents of a server say."""

    resources: list[ApiResource]
    """Every kind, in discovery order (preferred versions first within a group)."""
    stale: set[str]
    """Group versions that could not be discovered: their kinds are those known before."""
    whole: bool
    """Whether the documents alone were complete."""


async def discover(transport: Transport, answers: list[bytes], previous: Iterable[ApiResource] = ()) -> Discovered:
    """The kinds that documents describe; asks for further ones where the server is old. Raises `BadAnswer`."""
    try:
        found = await _discover(transport, answers, previous)
        _check(found.resources)
    except _SHAPES as error:
        text = limits.printable(f"the server's discovery cannot be read: {error!r}")
        raise BadAnswer(text) from error
    return found


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


async def _discover(transport: Transport, answers: list[bytes], previous: Iterable[ApiResource]) -> Discovered:
    found: list[ApiResource] = []
    stale: set[str] = set()
    whole = True
    for root, answer in zip(_ROOTS, map(small_json.loads, answers), strict=True):
        if "items" in answer:
            found += _from_aggregated(answer, previous, stale)
        else:
            whole = False
            found += await _from_documents(transport, root, answer, previous, stale)
    return Discovered(found, stale, whole)


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
            document = small_json.loads(await _document(transport, path))
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
