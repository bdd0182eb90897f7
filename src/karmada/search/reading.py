"""GET and LIST over all members: stored bytes joined, cluster by cluster in the order of their names."""

import asyncio
from collections.abc import Callable, Sequence

import orjson

from karmada.apiserver.failures import conflict, gone, not_found
from karmada.apiserver.requests import continuation, offload, reading
from karmada.apiserver.requests.list import after_of, start_of
from karmada.apiserver.requests.model import Answer, Call
from karmada.apiserver.requests.negotiation import Form
from karmada.apiserver.requests.options import ListOptions, list_options
from karmada.apiserver.requests.selection import select
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.storage.base import Compacted
from karmada.apiserver.watchcache import Item, Match, Page
from karmada.machinery.httpserver.failure import Failure, bad_request
from karmada.search import tables
from karmada.search.access import Ask
from karmada.search.mirror import Mirror
from karmada.search.resource_versions import Continue, ResourceVersions
from karmada.search.sources import Source, SourceFinder

MOST_BYTES = 256 << 20
"""Of one answer."""
Rewrite = Callable[[bytes], bytes]
"""From an object as it is cached to what is shown of it; works in any thread."""
CATCH_UP_SECONDS = 3.0
"""How long a read waits for a version that a client has already seen."""


def restamped(item: Item, version: str) -> bytes:
    """An object under another resourceVersion."""
    old, new = b'"resourceVersion":"%d"' % item.revision, b'"resourceVersion":"%b"' % version.encode()
    return item.body.replace(old, new, 1)


async def get(finder: SourceFinder, call: Call, ask: Ask, rewrite: Rewrite | None = None) -> Answer:
    """Answer with the one object of a name in all clusters; several are ambiguous."""
    sources = await finder.sources(ask)
    having = [
        (source.mirror, item)
        for source in sources.found
        if (item := source.mirror.get(ask.namespace, ask.name)) is not None
        and (source.match is None or source.match(item))
    ]
    if len(having) > 1:
        names = ", ".join(mirror.cluster for mirror, _ in having)
        raise conflict(ask.type.group, ask.type.resource, ask.name, f"ambiguous objects in clusters [{names}]")
    if not having:
        raise sources.refusal(ask) or not_found(ask.type.group, ask.type.resource, call.name)
    ((mirror, item),) = having
    body = restamped(item, str(ResourceVersions({mirror.cluster: str(item.revision)})))
    if rewrite is not None:
        body = rewrite(body)
    if call.view.form is Form.TABLE:
        obj: JSONObject = orjson.loads(body)
        return await reading.written(call, 200, tables.table(call, [obj], obj["metadata"]["resourceVersion"]))
    return await reading.one(call, body)


async def list_objects(finder: SourceFinder, call: Call, ask: Ask, rewrite: Rewrite | None = None) -> Answer:
    """Answer with the objects of all clusters, page by page where asked."""
    options = list_options(dict(call.params), watch=False)
    selection = await select(call.served, options.label_selector, options.field_selector)
    sources = await finder.sources(ask)
    refusal = sources.refusal(ask)
    if refusal is not None:
        raise refusal
    items, metadata = await _pages(call, options, sources.found, selection.match)
    call.warnings += sources.warnings()
    bodies = [item.body for item in items]
    if rewrite is not None:
        bodies = await offload.run(sum(map(len, bodies)), lambda: list(map(rewrite, bodies)))
    return await _answer(call, bodies, metadata)


async def _pages(
    call: Call, options: ListOptions, sources: Sequence[Source], match: Match | None
) -> tuple[list[Item], JSONObject]:
    begin = Continue.parse(options.continue_)
    if options.continue_ and not begin.cluster:
        raise bad_request("the continue token is not one of this server")
    requested = ResourceVersions.parse(begin.versions if begin.cluster else options.resource_version)
    reached = ResourceVersions(requested.versions)
    limit = 0 if options.resource_version == "0" and not options.match else options.limit
    items: list[Item] = []
    size, remaining, after = 0, 0, Continue()
    for position, source in enumerate(sources):
        mirror = source.mirror
        if mirror.cluster < begin.cluster:
            continue
        token = begin.token if mirror.cluster == begin.cluster else ""
        page = await _page(call, options, source, match, limit - len(items) if limit else 0, token, requested)
        items += page.items
        size += sum(len(item.body) for item in page.items)
        if size > MOST_BYTES:
            text = f"the list has more than {MOST_BYTES >> 20} MiB: ask for it in pages (limit), or select less"
            raise Failure(413, "RequestEntityTooLarge", text)
        reached.set(mirror.cluster, str(page.revision))
        if limit and len(items) >= limit:
            if page.next:
                remaining = page.remaining if match is None else 0
                inner = continuation.encode(continuation.Position(page.revision, start_of(call, page.next)))
                after = Continue("", mirror.cluster, inner)
            elif position + 1 < len(sources):
                after = Continue("", sources[position + 1].mirror.cluster)
            break
    for source in sources:
        if source.mirror.cluster not in (reached.versions or {}):
            reached.set(source.mirror.cluster, str(source.mirror.store.revision))
    versions = str(reached)
    metadata: JSONObject = {"resourceVersion": versions, "continue": str(after._replace(versions=versions))}
    return items, metadata | ({"remainingItemCount": remaining} if remaining else {})


async def _page(
    call: Call,
    options: ListOptions,
    source: Source,
    match: Match | None,
    limit: int,
    token: str,
    versions: ResourceVersions,
) -> Page:
    mirror, at, after = source.mirror, 0, ""
    if token:
        position = continuation.decode(token)
        after, at = after_of(call, position.after), max(position.revision, 0)
    elif (version := versions.get(mirror.cluster)) not in ("", "0"):
        await caught_up(mirror, version)
        at = int(version) if options.match == "Exact" else 0
    try:
        return mirror.store.list(mirror.key, call.namespace, both(match, source.match), limit, after, at)
    except Compacted:
        raise gone(f"The resourceVersion for the provided list is too old: {at} of cluster {mirror.cluster}") from None


async def caught_up(mirror: Mirror, version: str) -> None:
    """Wait until a mirror has come as far as a client has seen; a version it never reaches is expired."""
    if not version.isdecimal() or len(version) > 20:
        raise gone(f"too old resource version: {version[:40]} of cluster {mirror.cluster} is none of this server")
    try:
        async with asyncio.timeout(CATCH_UP_SECONDS):
            await mirror.store.reached(int(version))
    except TimeoutError:
        raise gone(f"too large resource version: {version} of cluster {mirror.cluster}") from None


def both(one: Match | None, other: Match | None) -> Match | None:
    """What both matches let pass; None lets everything pass."""
    if one is None or other is None:
        return one or other
    return lambda item: one(item) and other(item)


async def _answer(call: Call, bodies: list[bytes], metadata: JSONObject) -> Answer:
    served, view = call.served, call.view
    if view.form is Form.METADATA:
        raise Failure(406, "NotAcceptable", f"you requested {view.form}, but the requested object is a list")
    if view.form is Form.OBJECT:
        head = {"kind": served.list_kind, "apiVersion": served.api_version, "metadata": metadata}
        body = orjson.dumps(head)[:-1] + b',"items":[' + b",".join(bodies) + b"]}"
        return await reading.written(call, 200, body)
    size = sum(map(len, bodies))
    objects: list[JSONObject] = await offload.run(size, lambda: list(map(orjson.loads, bodies)))
    if view.form is Form.TABLE:
        more = {key: value for key, value in metadata.items() if key != "resourceVersion" and value != ""}
        body = await offload.run(size, tables.table, call, objects, metadata["resourceVersion"], more)
        return await reading.written(call, 200, body)
    answer = {
        "kind": Form.METADATA_LIST.value,
        "apiVersion": f"meta.k8s.io/{view.version}",
        "metadata": metadata,
        "items": [reading.partial(call, obj) for obj in objects],
    }
    return await reading.written(call, 200, orjson.dumps(answer))
