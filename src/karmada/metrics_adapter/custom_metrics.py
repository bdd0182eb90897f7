"""custom.metrics.k8s.io over all members: the same object's metric in several members is their sum."""

from collections.abc import Iterable
from functools import partial
from typing import Annotated

import msgspec
import orjson

from karmada.api.base import Struct
from karmada.api.meta import LabelSelector
from karmada.api.quantity import Quantity
from karmada.apiserver.requests.access import Access, Guarded
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.pipeline import Specials
from karmada.apiserver.resources import ANY, ResourceType
from karmada.apiserver.schema.model import Schema
from karmada.machinery.client import Client
from karmada.machinery.codec import reading
from karmada.machinery.errors import NotFound
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.transport import GroupVersionResource, JSONObject, Request, Verb
from karmada.metrics_adapter.fanout import Fanout, refuse_unsafe

GROUP = "custom.metrics.k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
"""Newest first; members are asked for the first that they serve."""
_Seconds = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_SELECTORS = ("labelSelector", "metricLabelSelector")


class _Metric(Struct, frozen=True):
    """A metric's name, and the selector that narrows it down."""

    name: str = ""
    selector: LabelSelector | None = None


class _Item(Struct, frozen=True):
    described_object: dict[str, str]
    metric: _Metric | None = None
    metric_name: str = ""
    selector: LabelSelector | None = None
    timestamp: str | None = None
    window_seconds: _Seconds | None = None
    window: _Seconds | None = None
    value: str | int | float = ""


class _Items(Struct, frozen=True):
    items: tuple[_Item, ...] | None = None


_decode = msgspec.json.Decoder(_Items).decode


def types() -> list[ResourceType]:
    """Every resource of the group: which objects have metrics is the members' business."""
    schema = Schema("object", preserve_unknown=True)
    return [
        ResourceType(GROUP, version, ANY, "MetricValueList", True, schema, verbs=("get",), open=True)
        for version in VERSIONS
    ]


def handlers(fanout: Fanout) -> Specials:
    """Who answers."""
    return {(GROUP, ANY, ""): Guarded(Access.RESOURCE, partial(_answer, fanout))}


async def _answer(fanout: Fanout, context: Context, call: Call) -> Answer:
    refuse_unsafe(call)
    version, plural = call.served.type.version, call.served.type.plural
    params = {name: call.params[name] for name in _SELECTORS if call.params.get(name)}
    path = (plural, call.namespace, call.name, call.subresource)

    async def ask(member: Client) -> list[JSONObject]:
        missing: NotFound | None = None
        for known in VERSIONS:
            type_ = GroupVersionResource(GROUP, known, plural)
            request = Request(Verb.GET, type_, call.namespace, call.name, call.subresource, params)
            try:
                return reading(_items, await member.transport.send(request))
            except NotFound as error:
                missing = error
        assert missing is not None
        raise missing

    gathered = await fanout.ask((GROUP, path, tuple(params.items())), ask)
    items = merged(item for found in gathered.found.values() for item in found)
    if not items:
        if gathered.unread:
            raise gathered.unavailable()
        metric = call.subresource or call.name
        text = f"the server could not find the metric {metric} for {plural}"
        raise Failure(404, "NotFound", text, {})
    gathered.warn(call)
    shaped = [_shaped(item, version) for item in items]
    tree = {"kind": "MetricValueList", "apiVersion": f"{GROUP}/{version}", "metadata": {}, "items": shaped}
    return Answer(200, orjson.dumps(tree))


def merged(items: Iterable[JSONObject]) -> list[JSONObject]:
    """Metrics of all members, those of the same object and metric added up."""
    known: dict[tuple[object, ...], JSONObject] = {}
    for item in items:
        described, metric = item["describedObject"], item["metric"]
        key = (*(described.get(name) for name in ("apiVersion", "kind", "namespace", "name")), metric.get("name"))
        if key in known:
            total = Quantity.parse(known[key]["value"]) + Quantity.parse(item["value"])
            item = {**item, "value": str(total)}
        known[key] = item
    return list(known.values())


def _items(body: bytes) -> list[JSONObject]:
    """The metrics of an encoded answer of either version, in the shape of the newer one; `ValueError` for others."""
    found = []
    for item in _decode(body).items or ():
        Quantity.parse(item.value)
        metric = item.metric or _Metric(name=item.metric_name, selector=item.selector)
        window = item.window if item.window_seconds is None else item.window_seconds
        found.append(
            {
                "describedObject": item.described_object,
                "metric": msgspec.to_builtins(metric),
                "timestamp": item.timestamp,
                **({"windowSeconds": window} if window is not None else {}),
                "value": item.value,
            }
        )
    return found


def _shaped(item: JSONObject, version: str) -> JSONObject:
    """A metric as a version of the API spells it."""
    if version == "v1beta2":
        return item
    metric = item["metric"]
    older = {"describedObject": item["describedObject"], "metricName": metric.get("name", "")}
    older |= {"timestamp": item["timestamp"], "value": item["value"]}
    if "windowSeconds" in item:
        older["window"] = item["windowSeconds"]
    if metric.get("selector") is not None:
        older["selector"] = metric["selector"]
    return older
