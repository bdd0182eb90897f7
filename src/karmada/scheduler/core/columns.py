"""The figures of all clusters as columns of numbers, for answers about thousands of clusters at once.

Rows are kept up to date cluster by cluster. Clusters with the same grade model share one table of node counts.
Agrees with `Capacity.replicas`, which is the definition.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from karmada.scheduler.core.amounts import PODS
from karmada.scheduler.core.estimation import Nodes, with_pod
from karmada.scheduler.core.snapshot import Snapshot

Numbers = NDArray[np.int64]


class _Table:
    """Node counts of the clusters that share a grade model, in the order of its grades."""

    def __init__(self, grades: tuple[tuple[tuple[str, int], ...], ...]) -> None:
        self.grades = [dict(grade) for grade in grades]
        self.rows: list[int] = []
        self.counts: list[list[int]] = []

    def room(self, needs: Mapping[str, int]) -> tuple[Numbers, Numbers]:
        """Rows, and how many replicas the nodes of each take."""
        each = [
            max(0, min((grade.get(name, 0) // number for name, number in needs.items()), default=0))
            for grade in self.grades
        ]
        counts = np.array(self.counts, dtype=np.int64).reshape(len(self.rows), len(each))
        return np.array(self.rows, dtype=np.int64), counts @ np.array(each, dtype=np.int64)


class Columns:
    """The capacity of all clusters as columns of numbers."""

    def __init__(self) -> None:
        self._version = -1
        self._names: list[str] = []
        self._rows: dict[str, int] = {}
        self._pods: Numbers = np.zeros(0, dtype=np.int64)
        self._free: dict[str, Numbers] = {}
        self._tables: list[_Table] = []
        self._tables_version = -1

    def refresh(self, snapshot: Snapshot) -> None:
        """Bring the columns up to date."""
        self._snapshot = snapshot
        changed = snapshot.changes_since(self._version) if self._version >= 0 else None
        if changed is None or any((name in self._rows) != (name in snapshot.clusters) for name in changed):
            self._names = sorted(snapshot.clusters)
            self._rows = {name: row for row, name in enumerate(self._names)}
            self._pods = np.array([snapshot.capacity(name).pods for name in self._names], dtype=np.int64)
            self._free = {}
        else:
            for name in changed:
                row, capacity = self._rows[name], snapshot.capacity(name)
                self._pods[row] = capacity.pods
                for resource, column in self._free.items():
                    column[row] = capacity.free(resource)
        self._version = snapshot.version

    def room(self, needs: Mapping[str, int] | None, by_model: bool) -> dict[str, int]:
        """Replicas that fit, by cluster."""
        found = self._pods
        if needs is not None:
            for resource, number in needs.items():
                found = np.minimum(found, self._column(resource) // number)
            if by_model:
                found = self._by_model(found, with_pod(needs))
        return dict(zip(self._names, np.maximum(found, 0).tolist(), strict=True))

    def _by_model(self, by_summary: Numbers, needs: Mapping[str, int]) -> Numbers:
        found = by_summary.copy()
        for table in self._grouped():
            rows, room = table.room(needs)
            found[rows] = np.minimum(self._pods[rows], room)
        return found

    def _column(self, resource: str) -> Numbers:
        column = self._free.get(resource)
        if column is None:
            free = [self._snapshot.capacity(name).free(resource) for name in self._names]
            column = self._free[resource] = np.array(free, dtype=np.int64)
        return column

    def _grouped(self) -> list[_Table]:
        if self._tables_version != self._version:
            tables: dict[tuple[tuple[tuple[str, int], ...], ...], _Table] = {}
            for row, name in enumerate(self._names):
                nodes = self._snapshot.capacity(name).nodes
                if nodes is None:
                    continue
                key = _shape(nodes)
                table = tables.get(key)
                if table is None:
                    table = tables[key] = _Table(key)
                table.rows.append(row)
                table.counts.append([count for count, _ in nodes])
            self._tables = list(tables.values())
            self._tables_version = self._version
        return self._tables


def _shape(nodes: Nodes) -> tuple[tuple[tuple[str, int], ...], ...]:
    return tuple(tuple((name, number) for name, number in free.items() if name != PODS or number) for _, free in nodes)
