"""`search/cache/<path>`: always a list, of what the caches hold of all clusters.

A name in the path selects the objects of that name in every cluster; label selectors select, nothing else does.
"""

import orjson

from karmada.api import label_selector
from karmada.apiserver.requests import paths
from karmada.apiserver.requests.model import Answer, AnyAnswer, Call, Context
from karmada.apiserver.requests.routing import not_served
from karmada.machinery.client import Client
from karmada.machinery.discovery import UnknownKind
from karmada.machinery.errors import ApiError
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.transport import GroupVersionResource
from karmada.search.access import Ask
from karmada.search.reading import MOST_BYTES, both
from karmada.search.sources import Finder

NAME = "cache"
_TYPE = "application/json; charset=utf-8"


class CacheEndpoint:
    """The handler of `search`."""

    def __init__(self, finder: Finder, hub: Client) -> None:
        self._finder = finder
        self._hub = hub

    async def __call__(self, context: Context, call: Call) -> AnyAnswer:
        """Answer an authorised request."""
        if call.name != NAME or not call.subresource:
            raise Failure(500, "", f"invalid requestInfo parts: [search {call.name}]")
        path = paths.parse(f"/{call.subresource}/{call.subpath}")
        if path is None:
            raise not_served()
        type_ = GroupVersionResource(path.group, path.version, path.resource)
        try:
            resource = await self._hub.mapper.of_type(type_)
        except UnknownKind:
            where = f"{path.group}/{path.version}" if path.group else path.version
            return _error(500, f"no matches for {where}, Resource={path.resource}")
        except ApiError as error:
            return _error(500, str(error))
        try:
            selector = label_selector.parse(call.params.get("labelSelector", ""))
        except label_selector.LabelSelectorError as error:
            return _error(400, str(error))
        ask = Ask(call.user, "get" if path.name else "list", type_, path.namespace, path.name)
        sources = await self._finder.sources(ask)
        if (refusal := sources.refusal(ask)) is not None:
            raise refusal
        call.warnings += sources.warnings()
        match = None if selector.matches_everything else (lambda item: selector.matches(item.index.labels))
        found: list[bytes] = []
        for source in sources.found:
            mirror = source.mirror
            if path.name:
                item = mirror.get(path.namespace, path.name)
                found += [item.body] if item is not None else []
            else:
                items = mirror.store.list(mirror.key, path.namespace, both(match, source.match)).items
                found += [item.body for item in items]
        if sum(map(len, found)) > MOST_BYTES:
            return _error(413, f"more than {MOST_BYTES >> 20} MiB match: select less, or use proxying with a limit")
        head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": {}}
        body = orjson.dumps(head)[:-1] + b',"items":[' + b",".join(found) + b"]}"
        return Answer(200, body, _TYPE)


def _error(code: int, text: str) -> Answer:
    return Answer(code, orjson.dumps({"error": text}))
