"""The scheduler's figures, named as dashboards for Karmada expect them. Plain numbers here; metrics when scraped."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from karmada.machinery.metrics import Histogram

if TYPE_CHECKING:
    from prometheus_client.core import Metric

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
