"""What a description shows beside the object: other objects, asked for all at once before anything is written."""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from karmada.cli.access import Access

JSONObject = dict[str, Any]
Related = Mapping[str, list[JSONObject]]
"""Objects by the name of the query that asked for them; none where they cannot be read."""


class Query(NamedTuple):
    """One object by its name, or those that selectors choose."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    labels: str = ""
    fields: str = ""


async def fetch(access: Access, queries: Mapping[str, Query]) -> Related:
    """The answers."""
    found = await asyncio.gather(*(_ask(access, query) for query in queries.values()))
    return dict(zip(queries, found, strict=True))


async def _ask(access: Access, query: Query) -> list[JSONObject]:
    from karmada.machinery.errors import ApiError
    from karmada.machinery.resource import Scope

    resource = access.resource(query.group, query.version, query.resource)
    try:
        if query.name:
            return [await resource.get(query.name, query.namespace)]
        return (await resource.list(Scope(query.namespace, query.labels, query.fields))).items
    except ApiError:
        return []
