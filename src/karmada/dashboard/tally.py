"""Workloads counted by what is said of them, and those that are not well, kept up row by row."""

from collections import Counter

from karmada.dashboard.problems import is_problem
from karmada.dashboard.rows import JSONObject

_GROUPS = {"Healthy": "healthy", "Progressing": "progressing"}


class Tally:
    """What the overview says of workloads, without looking at each of them every time."""

    def __init__(self) -> None:
        self._statuses: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self.ill: dict[str, JSONObject] = {}
        """Rows of those that are not well."""

    def note(self, key: str, row: JSONObject | None) -> None:
        """A workload as it is now; None when it is gone."""
        before = self._statuses.pop(key, None)
        if before is not None:
            self._counts[before] -= 1
        if row is not None:
            status = self._statuses[key] = row["status"]
            self._counts[status] += 1
        if row is not None and is_problem(row):
            self.ill[key] = row  # what is there already keeps its place
        else:
            self.ill.pop(key, None)

    def counts(self) -> dict[str, int]:
        """How many workloads there are; what has no place is not well."""
        found = {"total": len(self._statuses), "healthy": 0, "progressing": 0, "unhealthy": 0}
        for status, number in self._counts.items():
            found[_GROUPS.get(status, "unhealthy")] += number
        return found
