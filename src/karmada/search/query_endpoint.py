"""`search/query?q=...`: what of all clusters matches a query of people, the newest first."""

import asyncio

import orjson

from karmada.apiserver.requests.model import Answer, AnyAnswer, Call, Context
from karmada.apiserver.requests.options import integer
from karmada.apiserver.times import rfc3339
from karmada.machinery.httpserver.failure import bad_request
from karmada.machinery.transport import JSONObject
from karmada.search.fulltext import Found, FullText
from karmada.search.query import QueryError, parse
from karmada.search.sources import Ask, Finder, Sources

NAME = "query"
LIMIT, MOST = 100, 1000


class QueryEndpoint:
    """Answers queries with the rows that the asking user may read in their member."""

    def __init__(self, finder: Finder, index: FullText) -> None:
        self._finder = finder
        self._index = index

    async def __call__(self, context: Context, call: Call) -> AnyAnswer:
        """Answer an authorised request."""
        try:
            query = parse(call.params.get("q", ""))
        except QueryError as error:
            raise bad_request(str(error)) from None
        limit = min(integer(dict(call.params), "limit") or LIMIT, MOST)
        found = await self._index.find(query, context.now())
        types = list(dict.fromkeys(each.type for each in found))
        sources = await asyncio.gather(*(self._finder.sources(Ask(call.user, "list", type_)) for type_ in types))
        readable = dict(zip(types, sources, strict=True))
        rows = [each for each in found if _shown(each, readable[each.type])]
        call.warnings += sorted({said for each in sources for said in each.warnings()})
        answer = {
            "kind": "SearchResult",
            "apiVersion": "search.karmada.io/v1alpha1",
            "items": [_item(each) for each in rows[:limit]],
            "more": len(rows) > limit,
        }
        return Answer(200, orjson.dumps(answer))


def _shown(found: Found, sources: Sources) -> bool:
    for source in sources.found:
        if source.mirror.cluster == found.cluster:
            item = source.mirror.get(found.namespace, found.name)
            return item is not None and (source.match is None or source.match(item))
    return False


def _item(found: Found) -> JSONObject:
    return {
        "cluster": found.cluster,
        "apiVersion": f"{found.group}/{found.version}" if found.group else found.version,
        "kind": found.kind,
        "namespace": found.namespace,
        "name": found.name,
        "status": found.status,
        "creationTimestamp": rfc3339(found.created),
        "excerpt": found.excerpt,
    }
