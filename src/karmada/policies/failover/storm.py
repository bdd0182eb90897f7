"""Storm protection: with too many clusters unhealthy at once the control plane suspects itself, and evicts nothing."""

from collections.abc import Iterable
from dataclasses import dataclass

from karmada.api.counting import part_of


@dataclass(frozen=True, slots=True)
class Fleet:
    """How many clusters there are that have reported, and how many of them are not ready."""

    total: int
    unhealthy: int

    def is_storm(self, threshold: float) -> bool:
        """Whether a larger share than the threshold is not ready; a threshold of 1 is never passed."""
        return self.unhealthy > threshold * self.total

    def __str__(self) -> str:
        return f"{part_of(self.unhealthy, self.total, 'cluster')} not ready"


def fleet_of(readiness: Iterable[bool | None]) -> Fleet:
    """Count clusters by their readiness; None has not reported yet and says nothing."""
    states = [state for state in readiness if state is not None]
    return Fleet(len(states), states.count(False))
