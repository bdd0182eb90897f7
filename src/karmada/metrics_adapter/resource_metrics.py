"""metrics.k8s.io over all members: what pods and nodes use, each with the cluster it was measured in.

`?history=true` adds what they used lately to each of them, as far as this process has seen it.
"""

from functools import partial
from itertools import chain

import msgspec
import orjson

from karmada.api import annotations
from karmada.apiserver.failures import not_found
from karmada.apiserver.requests.access import Access, Guarded
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.pipeline import Specials
from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema.model import Schema
from karmada.machinery.client import Client
from karmada.machinery.codec import Identity, reading, writable_tree
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.metrics_adapter.fanout import Fanout, refuse_unsafe
from karmada.metrics_adapter.history import History, Key
from karmada.metrics_adapter.measuring import GROUP, KINDS, VERSION, everything, type_of

HISTORY = "history"
"""The query parameter, and the field that it adds."""
_VERBS = ("get", "list")
_LEVELS = 2
"""A list and its items, around each of them."""


class _Meta(Identity, frozen=True, gc=False):
    annotations: dict[str, str] | None = None


class _Measured(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta = _Meta()


_measured = msgspec.json.Decoder(_Measured)


def types() -> list[ResourceType]:
    """The resources of the group."""
    schema = Schema("object", preserve_unknown=True)
    return [
        ResourceType(GROUP, VERSION, plural, kind, plural == "pods", schema, verbs=_VERBS, has_status=False)
        for plural, kind in KINDS.items()
    ]


def handlers(fanout: Fanout, history: History) -> Specials:
    """Who answers."""
    return {(GROUP, plural, ""): Guarded(Access.RESOURCE, partial(_answer, fanout, history)) for plural in KINDS}


async def _answer(fanout: Fanout, history: History, context: Context, call: Call) -> Answer:
    refuse_unsafe(call)
    plural = call.served.type.plural
    body = await (_one if call.name else _all)(fanout, call, type_of(plural))
    if call.params.get(HISTORY) == "true":
        for item in body.get("items", [body]):
            _add_history(item, history, plural)
    return Answer(200, orjson.dumps({"apiVersion": f"{GROUP}/{VERSION}", **body}))


async def _one(fanout: Fanout, call: Call, type_: GroupVersionResource) -> JSONObject:
    async def ask(member: Client) -> bytes:
        return await member.encoded(type_).get(call.name, call.namespace)

    asked = await fanout.ask((type_, call.namespace, call.name), ask)
    gathered = asked.read(partial(_annotated, type_.resource))
    if len(gathered.found) > 1:
        kind = type_.resource.removesuffix("s")
        text = f"the {kind}({call.name}) found in more than one clusters"
        details = {"name": call.name, "kind": type_.resource}
        message = f'Operation cannot be fulfilled on {type_.resource} "{call.name}": {text}'
        raise Failure(409, "Conflict", message, details)
    for tree in gathered.found.values():
        return tree
    if gathered.unread:
        raise gathered.unavailable()
    raise not_found("", type_.resource, call.name)


async def _all(fanout: Fanout, call: Call, type_: GroupVersionResource) -> JSONObject:
    scope = Scope(call.namespace, call.params.get("labelSelector", ""), call.params.get("fieldSelector", ""))
    asked = await everything(fanout, type_.resource, scope)
    gathered = asked.read(lambda cluster, found: [_annotated(type_.resource, cluster, body) for body in found])
    gathered.warn(call)
    items = list(chain.from_iterable(gathered.found.values()))
    return {"kind": f"{KINDS[type_.resource]}List", "metadata": {}, "items": items}


def _add_history(item: JSONObject, history: History, plural: str) -> None:
    about = item["metadata"]
    cluster = about["annotations"][annotations.QUERY_FROM_CLUSTER]
    key = Key(cluster, str(about.get("namespace", "")), str(about.get("name", "")))
    if (known := history.of(plural, key)) is not None:
        item[HISTORY] = known


def _annotated(plural: str, cluster: str, body: bytes) -> JSONObject:
    """What a member measured, with the member's name."""
    reading(_measured.decode, body)
    tree = writable_tree(body, within=_LEVELS)
    metadata = dict(tree.get("metadata") or {})
    metadata["annotations"] = {**(metadata.get("annotations") or {}), annotations.QUERY_FROM_CLUSTER: cluster}
    return {**tree, "kind": KINDS[plural], "apiVersion": f"{GROUP}/{VERSION}", "metadata": metadata}
