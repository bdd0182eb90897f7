"""custom.metrics.k8s.io of a member: metrics of objects, set by whoever wants to see something react."""

from fnmatch import fnmatchcase

import orjson

from karmada.api import label_selector
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.requests.access import Access, Guarded
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.resources import ANY, JSONObject, ResourceType
from karmada.apiserver.schema.model import Schema
from karmada.machinery.clock import rfc3339
from karmada.machinery.httpserver.failure import Failure

GROUP, VERSION = "custom.metrics.k8s.io", "v1beta2"


class CustomMetrics:
    """Values by resource, metric and patterns of `namespace/name`; an object has the latest that fits."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], dict[str, str]] = {}
        schema = Schema("object", preserve_unknown=True)
        type_ = ResourceType(GROUP, VERSION, ANY, "MetricValueList", True, schema, verbs=("get",), open=True)
        self.local = LocalApi([type_], {(GROUP, ANY, ""): Guarded(Access.RESOURCE, self._answer)})

    def set(self, resource: str, metric: str, pattern: str, value: str) -> None:
        """Let objects of a resource that match a pattern have a value, a quantity."""
        known = self._values.setdefault((resource, metric), {})
        self._values[resource, metric] = {pattern: value} | {p: v for p, v in known.items() if p != pattern}

    async def _answer(self, context: Context, call: Call) -> Answer:
        resource, metric = call.served.type.plural, call.subresource
        names = [call.name]
        if call.name == "*":
            plural, _, group = resource.partition(".")
            selector = label_selector.parse(call.params.get("labelSelector", ""))
            trees = (orjson.loads(item.body) for item in context.store.list((group, plural), call.namespace).items)
            found = (tree["metadata"] for tree in trees)
            names = [meta["name"] for meta in found if selector.matches(meta.get("labels") or {})]
        stamp = rfc3339(context.now())
        items = [
            self._item(resource, call.namespace, name, metric, value, stamp)
            for name in names
            if (value := self._value(resource, metric, f"{call.namespace}/{name}")) is not None
        ]
        if not items:
            raise Failure(404, "NotFound", f"the server could not find the metric {metric} for {resource}", {})
        tree = {"kind": "MetricValueList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items}
        return Answer(200, orjson.dumps(tree))

    def _value(self, resource: str, metric: str, name: str) -> str | None:
        known = self._values.get((resource, metric), {})
        return next((value for pattern, value in known.items() if fnmatchcase(name, pattern)), None)

    @staticmethod
    def _item(resource: str, namespace: str, name: str, metric: str, value: str, stamp: str) -> JSONObject:
        described = {"kind": resource, "namespace": namespace, "name": name, "apiVersion": "v1"}
        return {"describedObject": described, "metric": {"name": metric}, "timestamp": stamp, "value": value}
