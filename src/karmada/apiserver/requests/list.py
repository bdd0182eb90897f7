"""LIST: stored bytes joined into a list, page by page where asked.

Later pages read the revision of the first one. Items of built-in kinds come without apiVersion and kind, those of
custom kinds with them, as clients of the reference see it. A large list as it is stored is joined while it is written,
piece by piece: a client that does not read it holds no copy of it.
"""

from collections.abc import Iterator

import orjson

from karmada.apiserver.failures import gone
from karmada.apiserver.requests import continuation, offload, reading
from karmada.apiserver.requests.freshness import wait_for
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.negotiation import Form
from karmada.apiserver.requests.options import ListOptions, list_options, parse_version
from karmada.apiserver.requests.selection import Selection, select
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.served_resource import Served
from karmada.apiserver.storage.base import Compacted
from karmada.apiserver.watchcache import Item, Page
from karmada.machinery.httpserver.encoding import cut
from karmada.machinery.httpserver.failure import Failure, bad_request
from karmada.machinery.httpserver.model import PIECE, Pieces


async def list_objects(context: Context, call: Call) -> Answer:
    """Answer with a list."""
    options = list_options(dict(call.params), watch=False)
    selection = await select(call.served, options.label_selector, options.field_selector)
    page = await read_page(context, call, options, selection)
    return await _answer(call, page, page_metadata(call, page, selection))


def page_metadata(call: Call, page: Page, selection: Selection) -> JSONObject:
    """The metadata of a list: its revision and where it goes on."""
    metadata: JSONObject = {"resourceVersion": str(page.revision)}
    if page.next:
        metadata["continue"] = continuation.encode(continuation.Position(page.revision, start_of(call, page.next)))
        if page.remaining and selection.match is None:
            metadata["remainingItemCount"] = page.remaining
    elif call.served.type.custom:
        metadata["continue"] = ""
    return metadata


async def read_page(context: Context, call: Call, options: ListOptions, selection: Selection) -> Page:
    """The page that the options ask for."""
    after, at = "", 0
    if options.continue_:
        if options.resource_version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        position = continuation.decode(options.continue_)
        after, at = after_of(call, position.after), max(position.revision, 0)
    elif options.resource_version:
        try:
            version = parse_version(options.resource_version)
        except ValueError as error:
            raise bad_request(f"invalid resource version: {error}") from None
        await wait_for(context, version, call.params)
        if options.match == "Exact" or (options.limit and version and not options.match):
            at = version  # Pages begin there unless a match is named.
    else:
        await context.store.sync()
    whole = selection.name or (options.resource_version == "0" and not options.match)
    limit = 0 if whole else options.limit
    try:
        return context.store.list(call.served.key, call.namespace, selection.match, limit, after, at, selection.label)
    except Compacted:
        if options.continue_:
            raise continuation.expired(start_of(call, after)) from None
        raise gone(f"The resourceVersion for the provided list is too old: {at}") from None


async def _answer(call: Call, page: Page, metadata: JSONObject) -> Answer:
    served, view = call.served, call.view
    if view.form is Form.METADATA:
        kind = reading.go_type(served, "List")
        message = f"you requested {view.form}, but the requested object is a list ({kind})"
        raise Failure(406, "NotAcceptable", message)
    plain = served.is_storage_version and (
        not served.since or all(item.revision >= served.since for item in page.items)
    )
    if view.form is Form.OBJECT and plain:
        pieces = _pieces(served, page, metadata)
        if pieces.size <= PIECE or call.http is None or view.yaml or view.pretty:
            return await reading.written(call, 200, b"".join(pieces.parts))
        return Answer(200, b"", pieces=pieces)
    objects = await reading.objects(served, page.items)
    if view.form is Form.TABLE:
        more = {key: value for key, value in metadata.items() if key != "resourceVersion" and value != ""}
        size = sum(len(item.body) for item in page.items)
        body = await offload.run(size, reading.table, call, objects, metadata["resourceVersion"], more)
        return await reading.written(call, 200, body)
    if view.form is Form.METADATA_LIST:
        version = f"meta.k8s.io/{view.version}"
        items = [reading.partial(call, obj) for obj in objects]
        answer = {"kind": Form.METADATA_LIST.value, "apiVersion": version, "metadata": metadata, "items": items}
    else:
        if not served.type.custom:
            for obj in objects:
                obj.pop("kind", None)
                obj.pop("apiVersion", None)
        answer = {"kind": served.list_kind, "apiVersion": served.api_version, "metadata": metadata, "items": objects}
    return await reading.written(call, 200, orjson.dumps(answer))


def _pieces(served: Served, page: Page, metadata: JSONObject) -> Pieces:
    head = orjson.dumps({"kind": served.list_kind, "apiVersion": served.api_version, "metadata": metadata})[:-1]
    start = head + b',"items":['
    bare = 0 if served.type.custom else served.bare
    between = b"," if served.type.custom else b",{"
    items = page.items
    size = len(start) + sum([item.size for item in items]) + len(items) * (len(between) - bare) + len(b"]}")
    return Pieces(size - bool(items), _parts(start, items, between, bare))


def _parts(start: bytes, items: list[Item], between: bytes, bare: int) -> Iterator[bytes]:
    """The items, each from its byte `bare` on, joined to pieces; what is large is copied only as it is written."""
    parts: list[bytes | memoryview] = [start]
    size, separator = 0, between[1:]
    for item in items:
        body = item.body
        parts.append(separator)
        separator = between
        if len(body) > PIECE:
            yield b"".join(parts)
            yield from cut(body, bare)
            parts, size = [], 0
            continue
        parts.append(memoryview(body)[bare:] if bare else body)
        size += len(body)
        if size >= PIECE:
            yield b"".join(parts)
            parts, size = [], 0
    parts.append(b"]}")
    yield b"".join(parts)


def start_of(call: Call, position: str) -> str:
    """A store position as tokens spell it: relative to the namespace that is listed."""
    namespace, _, name = position.partition("/")
    return name if call.namespace or not namespace else position


def after_of(call: Call, start: str) -> str:
    """The store position that a token spells."""
    return start if call.served.type.namespaced and not call.namespace else f"{call.namespace}/{start}"
