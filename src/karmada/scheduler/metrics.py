"""The scheduler's figures, named as dashboards for Karmada expect them. Plain numbers here; metrics when scraped."""

from collections import Counter
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any

from karmada.machinery.metrics import Histogram

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from karmada.api.cluster.v1alpha1 import Cluster
    from karmada.scheduler.core.framework import Framework
    from karmada.scheduler.core.request import Request
    from karmada.scheduler.queue import SchedulingQueue

_PREFIX = "karmada_scheduler_"


class Durations:
    """Histograms by labels."""

    def __init__(self) -> None:
        self.by: dict[tuple[str, ...], Histogram] = {}

    def observe(self, seconds: float, *labels: str) -> None:
        """Count a duration."""
        found = self.by.get(labels)
        if found is None:
            found = self.by[labels] = Histogram()
        found.observe(seconds)


class SchedulerMetrics:
    """A collector for a `prometheus_client` registry."""

    def __init__(self, queue: "SchedulingQueue[Any]") -> None:
        self._queue = queue
        self.attempts: Counter[tuple[str, str]] = Counter()
        """By result (scheduled, error) and type (reconcile, scale)."""
        self.incoming: Counter[str] = Counter()
        """By event."""
        self.whole = Durations()
        """Of an attempt, by result and type."""
        self.steps = Durations()
        """Of the algorithm, by step."""
        self.points = Durations()
        """Of extension points, by point and result."""
        self.plugins = Durations()
        """Of plugins, by name, point and result."""

    def sample(self, framework: "Framework", cluster: "Cluster", request: "Request") -> None:
        """Run every plugin once and note how long it took."""
        whole = perf_counter()
        for plugin in framework.filters:
            started = perf_counter()
            result = "Success" if plugin.reject(cluster, request) is None else "Unschedulable"
            self.plugins.observe(perf_counter() - started, plugin.name, "Filter", result)
        self.points.observe(perf_counter() - whole, "Filter", "Success")
        whole = perf_counter()
        for scorer in framework.scorers:
            started = perf_counter()
            scorer.score(cluster, request)
            self.plugins.observe(perf_counter() - started, scorer.name, "Score", "Success")
        self.points.observe(perf_counter() - whole, "Score", "Success")

    def collect(self) -> Iterator["Metric"]:
        """All figures now."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        attempts = CounterMetricFamily(
            f"{_PREFIX}schedule_attempts", "Attempts to schedule", labels=["result", "schedule_type"]
        )
        for labels, count in self.attempts.items():
            attempts.add_metric(labels, count)
        yield attempts
        incoming = CounterMetricFamily(f"{_PREFIX}queue_incoming_bindings", "Bindings queued", labels=["event"])
        for event, count in self.incoming.items():
            incoming.add_metric([event], count)
        yield incoming
        waiting = GaugeMetricFamily(f"{_PREFIX}pending_bindings", "Bindings in the queue", labels=["queue"])
        waiting.add_metric(["active"], len(self._queue))
        waiting.add_metric(["unschedulable"], self._queue.parked)
        yield waiting
        for name, text, names, durations in (
            ("e2e_scheduling", "Time of an attempt", ["result", "schedule_type"], self.whole),
            ("scheduling_algorithm", "Time of a step of the algorithm", ["schedule_step"], self.steps),
            ("framework_extension_point", "Time of all plugins of a point", ["extension_point", "result"], self.points),
            ("plugin_execution", "Time of a plugin", ["plugin", "extension_point", "result"], self.plugins),
        ):
            family = HistogramMetricFamily(f"{_PREFIX}{name}_duration_seconds", text, labels=names)
            for labels_of, histogram in durations.by.items():
                family.add_metric(labels_of, histogram.cumulative(), histogram.total)
            yield family
