"""The gateway's figures: plain numbers where they arise, metrics when scraped."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from karmada.gateway.balancing import Balancer
from karmada.gateway.rules import Backend
from karmada.machinery.metrics import Histogram

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_PREFIX = "karmada_gateway_"


class GatewayMetrics:
    """A collector for a `prometheus_client` registry."""

    def __init__(self, balancers: Callable[[], Mapping[Backend, Balancer]]) -> None:
        self._balancers = balancers
        self.requests: Counter[tuple[str, str]] = Counter()
        """By cluster (empty when none was asked) and status class."""
        self.retries = 0
        self.seconds = Histogram()
        self.active = 0

    def answered(self, cluster: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.requests[cluster, f"{status // 100}xx"] += 1
        self.seconds.observe(seconds)

    def collect(self) -> Iterator["Metric"]:
        """All figures now."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily(f"{_PREFIX}requests", "Answers by cluster and class", labels=["cluster", "code"])
        for labels, count in self.requests.items():
            requests.add_metric(labels, count)
        yield requests
        yield CounterMetricFamily(f"{_PREFIX}retries", "Attempts after the first", value=self.retries)
        seconds = HistogramMetricFamily(f"{_PREFIX}request_seconds", "Time until the head of an answer")
        seconds.add_metric([], self.seconds.cumulative(), self.seconds.total)
        yield seconds
        yield GaugeMetricFamily(f"{_PREFIX}active_requests", "Requests under way", value=self.active)
        endpoints = GaugeMetricFamily(f"{_PREFIX}endpoints", "Ready endpoints", labels=["backend", "cluster"])
        ejections = CounterMetricFamily(f"{_PREFIX}ejections", "Endpoints left out for a while", labels=["backend"])
        for backend, balancer in self._balancers().items():
            for cluster, count in Counter(found.cluster for found in balancer.endpoints).items():
                endpoints.add_metric([str(backend), cluster], count)
            ejections.add_metric([str(backend)], balancer.ejections)
        yield from (endpoints, ejections)
