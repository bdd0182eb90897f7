"""How much a control plane needs for how many clusters and workloads: a linear model with constants that were measured.

    python -m benchmarks sizing

prints the tables of `docs/operations.md` and `docs/production.md`. The constants are of two cores that others kept
busy; machines of this class differ by half, and members, templates and policies are small ones. The last row of each
table is extrapolated.
"""

import sys
from typing import NamedTuple

from benchmarks.result import Result

BASE = 155.0
"""MB of a control plane without members (80: `benchmarks standalone`), and of the decoded objects that it keeps: what
is left of both sizes of `benchmarks fleet` beside the next two."""
CLUSTER = 0.7
"""MB of a small member: its Cluster, Secrets, Works of Karmada's own and eight watches (`benchmarks large_members` with
KARMADA_BENCH_CLUSTERS=100 KARMADA_BENCH_NODES=1 KARMADA_BENCH_PODS=20)."""
WORK = 0.0094
"""MB of a workload in one cluster: its Work, the copy there, its part of template and binding (`benchmarks fleet` with
200 clusters and 2,000 workloads, and with 1,000 and 10,000)."""
IDLE = 0.00014
"""Cores of an idle member, probed every ten seconds (`benchmarks fleet` with 200 clusters)."""
CHANGE = 0.0037
"""Core seconds of a Deployment that comes or changes, in each of its clusters, until the control plane is quiet
(`benchmarks side_by_side`: 11.2 ms for three)."""
OBJECT, REPLICA = 0.005, 60.0
"""MB of an object in the cache of a component that is a process of its own, and of the component itself (`benchmarks
engine`)."""


class Size(NamedTuple):
    """What there is."""

    clusters: int
    workloads: int
    each: int
    """Clusters of a workload."""
    replicas: tuple[int, ...] = (1,)
    """Of a controller manager."""

    def embedded(self) -> float:
        """MB of a control plane that is one process."""
        return BASE + CLUSTER * self.clusters + WORK * self.workloads * self.each

    def manager(self, replicas: int) -> float:
        """MB of a controller manager: templates, bindings and Works whole, copies and connections in parts."""
        own = OBJECT * self.workloads * (2 + self.each)
        return REPLICA + own + (OBJECT * self.workloads * self.each + CLUSTER * self.clusters) / replicas

    def idle(self) -> float:
        """Cores when nothing changes."""
        return IDLE * self.clusters

    def change(self) -> float:
        """Cores for each workload that comes or changes a second."""
        return CHANGE * self.each


SIZES = (
    Size(10, 1_000, 3),
    Size(100, 10_000, 3),
    Size(1_000, 10_000, 5),
    Size(1_000, 50_000, 5, (1, 2)),
    Size(10_000, 100_000, 5, (1, 4)),
)


def run() -> list[Result]:
    """The model's figures; the tables go to stderr."""
    print(f"{embedded_table()}\n\n{engine_table()}", file=sys.stderr)
    return [
        result
        for size in SIZES
        for result in (
            Result(f"sizing: {_named(size)}: embedded, memory", size.embedded(), "MB"),
            Result(f"sizing: {_named(size)}: cores when idle", size.idle(), ""),
        )
    ]


def embedded_table() -> str:
    """A control plane in one process, as Markdown."""
    head = "| clusters | workloads × clusters each | memory | cores when idle | cores for each change a second |\n"
    rows = (
        f"| {size.clusters:,} | {size.workloads:,} × {size.each} | {_gigabytes(size.embedded())} | {size.idle():.2g} |"
        f" {size.change():.2g} |"
        for size in SIZES
    )
    return head + "|---|---|---|---|---|\n" + "\n".join(rows)


def engine_table() -> str:
    """A controller manager beside a stock kube-apiserver, as Markdown."""
    head = "| clusters | workloads × clusters each | memory of a controller manager | cores when idle |\n"
    rows = (
        f"| {size.clusters:,} | {size.workloads:,} × {size.each} | {_shares(size)} | {size.idle():.2g} |"
        for size in SIZES
    )
    return head + "|---|---|---|---|\n" + "\n".join(rows)


def _shares(size: Size) -> str:
    first, *others = size.replicas
    parts = (f"{_gigabytes(size.manager(number))} each of {number}" for number in others)
    return "; ".join((_gigabytes(size.manager(first)), *parts))


def _gigabytes(megabytes: float) -> str:
    return f"{megabytes / 1000:.1f} GB"


def _named(size: Size) -> str:
    return f"{size.clusters} clusters, {size.workloads} x {size.each}"
