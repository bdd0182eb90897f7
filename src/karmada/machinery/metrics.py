"""Figures for Prometheus, kept as plain numbers where they arise and turned into metrics only when scraped.

Hot paths add to integers and histograms of this module. `MachineryCollector` knows the live queues, controllers and
informers and spells their figures as client-go and controller-runtime do, so existing dashboards work.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from karmada.machinery.controller import Controller
    from karmada.machinery.informers.informer import Informer
    from karmada.machinery.workqueue.queue import WorkQueue

SECONDS = (0.00001, 0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1000.0)
_BOUNDS = (*map(str, SECONDS), "+Inf")


class Histogram:
    """Counts of durations by bucket."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(SECONDS) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count a duration."""
        self.counts[bisect_left(SECONDS, seconds)] += 1
        self.total += seconds

    def cumulative(self) -> list[tuple[str, float]]:
        """Bucket bounds and how many durations are at or below them."""
        return list(zip(_BOUNDS, map(float, accumulate(self.counts)), strict=True))


class MachineryCollector:
    """A collector for a `prometheus_client` registry; `informers` are looked through anew every time."""

    def __init__(self, informers: "Iterable[Informer[Any]]" = ()) -> None:
        self.controllers: list[Controller[Any]] = []
        self.queues: list[WorkQueue[Any]] = []
        self._informers = informers

    def collect(self) -> Iterator["Metric"]:
        """All figures now."""
        queues = [*self.queues, *(controller.queue for controller in self.controllers)]
        yield from _of_queues(queues)
        yield from _of_controllers(self.controllers)
        yield from _of_informers(self._informers)


def _of_queues(queues: Iterable["WorkQueue[Any]"]) -> Iterator["Metric"]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    depth = GaugeMetricFamily("workqueue_depth", "Keys ready to be worked on", labels=["name"])
    adds = CounterMetricFamily("workqueue_adds", "Keys added", labels=["name"])
    retries = CounterMetricFamily("workqueue_retries", "Keys retried", labels=["name"])
    unfinished = GaugeMetricFamily("workqueue_unfinished_work_seconds", "Time spent on work not done", labels=["name"])
    longest = GaugeMetricFamily(
        "workqueue_longest_running_processor_seconds", "Time spent on the oldest work not done", labels=["name"]
    )
    waited = HistogramMetricFamily("workqueue_queue_duration_seconds", "Time from add to work", labels=["name"])
    worked = HistogramMetricFamily("workqueue_work_duration_seconds", "Time of work on a key", labels=["name"])
    for queue in queues:
        labels = [queue.name]
        running = queue.unfinished()
        depth.add_metric(labels, len(queue))
        adds.add_metric(labels, queue.adds)
        retries.add_metric(labels, queue.retried)
        unfinished.add_metric(labels, sum(running))
        longest.add_metric(labels, max(running, default=0.0))
        waited.add_metric(labels, queue.queue_seconds.cumulative(), queue.queue_seconds.total)
        worked.add_metric(labels, queue.work_seconds.cumulative(), queue.work_seconds.total)
    yield from (depth, adds, retries, unfinished, longest, waited, worked)


def _of_controllers(controllers: Iterable["Controller[Any]"]) -> Iterator["Metric"]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    totals = CounterMetricFamily(
        "controller_runtime_reconcile", "Reconciliations by result", labels=["controller", "result"]
    )
    errors = CounterMetricFamily("controller_runtime_reconcile_errors", "Failures", labels=["controller"])
    workers = GaugeMetricFamily("controller_runtime_max_concurrent_reconciles", "Workers", labels=["controller"])
    active = GaugeMetricFamily("controller_runtime_active_workers", "Workers at work", labels=["controller"])
    seconds = HistogramMetricFamily(
        "controller_runtime_reconcile_time_seconds", "Time of a reconciliation", labels=["controller"]
    )
    for controller in controllers:
        labels = [controller.name]
        for result, count in controller.results.items():
            totals.add_metric([controller.name, result], count)
        errors.add_metric(labels, controller.errors)
        workers.add_metric(labels, controller.workers)
        active.add_metric(labels, len(controller.queue.unfinished()))
        seconds.add_metric(labels, controller.queue.work_seconds.cumulative(), controller.queue.work_seconds.total)
    yield from (totals, errors, workers, active, seconds)


def _of_informers(informers: Iterable["Informer[Any]"]) -> Iterator["Metric"]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    labels = ["group", "version", "resource", "namespace"]
    objects = GaugeMetricFamily("karmada_informer_objects", "Objects in the cache", labels=labels)
    synced = GaugeMetricFamily("karmada_informer_synced", "Whether the first load is complete", labels=labels)
    loads = CounterMetricFamily("karmada_informer_loads", "Complete loads of the collection", labels=labels)
    for informer in informers:
        which = [*informer.type, informer.scope.namespace]
        objects.add_metric(which, len(informer) if informer.has_synced else 0)
        synced.add_metric(which, informer.has_synced)
        loads.add_metric(which, informer.reflector.loads)
    yield from (objects, synced, loads)
