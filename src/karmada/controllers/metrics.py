"""The controllers' figures, named as dashboards for Karmada expect them. Plain numbers here; metrics when scraped."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.quantity import Quantity, QuantityError
from karmada.api.version import VERSION
from karmada.controllers.clusters import is_ready
from karmada.machinery.metrics import Histogram
from karmada.machinery.transport import JSONObject

if TYPE_CHECKING:
    from prometheus_client.core import Metric

SUCCESS, ERROR = "success", "error"
_AMOUNTS = (("memory", "bytes"), ("cpu", "number"), ("pod", "number"))


EVICTIONS = {True: "binding-eviction", False: "cluster-binding-eviction"}
"""The queues of evictions, by whether their bindings have a namespace."""


class WaitingEviction(NamedTuple):
    """An eviction whose turn has not come."""

    queue: str
    cluster: str
    kind: str


class Durations:
    """Histograms of one thing, by labels."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.by: dict[tuple[str, ...], Histogram] = {}

    def observe(self, seconds: float, *labels: str) -> None:
        """Count a duration."""
        found = self.by.get(labels)
        if found is None:
            found = self.by[labels] = Histogram()
        found.observe(seconds)

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Count how long something takes, by whether it succeeds."""
        started, result = perf_counter(), ERROR
        try:
            yield
            result = SUCCESS
        finally:
            self.observe(perf_counter() - started, result)


class PipelineMetrics:
    """A collector for a `prometheus_client` registry; one for all controllers of a process."""

    def __init__(self) -> None:
        self.match = Durations()
        self.apply = Durations("result")
        self.sync_work = Durations("result")
        self.sync_workload = Durations("result")
        self.cluster_status = Durations("member_cluster")
        self.autoscale = Durations("result")
        self.cron_autoscale = Durations("result")
        self.cron_rule = Durations("result")
        self.evict = Durations("name")
        self.evicted: Counter[tuple[str, str]] = Counter()
        """By queue and result."""
        self.waiting_evictions: Callable[[], Iterable[WaitingEviction]] = tuple
        self.pull_metrics = Durations("result", "metricType")
        self.preemptions: Counter[str] = Counter()
        self.created: Counter[tuple[str, ...]] = Counter()
        self.updated: Counter[tuple[str, ...]] = Counter()
        self.deleted: Counter[tuple[str, ...]] = Counter()
        self.interpreter_failures: Counter[tuple[str, str, str]] = Counter()
        """By level, operation and kind."""
        self.clusters: Callable[[], Sequence[Cluster]] = tuple
        """The clusters that are known, once their informer is."""

    def collect(self) -> Iterator["Metric"]:
        """All figures now."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        for name, text, durations in (
            ("resource_match_policy", "Time to find the policy of a resource", self.match),
            ("resource_apply_policy", "Time to apply a policy to a resource", self.apply),
            ("binding_sync_work", "Time to write the Works of a binding", self.sync_work),
            ("work_sync_workload", "Time to bring a Work's objects into its cluster", self.sync_workload),
            ("cluster_sync_status", "Time to ask a cluster how it is", self.cluster_status),
            ("cronfederatedhpa_process", "Time to look after a CronFederatedHPA", self.cron_autoscale),
            ("cronfederatedhpa_rule_process", "Time to execute a rule of a CronFederatedHPA", self.cron_rule),
            ("federatedhpa_process", "Time to look after a FederatedHPA", self.autoscale),
            ("federatedhpa_pull_metrics", "Time to read a metric of a FederatedHPA", self.pull_metrics),
        ):
            family = HistogramMetricFamily(f"{name}_duration_seconds", text, labels=list(durations.names))
            for labels, histogram in durations.by.items():
                family.add_metric(list(labels), histogram.cumulative(), histogram.total)
            yield family
        attempts = CounterMetricFamily("policy_apply_attempts", "Attempts to apply a policy", labels=["result"])
        for labels, histogram in self.apply.by.items():
            attempts.add_metric(list(labels), sum(histogram.counts))
        preemptions = CounterMetricFamily("policy_preemption", "Policies that took a resource over", labels=["result"])
        for result, count in self.preemptions.items():
            preemptions.add_metric([result], count)
        yield from (attempts, preemptions)
        names = ["result", "apiversion", "kind", "member_cluster"]
        for name, text, counts in (
            ("create_resource_to_cluster", "Objects created in clusters", self.created),
            ("update_resource_to_cluster", "Objects updated in clusters", self.updated),
            ("delete_resource_from_cluster", "Objects deleted from clusters", self.deleted),
        ):
            counter = CounterMetricFamily(name, text, labels=names)
            for key, count in counts.items():
                counter.add_metric(list(key), count)
            yield counter
        failures = CounterMetricFamily(
            "karmada_interpreter_failures",
            "Questions about resources that a customisation failed to answer",
            labels=["level", "operation", "kind"],
        )
        for which, count in self.interpreter_failures.items():
            failures.add_metric(list(which), count)
        yield failures
        build = GaugeMetricFamily("karmada_build_info", "What this is", labels=["git_version"])
        build.add_metric([VERSION], 1)
        yield build
        yield from self._of_evictions()
        yield from self._of_clusters()

    def _of_evictions(self) -> Iterator["Metric"]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        depth = GaugeMetricFamily("eviction_queue_depth", "Evictions whose turn has not come", labels=["name"])
        by_kind = GaugeMetricFamily(
            "eviction_kind_total", "The same by cluster and kind", labels=["member_cluster", "resource_kind"]
        )
        total = CounterMetricFamily("eviction_processing", "Evictions by result", labels=["name", "result"])
        latency = HistogramMetricFamily("eviction_processing_latency_seconds", "Time of an eviction", labels=["name"])
        waiting = list(self.waiting_evictions())
        by_queue = Counter(eviction.queue for eviction in waiting)
        for queue in EVICTIONS.values():
            depth.add_metric([queue], by_queue[queue])
            for result in (SUCCESS, ERROR):
                total.add_metric([queue, result], self.evicted[queue, result])
        for which, count in Counter((eviction.cluster, eviction.kind) for eviction in waiting).items():
            by_kind.add_metric(which, count)
        for labels, histogram in self.evict.by.items():
            latency.add_metric(list(labels), histogram.cumulative(), histogram.total)
        yield from (depth, by_kind, total, latency)

    def _of_clusters(self) -> Iterator["Metric"]:
        from prometheus_client.core import GaugeMetricFamily

        gauges: dict[str, GaugeMetricFamily] = {}

        def add(name: str, text: str, cluster: str, value: float) -> None:
            if name not in gauges:
                gauges[name] = GaugeMetricFamily(name, text, labels=["member_cluster"])
            gauges[name].add_metric([cluster], value)

        for cluster in self.clusters():
            name, status = cluster.metadata.name, cluster.status
            add("cluster_ready_state", "Whether the cluster is ready", name, float(is_ready(cluster)))
            if status.node_summary is not None:
                add("cluster_node_number", "Nodes", name, status.node_summary.total_num)
                add("cluster_ready_node_number", "Nodes that are ready", name, status.node_summary.ready_num)
            if status.resource_summary is None:
                continue
            for word, amounts in (
                ("allocatable", status.resource_summary.allocatable),
                ("allocated", status.resource_summary.allocated),
            ):
                for resource, unit in _AMOUNTS:
                    value = _number(amounts.get("pods" if resource == "pod" else resource))
                    if value is not None:
                        add(f"cluster_{resource}_{word}_{unit}", f"{resource} that is {word}", name, value)
        yield from gauges.values()


def _number(amount: str | int | None) -> float | None:
    """An amount as a cluster reports it; what is none is no reason to go without all other figures."""
    try:
        return None if amount is None else Quantity.parse(amount).milli_value() / 1000
    except QuantityError:
        return None


def labels_of(result: str, manifest: JSONObject, cluster: str) -> tuple[str, ...]:
    """The labels of a write to a member."""
    return result, str(manifest.get("apiVersion", "")), str(manifest.get("kind", "")), cluster
