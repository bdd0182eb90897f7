"""Publishes a change of readiness only once it has lasted: one missed probe moves nothing."""

from dataclasses import dataclass


@dataclass(slots=True)
class Observed:
    """What the probes last saw, and since when."""

    status: str
    since: float


class ReadinessThreshold:
    """Remembers, per cluster, how long the last observation has held."""

    def __init__(self, success_seconds: float, failure_seconds: float) -> None:
        self._success = success_seconds
        self._failure = failure_seconds
        self._observed: dict[str, Observed] = {}

    def publish(self, cluster: str, observed: str, published: str | None, now: float) -> str:
        """The status to show, given what the probe saw and what is shown. The first probe is shown as it is."""
        last = self._observed.get(cluster)
        if published is None or last is None:
            self._observed[cluster] = Observed(observed, now)
            return observed if published is None else self._judge(cluster, observed, published, now)
        if last.status != observed:
            self._observed[cluster] = Observed(observed, now)
        return self._judge(cluster, observed, published, now)

    def forget(self, cluster: str) -> None:
        """The cluster left."""
        self._observed.pop(cluster, None)

    def _judge(self, cluster: str, observed: str, published: str, now: float) -> str:
        if observed == published or (observed == "True") == (published == "True"):
            return observed
        needed = self._success if observed == "True" else self._failure
        held = now - self._observed[cluster].since
        return observed if held >= needed else published
