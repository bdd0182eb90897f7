"""`search/query?q=...`: what of all clusters matches a query of people, the newest first."""

import asyncio

import orjson

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.requests.model import Answer, AnyAnswer, Call, Context
from karmada.apiserver.requests.options import integer
from karmada.machinery.clock import rfc3339
from karmada.machinery.httpserver.failure import bad_request
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.search.access import Ask
from karmada.search.fulltext import Found, FullText, TooBroad
from karmada.search.query import Query, QueryError, parse
from karmada.search.sources import Finder, Source, Sources

NAME = "query"
LIMIT, MOST = 100, 1000
PAGE, LOOKED = 2000, 20_000
"""Matches that are read at once after the first few, and at most, for a user who may see few of them."""


class QueryEndpoint:
    """Answers queries with the rows that the asking user may read in their member."""

    def __init__(self, finder: Finder, index: FullText) -> None:
        self._finder = finder
        self._index = index

    async def __call__(self, context: Context, call: Call) -> AnyAnswer:
        """Answer an authorised request; a `Warning` says so where not everything that matches was looked at."""
        try:
            query = parse(call.params.get("q", ""))
        except QueryError as error:
            raise bad_request(str(error)) from None
        limit = min(integer(dict(call.params), "limit") or LIMIT, MOST)
        readable = _Readable(self._finder, call.user)
        try:
            rows, cut = await self._rows(query, context.now(), limit, readable)
        except TooBroad as error:
            raise bad_request(str(error)) from None
        excerpts = await self._index.excerpts(query, rows[:limit])
        call.warnings += readable.warnings()
        if cut:
            call.warnings.append("not all that may match was looked at: begin patterns with text, or narrow the query")
        answer = {
            "kind": "SearchResult",
            "apiVersion": "search.karmada.io/v1alpha1",
            "items": [_item(each, excerpts.get(each.id, "")) for each in rows[:limit]],
            "more": cut or len(rows) > limit,
        }
        return Answer(200, orjson.dumps(answer))

    async def _rows(self, query: Query, now: float, limit: int, readable: "_Readable") -> tuple[list[Found], bool]:
        """The newest rows that may be seen, one more than `limit` if there are; and whether the rest is unknown."""
        rows: list[Found] = []
        size, before, looked = limit + 1, None, 0
        while True:
            page = await self._index.find(query, now, size, before)
            rows += await readable.among(page.found)
            looked += len(page.found)
            if len(rows) > limit or len(page.found) < size:
                return rows, page.cut
            if looked >= LOOKED:
                return rows, True
            before, size = page.found[-1].id, PAGE


class _Readable:
    """What of the rows one user may see: their cluster answers and lets the user read there."""

    def __init__(self, finder: Finder, user: UserInfo) -> None:
        self._finder = finder
        self._user = user
        self._sources: dict[GroupVersionResource, Sources] = {}
        self._by_cluster: dict[tuple[str, GroupVersionResource], Source] = {}

    async def among(self, found: list[Found]) -> list[Found]:
        """Those that may be seen."""
        new = [type_ for type_ in dict.fromkeys(each.type for each in found) if type_ not in self._sources]
        for type_, sources in zip(new, await asyncio.gather(*map(self._sources_of, new)), strict=True):
            self._sources[type_] = sources
            self._by_cluster |= {(source.mirror.cluster, type_): source for source in sources.found}
        return [each for each in found if self._is_shown(each)]

    def warnings(self) -> list[str]:
        """What the user should hear about rows that are missing."""
        return sorted({warning for each in self._sources.values() for warning in each.warnings()})

    async def _sources_of(self, type_: GroupVersionResource) -> Sources:
        return await self._finder.sources(Ask(self._user, "list", type_))

    def _is_shown(self, found: Found) -> bool:
        source = self._by_cluster.get((found.cluster, found.type))
        item = source.mirror.get(found.namespace, found.name) if source is not None else None
        return source is not None and item is not None and (source.match is None or source.match(item))


def _item(found: Found, excerpt: str) -> JSONObject:
    return {
        "cluster": found.cluster,
        "apiVersion": f"{found.group}/{found.version}" if found.group else found.version,
        "kind": found.kind,
        "namespace": found.namespace,
        "name": found.name,
        "status": found.status,
        "creationTimestamp": rfc3339(found.created),
        "excerpt": excerpt,
    }
