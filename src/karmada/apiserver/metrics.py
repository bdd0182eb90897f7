"""Metrics of the API server under the names that dashboards and alerts know.

Counting is a dictionary lookup and a few additions; Prometheus' library is loaded when somebody first asks for
`/metrics`. No label has a value that a client can invent: requests on what is not served count as `other`.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from karmada.apiserver.request_exposition import BUCKETS, DURATIONS, REQUESTS, Answers, written

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.registry import Collector

_COMPONENT = "apiserver"
_OTHER = "other"
_VERBS = frozenset({"DELETE", "DELETECOLLECTION", "GET", "HEAD", "LIST", "OPTIONS", "PATCH", "POST", "PUT", "WATCH"})
_CODES = frozenset(int(status) for status in HTTPStatus)
SERIES = 20_000
"""Upper bound of distinct series, also on a server whose resources come and go without end."""


class RequestKey(NamedTuple):
    """The labels of a request in metrics; `verb` is upper case."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    """cluster, namespace or resource; empty for paths."""

    def labels(self) -> list[str]:
        """Label values."""
        return [*self, _COMPONENT]


class _Series:
    """Durations of one key, and its answers by code."""

    __slots__ = ("buckets", "codes", "total")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.codes: dict[int, int] = {}
        self.total = 0.0


class RequestMetrics:
    """Counts requests; `known` says whether the resource of a key is served.

    `gauges` are further figures, read when somebody asks: name to (help, value by label).
    """

    def __init__(self, known: Callable[[RequestKey], bool] = lambda key: True) -> None:
        self._known = known
        self._series: dict[RequestKey, _Series] = {}
        self.inflight = {"readOnly": 0, "mutating": 0}
        self.longrunning: dict[RequestKey, int] = {}
        self.rejected = 0
        self._gauges: dict[str, tuple[str, str, Callable[[], Mapping[str, float]]]] = {}
        self._others: list[Callable[[], Iterable[Metric]]] = []

    def answered(self, key: RequestKey, code: int, seconds: float) -> None:
        """A request was answered; watches count with no duration."""
        series = self._series.get(key)
        if series is None:
            key = self._bounded(key)
            series = self._series.get(key)
            if series is None:
                series = self._series[key] = _Series()
        if code not in series.codes:
            code = code if code in _CODES else 0
        series.codes[code] = series.codes.get(code, 0) + 1
        if key.verb != "WATCH":
            series.buckets[bisect_left(BUCKETS, seconds)] += 1
            series.total += seconds

    def opened(self, key: RequestKey) -> RequestKey:
        """A long-running request began."""
        if key not in self.longrunning:
            key = self._bounded(key)
        self.longrunning[key] = self.longrunning.get(key, 0) + 1
        return key

    def closed(self, key: RequestKey) -> None:
        """A long-running request ended; `key` is what `opened` returned."""
        self.longrunning[key] -= 1

    def _bounded(self, key: RequestKey) -> RequestKey:
        """The key under which a request counts that has no series yet."""
        verb = key.verb if key.verb in _VERBS else _OTHER
        full = len(self._series) >= SERIES
        if not key.resource and not full:
            return key._replace(verb=verb)
        if not full and verb != _OTHER and self._known(key):
            return key
        return RequestKey(verb, _OTHER, _OTHER, _OTHER, "", key.scope)

    def gauge(self, name: str, text: str, label: str, values: Callable[[], Mapping[str, float]]) -> None:
        """Show a figure by one label, e.g. stored objects by resource."""
        self._gauges[name] = (text, label, values)

    def also(self, collect: Callable[[], Iterable["Metric"]]) -> None:
        """Show figures of somebody else in the same process."""
        self._others.append(collect)

    async def exposition(self) -> bytes:
        """The exposition text; figures of others are read here, one family after another with others served in between,
        and the text is written in a thread: with a thousand clusters it is long."""
        families: list[Metric] = []
        for family in self._read():
            families.append(family)
            await asyncio.sleep(0)
        return await asyncio.to_thread(self._render, families)

    def render(self) -> bytes:
        """The exposition text, at once."""
        return self._render(list(self._read()))

    def families(self) -> list["Metric"]:
        """All figures now, those of the process apart, and of requests their names only."""
        from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily(REQUESTS.name, REQUESTS.text, labels=REQUESTS.labels)
        durations = HistogramMetricFamily(DURATIONS.name, DURATIONS.text, labels=DURATIONS.labels)
        return [requests, durations, *self._collect(), *self._read()]

    def _read(self) -> Iterator["Metric"]:
        from prometheus_client.metrics_core import GaugeMetricFamily

        for name, (text, label, values) in list(self._gauges.items()):
            family = GaugeMetricFamily(name, text, labels=[label])
            for value, figure in values().items():
                family.add_metric([value], figure)
            yield family
        for others in list(self._others):
            yield from others()

    def _render(self, others: list["Metric"]) -> bytes:
        from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector, generate_latest

        registry = CollectorRegistry()
        registry.register(_collector(lambda: chain(self._collect(), others)))
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        return b"".join((*written(self._answers()), generate_latest(registry)))

    def _answers(self) -> Iterator[Answers]:
        for key, series in list(self._series.items()):
            codes = {str(code) if code else _OTHER: count for code, count in list(series.codes.items())}
            yield Answers(key.labels(), codes, list(series.buckets), series.total)

    def _collect(self) -> Iterator["Metric"]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        inflight = GaugeMetricFamily(
            "apiserver_current_inflight_requests", "Requests being answered.", labels=["request_kind"]
        )
        for kind, count in self.inflight.items():
            inflight.add_metric([kind], count)
        yield inflight
        running = GaugeMetricFamily(
            "apiserver_longrunning_requests", "Open long-running requests.", labels=DURATIONS.labels
        )
        for key, count in list(self.longrunning.items()):
            running.add_metric(key.labels(), count)
        yield running
        rejected = CounterMetricFamily(
            "apiserver_flowcontrol_rejected_requests", "Requests refused by overload protection."
        )
        rejected.add_metric([], self.rejected)
        yield rejected


def _collector(collect: Callable[[], Iterable["Metric"]]) -> "Collector":
    from prometheus_client.registry import Collector

    class Requests(Collector):
        def collect(self) -> Iterable["Metric"]:
            return collect()

    return Requests()
