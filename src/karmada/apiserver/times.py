"""Timestamps as the API writes them."""

from datetime import UTC, datetime
from functools import lru_cache


def rfc3339(seconds: float) -> str:
    """Whole seconds, as metav1.Time is written."""
    return _written(int(seconds))


@lru_cache(maxsize=64)
def _written(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
