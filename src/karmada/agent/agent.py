"""The agent: the controllers of one cluster, next to it, with credentials that reach nothing else.

It enrols, then runs execution, work status, cluster status and the collection of EndpointSlices for its own cluster,
renews its lease and certificate, and keeps a tunnel open where asked to. A restart in the middle of
anything begins again from what is.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack

from karmada.agent.enrolment import enrol
from karmada.agent.hub import HubTransport
from karmada.agent.lease import LeaseKeeper
from karmada.agent.options import AgentOptions
from karmada.agent.rotation import CertificateRotation
from karmada.agent.tunnel import TunnelClient
from karmada.api import names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.cluster_status import ClusterStatusController
from karmada.controllers.composition import Recorders
from karmada.controllers.context import Context
from karmada.controllers.endpointslice_collect import EndpointSliceCollector
from karmada.controllers.execution import ExecutionController
from karmada.controllers.interpretation import COMPONENT, interpretation
from karmada.controllers.leftover_slices import LeftoverSlices
from karmada.controllers.metrics import PipelineMetrics
from karmada.controllers.service_export import ServiceExportController
from karmada.controllers.status_reporter import StatusReporter
from karmada.controllers.work_status import WorkStatusController
from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.client import Client, type_of
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.http.target import Target
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.resource import Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.tracing import OFF, Tracer
from karmada.machinery.transport import JSONObject, Transport
from karmada.membership.connections import MemberConnection, connection_of
from karmada.membership.members import Member

RETRIES = BackoffPolicy(initial=0.005, maximum=15.0, jitter=0.1)
"""What fails here is mostly the way to the control plane, for all Works at once: they must not wait long after it."""


class OwnCluster:
    """`Members` of an agent: its own cluster."""

    def __init__(self, connection: MemberConnection) -> None:
        self._connection = connection

    def concerns(self, cluster: Cluster) -> bool:
        """Its own, and only in pull mode."""
        return cluster.metadata.name == self._connection.name and cluster.spec.sync_mode == "Pull"

    async def connect(self, cluster: Cluster) -> Member:
        """The connection, which is always there."""
        return self._connection

    async def forget(self, name: str) -> None:
        """An agent outlives its Cluster; whoever unregisters it ends it."""


class Agent:
    """The controllers of one pull cluster, with a client that reaches its own objects of the hub only."""

    def __init__(
        self,
        hub: Transport,
        member: Transport,
        options: AgentOptions,
        *,
        clock: Clock = REAL,
        fence: Callable[[Transport], Transport] = lambda transport: transport,
        tracer: Tracer = OFF,
    ) -> None:
        """`fence` makes a transport write only while this process leads."""
        self.options = options
        self._hub = hub
        self._clock = clock
        self.client = Client(fence(hub), field_manager="karmada-agent")
        self._connection = connection_of(options.cluster, member, clock)
        self._stack = AsyncExitStack()
        self.metrics = PipelineMetrics()
        self._tracer = tracer

    async def start(self, supervisor: Supervisor, member_target: Target | None = None) -> JSONObject:
        """Enrol, then start everything; the agent's Cluster. `member_target` is where the tunnel leads."""
        options, clock = self.options, self._clock
        cluster = await enrol(self.client, self._connection.client, options, clock)
        context = await self._context(supervisor)
        members = OwnCluster(self._connection)
        works = context.informers.of(Work)
        keeper = LeaseKeeper(self.client, cluster, options.space, options.lease, clock)
        supervisor.start("lease", keeper.run)
        if options.enabled("clusterStatus"):
            supervisor.start("clusterStatus", ClusterStatusController(context, members, options.status).controller.run)
        reporter = StatusReporter(context) if options.enabled("workStatus") else None
        if options.enabled("execution"):
            supervisor.start("execution", ExecutionController(context, members, works, reporter).controller.run)
        if reporter is not None:
            supervisor.start("workStatus", WorkStatusController(context, members, works, reporter).controller.run)
        if options.enabled("serviceExport"):
            supervisor.start("serviceExport", ServiceExportController(context, members, works).controller.run)
        if options.enabled("endpointsliceCollect") and options.gates.enabled("MultiClusterService"):
            supervisor.start("endpointsliceCollect", EndpointSliceCollector(context, members, works).controller.run)
        if options.enabled("execution") and options.gates.enabled("MultiClusterService"):
            supervisor.start("leftoverSlices", LeftoverSlices(context, members, works).controller.run)
        if isinstance(self._hub, HubTransport):
            if options.enabled("certRotation"):
                member = self._connection.client
                rotation = CertificateRotation(self._hub, member, options.cluster, options.rotation, clock)
                supervisor.start("certRotation", rotation.run)
            if options.tunnel and member_target is not None:
                supervisor.start("tunnel", TunnelClient(self._hub, member_target, options.cluster, clock).run)
        return cluster

    async def close(self) -> None:
        """Stop following the member; after the supervisor has stopped, as what runs on it asks the interpreter."""
        await self._stack.aclose()
        await self._connection.close()

    async def _context(self, supervisor: Supervisor) -> Context:
        name = self.options.cluster
        scopes = {
            type_of(Cluster): Scope(fields=f"metadata.name={name}"),
            type_of(Work): Scope(names.execution_space(name)),
        }
        informers = InformerFactory(self.client, supervisor, clock=self._clock, scopes=scopes)
        recorders = Recorders(self.client, supervisor, self._clock, space=names.execution_space(name))
        gates = self.options.gates
        interpreter = await self._stack.enter_async_context(
            interpretation(informers, supervisor, recorders(COMPONENT), gates, self._clock, self.metrics)
        )
        return Context(
            self.client,
            informers,
            recorders,
            gates,
            interpreter,
            self._clock,
            concurrency=self.options.concurrency,
            metrics=self.metrics,
            retries=RETRIES,
            tracer=self._tracer,
        )
