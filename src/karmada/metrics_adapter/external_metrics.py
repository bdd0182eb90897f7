"""external.metrics.k8s.io from the sources that ExternalMetric objects name."""

import asyncio
from functools import partial

import orjson

from karmada.api import label_selector
from karmada.api.autoscaling.v1alpha1 import ExternalMetric
from karmada.api.label_selector import LabelSelectorError
from karmada.apiserver.failures import unavailable
from karmada.apiserver.outgoing import Caller
from karmada.apiserver.requests.access import Access, Guarded
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.pipeline import Specials
from karmada.apiserver.resources import ANY, ResourceType
from karmada.apiserver.schema.model import Schema
from karmada.machinery.clock import Clock, rfc3339
from karmada.machinery.httpserver.failure import Failure, bad_request
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.membership.answers import Answers, Unread
from karmada.metrics_adapter import sources

GROUP, VERSION = "external.metrics.k8s.io", "v1beta1"
KEEP = 1.0
SILENCE = 15.0
LONGEST = 31.0
"""Seconds that a source may take, whatever its own limit."""


def types() -> list[ResourceType]:
    """Every resource of the group: each is a metric's name."""
    schema = Schema("object", preserve_unknown=True)
    return [
        ResourceType(GROUP, VERSION, ANY, "ExternalMetricValueList", True, schema, verbs=("get", "list"), open=True)
    ]


class ExternalMetrics:
    """Answers for the metrics that ExternalMetric objects define."""

    def __init__(self, clock: Clock, caller: Caller) -> None:
        self._clock = clock
        self._caller = caller
        self._answers = Answers(clock, KEEP, LONGEST, SILENCE)
        self.defined: Informer[ExternalMetric] | None = None
        """The objects, once they are followed."""

    def handlers(self) -> Specials:
        """Who answers."""
        return {(GROUP, ANY, ""): Guarded(Access.RESOURCE, self._answer)}

    async def _answer(self, context: Context, call: Call) -> Answer:
        metric = call.served.type.plural
        if not call.namespace or call.name:
            raise Failure(404, "NotFound", "the server could not find the requested resource", {})
        try:
            selector = label_selector.parse(call.params.get("labelSelector", ""))
        except LabelSelectorError as error:
            raise bad_request(str(error)) from error
        chosen = self._chosen(metric, call.namespace)
        found = await asyncio.gather(*(self._values(one, metric) for one in chosen))
        items = [item for values in found for item in values if selector.matches(item["metricLabels"])]
        tree = {"kind": "ExternalMetricValueList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items}
        return Answer(200, orjson.dumps(tree))

    def _chosen(self, metric: str, namespace: str) -> list[ExternalMetric]:
        """The objects that define a metric for a namespace."""
        informer = self.defined
        if informer is None or not informer.has_synced:
            raise unavailable("the metrics are not loaded yet")
        chosen = [
            one
            for one in informer.values()
            if (one.spec.metric_name or one.metadata.name) == metric
            and (not one.spec.namespaces or namespace in one.spec.namespaces)
        ]
        if not chosen:
            raise Failure(404, "NotFound", f"no ExternalMetric defines {metric} for namespace {namespace}", {})
        return chosen

    async def _values(self, defined: ExternalMetric, metric: str) -> list[JSONObject]:
        """Part of a sum is worse than none: a source that fails fails the whole answer."""
        source = defined.metadata
        ask = partial(sources.read, self._caller, defined.spec)
        try:
            values = await self._answers.of(source.uid, source.generation, ask)
        except Unread as error:
            raise unavailable(f"ExternalMetric {source.name}: {error}") from error
        stamp = rfc3339(self._clock.now())
        return [
            {
                "metricName": metric,
                "metricLabels": {**one.labels, **defined.spec.labels},
                "timestamp": stamp,
                "value": one.quantity,
            }
            for one in values
        ]
