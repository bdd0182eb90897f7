"""The estimator's figures, named as dashboards for Karmada expect them."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from karmada.machinery.metrics import Histogram

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_PREFIX = "karmada_scheduler_estimator_"


class EstimatorMetrics:
    """A collector for a `prometheus_client` registry."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str]] = Counter()
        self._durations: dict[tuple[str, str], Histogram] = {}
        self._points: dict[tuple[str, str], Histogram] = {}
        self._plugins: dict[tuple[str, str], Histogram] = {}

    def observe(self, method: str, result: str, seconds: float) -> None:
        """Count an answer."""
        self._requests[result, method] += 1
        self._durations.setdefault((result, method), Histogram()).observe(seconds)

    def ran(self, plugin: str, point: str, seconds: float) -> None:
        """A plugin had its say."""
        self._plugins.setdefault((plugin, point), Histogram()).observe(seconds)

    def passed(self, point: str, result: str, seconds: float) -> None:
        """All plugins had their say."""
        self._points.setdefault((result, point), Histogram()).observe(seconds)

    def collect(self) -> Iterator["Metric"]:
        """All figures now."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily(f"{_PREFIX}estimating_request", "Questions", labels=["result", "type"])
        seconds = HistogramMetricFamily(
            f"{_PREFIX}estimating_algorithm_duration_seconds", "Time of an answer", labels=["result", "type", "step"]
        )
        for labels, count in self._requests.items():
            requests.add_metric(labels, count)
        for labels, histogram in self._durations.items():
            seconds.add_metric([*labels, "Total"], histogram.cumulative(), histogram.total)
        yield requests
        yield seconds
        points = HistogramMetricFamily(
            f"{_PREFIX}estimating_plugin_extension_point_duration_seconds",
            "Time of all plugins",
            labels=["estimating_result", "estimating_plugin_extension_point"],
        )
        for labels, histogram in self._points.items():
            points.add_metric(labels, histogram.cumulative(), histogram.total)
        plugins = HistogramMetricFamily(
            f"{_PREFIX}estimating_plugin_execution_duration_seconds",
            "Time of one plugin",
            labels=["estimating_plugin", "estimating_plugin_extension_point"],
        )
        for labels, histogram in self._plugins.items():
            plugins.add_metric(labels, histogram.cumulative(), histogram.total)
        yield points
        yield plugins
