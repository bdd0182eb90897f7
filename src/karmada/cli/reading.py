"""Reads of one server that several commands do: tables and objects of kinds, page by page."""

from collections.abc import AsyncIterator, Awaitable
from typing import Any, NamedTuple, TypeVar

from karmada.cli.access import Access
from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.cli.kinds import Wanted
from karmada.cli.output.tables import ACCEPT
from karmada.cli.session import HUB, Session
from karmada.machinery import small_json
from karmada.machinery.discovery import ApiResource
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.transport import GroupVersionResource, Request, Verb

JSONObject = dict[str, Any]
T = TypeVar("T")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")


class Look(NamedTuple):
    """Which objects of a kind, and how much of them."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    chunk: int = 500
    whole_objects: bool = False
    """Whether rows of tables carry the object, not only its metadata."""

    def params(self) -> dict[str, str]:
        """The query of a list."""
        chosen = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {name: value for name, value in chosen.items() if value}


def namespace_of(access: Access, flags: Values, kind: ApiResource) -> str:
    """Where objects of a kind are looked for: nowhere in particular, the namespace given, or the context's."""
    if not kind.namespaced or getattr(flags, "all_namespaces", False):
        return ""
    return str(flags.namespace or access.target.namespace)


async def table(access: Access, wanted: Wanted, look: Look) -> JSONObject:
    """The table of a kind, or of one object."""
    include = {"includeObject": "Object" if look.whole_objects else "Metadata"}
    if wanted.name:
        request = Request(Verb.GET, wanted.kind.type, look.namespace, wanted.name, params=include, accept=ACCEPT)
        return as_table(await _named(access, request))
    first: JSONObject | None = None
    async for page in _pages(access, wanted.kind, look, include, ACCEPT):
        page = as_table(page)
        if first is None:
            first = page
        else:
            first["rows"] += page.get("rows") or []
    assert first is not None
    return first


async def objects(access: Access, wanted: Wanted, look: Look) -> list[JSONObject]:
    """The objects of a kind, or one."""
    if wanted.name:
        request = Request(Verb.GET, wanted.kind.type, look.namespace, wanted.name)
        return [await _named(access, request)]
    found: list[JSONObject] = []
    async for page in _pages(access, wanted.kind, look, {}, ""):
        head = {"apiVersion": wanted.kind.api_version, "kind": wanted.kind.kind}
        found += [{**head, **item} for item in page.get("items") or ()]
    return found


async def _named(access: Access, request: Request) -> JSONObject:
    """One object; of one that is absent because its namespace is, that is said."""
    try:
        found: JSONObject = small_json.loads(await access.transport.send(request))
        return found
    except NotFound as absent:
        if request.namespace in ("", "default"):
            raise
        try:
            await access.transport.send(Request(Verb.GET, NAMESPACES, name=request.namespace))
        except NotFound as error:
            raise error from absent
        except ApiError:
            pass
        raise


async def _pages(
    access: Access, kind: ApiResource, look: Look, params: dict[str, str], accept: str
) -> AsyncIterator[JSONObject]:
    query = look.params() | params | ({"limit": str(look.chunk)} if look.chunk else {})
    while True:
        request = Request(Verb.LIST, kind.type, look.namespace, params=query, accept=accept)
        page: JSONObject = small_json.loads(await access.transport.send(request))
        yield page
        start = (page.get("metadata") or {}).get("continue")
        if not start:
            return
        query = query | {"continue": start}


def as_table(answer: JSONObject) -> JSONObject:
    """A server that makes no tables sends objects: their names and ages are shown then."""
    if answer.get("kind") == "Table":
        return answer
    items = answer.get("items", [answer])
    created = [(item.get("metadata") or {}).get("creationTimestamp", "") for item in items]
    rows = [
        {"cells": [item["metadata"]["name"], when], "object": item} for item, when in zip(items, created, strict=True)
    ]
    columns = [{"name": "Name", "type": "string"}, {"name": "Created At", "type": "date"}]
    return {"kind": "Table", "columnDefinitions": columns, "rows": rows, "metadata": answer.get("metadata") or {}}


async def cluster_names(hub: Access) -> list[str]:
    """All members."""
    answer = small_json.loads(await hub.transport.send(Request(Verb.LIST, CLUSTERS)))
    return sorted(item["metadata"]["name"] for item in answer.get("items") or ())


async def chosen_clusters(hub: Access, names: list[str]) -> list[str]:
    """The clusters named, or all; refuses unknown ones."""
    known = await cluster_names(hub)
    for name in names:
        check_known(name, known)
    return list(dict.fromkeys(names)) or known


async def named_cluster(hub: Access, name: str) -> JSONObject:
    """One cluster; of a name that is nearly one, that is said."""
    try:
        return await hub.client.resource(CLUSTERS).get(name)
    except NotFound as error:
        from karmada.explain.nearest import did_you_mean

        hint = did_you_mean(name, await cluster_names(hub))
        raise NotFound(error.message + hint, error.status) from None


def check_known(name: str, known: list[str], refusal: str = "cluster {} does not exist") -> None:
    """Refuse a cluster that is no member."""
    if name not in known:
        from karmada.explain.nearest import nearest

        there = f" (there are: {', '.join(known)})" if known else " (no cluster has joined yet)"
        found = nearest(name, known)
        raise CommandError(refusal.format(name) + (f" (did you mean {found}?)" if found else there))


async def one_member(session: Session, flags: Values) -> Access:
    """The member that a command about one cluster is for."""
    hub = session.hub(flags)
    if not flags.cluster:
        raise CommandError("must specify a cluster: add --cluster=NAME")
    check_known(flags.cluster, await cluster_names(hub), 'clusters.cluster.karmada.io "{}" not found')
    return session.member(flags, flags.cluster)


async def scoped(session: Session, flags: Values) -> Access:
    """The control plane or the member, as `--operation-scope` says."""
    if flags.operation_scope == "karmada":
        return session.hub(flags)
    return await one_member(session, flags)


async def in_time(access: Access, work: Awaitable[T]) -> T:
    """What a server answers, unless it is a member that hangs: nobody waits for one cluster in vain."""
    if access.name == HUB:
        return await work
    import asyncio

    try:
        async with asyncio.timeout(access.patience):
            return await work
    except TimeoutError:
        text = f"no answer within {access.patience:g} s: see karmadactl check, or leave it out with -C"
        raise CommandError(text) from None
