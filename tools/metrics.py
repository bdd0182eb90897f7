"""Prints the table of all metrics for docs/metrics.md: `python tools/metrics.py`. A test compares them.

The families are asked of the collectors themselves, so the table has what is registered, no more and no less.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client import PlatformCollector, ProcessCollector
from prometheus_client.core import Metric

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.controllers.metrics import PipelineMetrics
from karmada.estimator.metrics import EstimatorMetrics
from karmada.gateway.metrics import GatewayMetrics
from karmada.machinery.metrics import MachineryCollector
from karmada.scheduler.metrics import SchedulerMetrics
from karmada.scheduler.queue import SchedulingQueue
from karmada.webhook.server import Figures

CLUSTER: dict[str, Any] = {
    "metadata": {"name": "m"},
    "spec": {"syncMode": "Push"},
    "status": {
        "nodeSummary": {"totalNum": 1, "readyNum": 1},
        "resourceSummary": {word: {"cpu": "1", "memory": "1", "pods": "1"} for word in ("allocatable", "allocated")},
    },
}
SUFFIXES = {"counter": "_total"}


def families() -> Iterator[tuple[str, Metric]]:
    """Every family with the component that has it."""
    server = ApiServer(ApiServerOptions(controllers=False))
    yield from _of("API server", server.traffic.metrics.families())
    yield from _of("all", ProcessCollector(registry=None).collect())
    yield from _of("API server", PlatformCollector(registry=None).collect())
    pipeline = PipelineMetrics()
    pipeline.clusters = lambda: [from_tree(CLUSTER, Cluster)]
    yield from _of("controllers, agent", pipeline.collect())
    yield from _of("scheduler", SchedulerMetrics(SchedulingQueue("")).collect())
    yield from _of("webhook", Figures().collect())
    yield from _of("estimator", EstimatorMetrics().collect())
    yield from _of("gateway", GatewayMetrics(dict).collect())
    yield from _of("controllers, gateway", MachineryCollector().collect())


def _of(component: str, found: Iterable[Metric]) -> Iterator[tuple[str, Metric]]:
    return ((component, family) for family in found)


def table() -> list[str]:
    """The rows, by name."""
    rows = {}
    for component, family in families():
        name = family.name + SUFFIXES.get(family.type, "")
        labels = ", ".join(getattr(family, "_labelnames", ()))
        rows[name] = f"| `{name}` | {family.type} | {labels} | {component} | {family.documentation.rstrip('.')} |"
    return ["| name | type | labels | of | meaning |", "|---|---|---|---|---|", *(rows[name] for name in sorted(rows))]


if __name__ == "__main__":
    sys.stdout.write("\n".join(table()) + "\n")
