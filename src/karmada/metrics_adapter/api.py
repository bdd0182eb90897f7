"""The metrics of all members as one `LocalApi`: served by the embedded API server, or by a group server of its own."""

from karmada.api.autoscaling.v1alpha1 import ExternalMetric
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.outgoing import Caller, HttpCaller
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.informers.factory import InformerFactory
from karmada.membership.members import Members
from karmada.metrics_adapter import custom_metrics, external_metrics, resource_metrics
from karmada.metrics_adapter.external_metrics import ExternalMetrics
from karmada.metrics_adapter.fanout import Fanout
from karmada.metrics_adapter.history import History, Sampler

COMPONENT = "karmada-metrics-adapter"


class MetricsApi:
    """Resource, custom and external metrics; `connect` gives it the members and the objects it reads."""

    def __init__(self, clock: Clock = REAL, caller: Caller | None = None) -> None:
        self._caller = caller or HttpCaller()
        self._fanout = Fanout(clock)
        self._external = ExternalMetrics(clock, self._caller)
        types = [*resource_metrics.types(), *custom_metrics.types(), *external_metrics.types()]
        self.history = History()
        self.sampler = Sampler(self.history, self._fanout, clock)
        """Keeps what objects used lately; whoever serves the API runs it."""
        members = {**resource_metrics.handlers(self._fanout, self.history), **custom_metrics.handlers(self._fanout)}
        self.local = LocalApi(types, {**members, **self._external.handlers()})

    def connect(self, informers: InformerFactory, members: Members) -> None:
        """Read clusters and metrics with these informers; requests before are answered with 503."""
        self._fanout.connect(informers.of(Cluster), members)
        self._external.defined = informers.of(ExternalMetric)

    async def close(self) -> None:
        """Release the connections to external sources."""
        await self._caller.close()
