"""Timestamps as the API writes them."""

from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """Whole seconds, as metav1.Time is written."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
