"""What native rules need to know beyond the resource."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """`now` gives the time as objects record it."""

    now: Callable[[], str]
    with_priority: bool
    """Requirements name the priority class (gate ResourceQuotaEstimate)."""
