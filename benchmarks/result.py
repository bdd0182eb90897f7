"""One measured figure and how it compares with its target."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """A figure with its target; lower is better unless `higher_is_better` says otherwise."""

    name: str
    value: float
    unit: str
    target: float | None = None
    higher_is_better: bool = False

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None when there is none."""
        if self.target is None:
            return None
        return self.value >= self.target if self.higher_is_better else self.value <= self.target
