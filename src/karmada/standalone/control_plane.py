"""The control plane in one process: API server, admission, controllers and scheduler around one direct transport.

    async with ControlPlane(ControlPlaneOptions()) as plane:
        await plane.client.resource(...)

The same class serves `karmada up` (SQLite, HTTPS) and tests (memory, no sockets). Every component is a user of its own
with the rights it has in production (`membership.component_roles`); only the installation is the administrator's work.
"""

import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from karmada.agent.agent import Agent
from karmada.agent.options import AgentOptions
from karmada.aggregated.api import ClusterApi
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.api.names import AGENT_GROUP, CLUSTER_NAMESPACE, agent_user
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.apiserver.storage.base import Storage
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.controllers.composition import ControllerOptions, Recorders, controllers
from karmada.controllers.detector.backlog import TemplateBacklog
from karmada.controllers.idle_kinds import idle_kinds
from karmada.controllers.metrics import PipelineMetrics
from karmada.controllers.resumption.group import Records
from karmada.controllers.selection import Selection
from karmada.controllers.taint_manager import TaintManagerOptions
from karmada.dashboard.server import Dashboard
from karmada.dashboard.session_files import SessionFiles
from karmada.descheduler import service as descheduling
from karmada.descheduler.service import Descheduler
from karmada.estimator.state import ESTIMATED
from karmada.install.control_plane import install
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.metrics import MachineryCollector
from karmada.machinery.options import Options
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.tracing import OFF, Spans, Tracer
from karmada.machinery.transport import Transport
from karmada.membership import installation
from karmada.membership.access import SecretAccess
from karmada.membership.agent_grant import EVERYTHING
from karmada.membership.agent_identity import ID_LENGTH, registration_group
from karmada.membership.agent_roles import agent_objects
from karmada.membership.component_roles import user_of
from karmada.membership.connections import OpenTransport, PushMembers
from karmada.membership.credentials import ensure
from karmada.membership.every_member import EveryMember, SecretOrTunnel
from karmada.membership.resource_counts import COUNTED
from karmada.metrics_adapter import api as metrics_adapter
from karmada.metrics_adapter.api import MetricsApi
from karmada.scheduler.core.request import Settings
from karmada.scheduler.service import Scheduler, SchedulerOptions
from karmada.search.api import SearchApi, Surroundings
from karmada.standalone import configuration
from karmada.standalone.admission import KarmadaAdmission
from karmada.standalone.as_user import AsUser
from karmada.standalone.backpressure import Backpressure
from karmada.standalone.conversion import CONVERTED, BindingConverter
from karmada.standalone.dashboard import EmbeddedUpstream
from karmada.standalone.decision_store import DecisionStore
from karmada.standalone.decisions import ROOT, DecisionsPage
from karmada.standalone.estimates import COUNTING_GATES, MemberEstimates
from karmada.standalone.forwarded import ForwardedTransport
from karmada.standalone.idle_kinds import IdleKinds
from karmada.standalone.pod_watches import refuse_in_vain
from karmada.webhook.lookup import ClientLookup

MANAGER, SCHEDULER = "karmada-controller-manager", "karmada-scheduler"
AGGREGATED, WEBHOOK, SEARCH = "karmada-aggregated-apiserver", "karmada-webhook", "karmada-search"
METRICS_ADAPTER = "metrics-adapter"
DASHBOARD = "dashboard"
"""The first part of the paths it serves."""
ADDONS = (METRICS_ADAPTER,)


@dataclass(slots=True)
class ControlPlaneOptions:
    """What a control plane is made of."""

    storage: Storage = field(default_factory=MemoryStorage)
    folder: Path | None = None
    """Where keys and certificates are kept; None keeps them in memory."""
    gates: FeatureGates = DEFAULTS
    selection: Selection = field(default_factory=Selection)
    options: Options = field(default_factory=Options)
    """Options of the controllers; what is absent has its default."""
    allow_no_execute: bool = False
    """`--allow-no-execute-taint-policy`."""
    namespace_grace: float = 0.0
    """Seconds before the content of a namespace that ends is deleted."""
    estimates: bool = False
    """`--enable-scheduler-estimator`: count nodes and pods of members for every division, not only their summaries."""
    read_only: str = ""
    """Why nothing can be written, if so: what is stored is served, and no component runs."""
    search: bool = True
    """Whether `search.karmada.io` is served: the objects of all members as one API."""
    search_cache: Path | None = None
    """Where what it caches is kept over a restart; None reads the members anew."""
    dashboard: bool = False
    """Whether the dashboard is served at `/dashboard`."""
    sessions: Path | None = None
    """Where the dashboard's sessions are kept over a restart, sealed; None forgets them."""
    administrator: str = ""
    """Path of the administrator's kubeconfig, for the commands that the dashboard shows them."""
    decisions: Path | None = None
    """Where the scheduler's last decisions are kept over a restart; None forgets them."""
    records: Records | None = None
    """Where is kept what a restart need not look at; None looks at everything."""
    gateway: bool = False
    """Whether karmada-gateway runs beside this process."""
    addons: frozenset[str] = frozenset()
    """Optional components that run in this process as well, of `ADDONS`."""
    spans: Spans | None = None
    """Where traces go; None records none."""
    clock: Clock = REAL

    @property
    def beside(self) -> set[str]:
        """The components that act on kinds of their own beside the controllers."""
        return {name for name, runs in (("gateway", self.gateway), ("search", self.search)) if runs}


class ControlPlane:
    """The control plane in one process, every component as its own user."""

    def __init__(self, options: ControlPlaneOptions, open_member: OpenTransport | None = None) -> None:
        """`open_member` reaches members otherwise than by their Secrets: tests have them in their own process."""
        self.options = options
        self._stack = AsyncExitStack()
        self._idle = idle_kinds(options.selection, options.gates, options.beside)
        self._lookup = ClientLookup()
        self._backlog = TemplateBacklog()
        self.clusters = ClusterApi(options.gates, options.clock.now)
        self.search = SearchApi(options.clock, options.search_cache) if options.search else None
        self.adapter = MetricsApi(options.clock) if METRICS_ADAPTER in options.addons else None
        self.server = ApiServer(
            ApiServerOptions(
                storage=options.storage,
                folder=options.folder,
                admission=[
                    KarmadaAdmission(
                        self._lookup,
                        options.gates,
                        allow_no_execute=options.allow_no_execute,
                        inventory=self._lookup,
                    ),
                    IdleKinds(self._idle),
                    Backpressure(self._backlog),
                ],
                apis=[self.clusters.local, *(api.local for api in (self.search, self.adapter) if api is not None)],
                storage_protection=False,
                converters=dict.fromkeys(CONVERTED, BindingConverter()),
                default_accounts=False,
                namespace_grace=options.namespace_grace,
                read_only=bool(options.read_only),
                now=options.clock.now,
                judge_watch=refuse_in_vain,
            )
        )
        self.dashboard: Dashboard | None = None
        if options.dashboard:
            upstream = EmbeddedUpstream(self.server)
            files = None
            if options.sessions is not None:
                files = SessionFiles(options.sessions, self.server.identity.authority.certificate_pem)
            self.dashboard = Dashboard(
                upstream,
                options.clock,
                read_only=options.read_only,
                search=options.search,
                files=files,
                administrator=options.administrator,
            )
            self.server.mounts[DASHBOARD] = self.dashboard
        self.client = Client(self.server.direct(ADMIN), field_manager="karmada")
        """The administrator's: for whoever owns this control plane, not for its components."""
        manager = self.component(MANAGER)
        self.supervisor = Supervisor(options.clock)
        self.metrics = PipelineMetrics()
        self._estimating = options.estimates or any(map(options.gates.enabled, COUNTING_GATES))
        self.members = PushMembers(
            open_member or SecretAccess(manager, clock=options.clock),
            options.clock,
            ESTIMATED if self._estimating else COUNTED,
        )
        self._searched = PushMembers(open_member or self._reach_as(SEARCH), options.clock)
        self._autoscaled, self._measured = (
            EveryMember(self.members, open_member or self._reach_as(name), options.clock)
            for name in (MANAGER, metrics_adapter.COMPONENT)
        )
        self.agents: dict[str, Supervisor] = {}
        """What runs for each cluster whose agent is in this process."""
        self._lookup.client = self.component(WEBHOOK)
        self.clusters.connect(self.component(AGGREGATED), self.server.store, self.server.authorizer)

    def component(self, name: str) -> Client:
        """A client with the identity of a component."""
        return Client(self.server.direct(component_user(name), name), field_manager=name)

    async def __aenter__(self) -> "ControlPlane":
        await self._stack.enter_async_context(self.server)
        if self.dashboard is not None:
            self._stack.push_async_callback(self.dashboard.close)
        self._serve_configuration()
        if self.options.read_only:
            return self
        await install(self.client)
        await self._stack.enter_async_context(self.supervisor)
        self._stack.push_async_callback(self.members.close)
        for members in (self._searched, self._autoscaled, self._measured):
            self._stack.push_async_callback(members.close)
        if self.options.spans is not None:
            self._stack.push_async_callback(self.options.spans.close)
            self.supervisor.start("spans", self.options.spans.run)
        manager, clock = self.component(MANAGER), self.options.clock
        self._informers = InformerFactory(manager, self.supervisor, clock=clock)
        self._recorders = Recorders(manager, self.supervisor, clock)
        self._awaited = [self._informers]
        for start in (
            self._start_controllers,
            self._start_scheduler,
            self._start_descheduler,
            self._start_search,
            self._start_metrics_adapter,
        ):
            await start()
        return self

    async def _start_controllers(self) -> None:
        options = self.options
        chosen = ControllerOptions(
            options.gates, options.selection, options.options, self._tracer(MANAGER), options.records, self._backlog
        )
        self._autoscaled.forget_left(self._informers.of(Cluster))
        started = await self._stack.enter_async_context(
            controllers(
                self.component(MANAGER),
                self._informers,
                self.supervisor,
                self._recorders,
                self.members,
                chosen,
                options.clock,
                self.metrics,
                readable=self._autoscaled,
            )
        )
        machinery = MachineryCollector(self._informers)
        machinery.controllers.extend(started)
        for collector in (self.metrics, machinery):
            self.server.traffic.metrics.also(collector.collect)

    async def _start_scheduler(self) -> None:
        options, clock = self.options, self.options.clock
        scheduling = SchedulerOptions(settings=Settings(options.gates), tracer=self._tracer(SCHEDULER))
        client, informers, recorder = self._beside(SCHEDULER, scheduling.name)
        self._estimates = MemberEstimates(self.members, informers.of(Cluster), self.supervisor, options.gates, clock)
        estimator = self._estimates if self._estimating else None
        scheduler = Scheduler(client, informers, recorder, scheduling, clock, estimator)
        if options.decisions is not None:
            kept = DecisionStore(options.decisions, scheduler.decisions, clock)
            kept.load()
            self._stack.push_async_callback(kept.save)
            self.supervisor.start("decisions", kept.run)
        scheduler.start(self.supervisor)
        self.server.pages.own[ROOT] = DecisionsPage(scheduler.decisions)
        self.server.traffic.metrics.also(scheduler.metrics.collect)
        self._awaited.append(informers)

    async def _start_descheduler(self) -> None:
        client, informers, recorder = self._beside(descheduling.COMPONENT, descheduling.COMPONENT)
        count = self._estimates.unschedulable
        Descheduler(client, informers, recorder, count, clock=self.options.clock).start(self.supervisor)
        self._awaited.append(informers)

    async def _start_search(self) -> None:
        if self.search is None:
            return
        client = self.component(SEARCH)
        around = Surroundings(
            client,
            client,
            self._searched,
            self.clusters.forward,
            AsUser(self.server),
            self.server.authorizer,
            self.server.catalog,
        )
        self.search.start(around, self._sharing(client), self.supervisor)

    async def _start_metrics_adapter(self) -> None:
        if self.adapter is None:
            return
        self._measured.forget_left(self._informers.of(Cluster))
        self.adapter.connect(self._sharing(self.component(metrics_adapter.COMPONENT)), self._measured)
        self.supervisor.start("usage history", self.adapter.sampler.run)
        self._stack.push_async_callback(self.adapter.close)

    def _sharing(self, client: Client) -> InformerFactory:
        """Informers of another component, on the caches that the controllers have already."""
        return InformerFactory(client, self.supervisor, clock=self.options.clock, lender=self._informers)

    def _beside(self, name: str, source: str) -> tuple[Client, InformerFactory, EventRecorder]:
        """What a component beside the controllers works with: as itself, at one pace with them, on shared caches."""
        client = self.component(name)
        own = Recorders(client, self.supervisor, self.options.clock, self._recorders.pace)
        return client, self._sharing(client), own(source)

    def _tracer(self, component: str) -> Tracer:
        return self.options.spans.tracer(component) if self.options.spans is not None else OFF

    def _serve_configuration(self) -> None:
        options = self.options
        flags = {
            "enable-no-execute-taint-eviction": options.options.of(TaintManagerOptions).enabled,
            "enable-scheduler-estimator": options.estimates,
        }
        page = configuration.ConfigurationPage(options.gates, flags, self._idle, options.read_only)
        self.server.pages.own[configuration.ROOT] = page

    def _reach_as(self, component: str) -> SecretOrTunnel:
        """How a component that only reads reaches members as itself, by their tunnels a user like any other."""
        user = component_user(component)

        def through(cluster: Cluster) -> Transport:
            return ForwardedTransport(
                lambda request, path: self.clusters.forward(cluster, request, path, user), component
            )

        by_secret = SecretAccess(self.component(component), agent=component, clock=self.options.clock)
        return SecretOrTunnel(by_secret, through)

    async def loaded(self) -> None:
        """Wait until everything that was there at the start is known: from then on changes are served at once."""
        known = 0
        while known != (known := sum(len(list(informers)) for informers in self._awaited)):
            for informers in self._awaited:
                await informers.synced()

    async def listen(
        self, host: str = "127.0.0.1", port: int = 0, hosts: Sequence[str] = (), endpoint: str = ""
    ) -> str:
        """Serve HTTPS and say so in `cluster-info`, so that clusters can register; returns the address."""
        if self.dashboard is not None:
            self.dashboard.hosts.update(name.lower() for name in (host, *hosts))
        bound = await self.server.listen(host, port, hosts)
        address = endpoint or f"https://{host}:{bound}"
        if not self.options.read_only:
            await installation.publish(self.client, address, self.server.identity.authority.certificate_pem)
        return address

    async def pull(self, member: Transport, options: AgentOptions, clock: Clock | None = None) -> None:
        """Make a cluster a member in pull mode, its agent in this process: with an agent's rights and no more."""
        name, clock = options.cluster, clock or self.options.clock
        user = await self.admit_agent(name, options.space)
        tracer = self._tracer("karmada-agent")
        agent = Agent(self.server.direct(user, "karmada-agent"), member, options, clock=clock, tracer=tracer)
        self._stack.push_async_callback(agent.close)
        self.agents[name] = await self._stack.enter_async_context(Supervisor(clock))
        await agent.start(self.agents[name])

    async def admit_agent(self, name: str, space: str = CLUSTER_NAMESPACE) -> UserInfo:
        """Give the agent of a cluster its rights, as an approved registration does; who it is then."""
        registration = secrets.token_hex(ID_LENGTH // 2)
        for wanted in agent_objects(name, registration, space, grant=EVERYTHING):
            await ensure(self.client, wanted.type, wanted.tree)
        groups = (AGENT_GROUP, registration_group(registration), "system:authenticated")
        return UserInfo(agent_user(name), groups)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._stack.aclose()


def component_user(name: str) -> UserInfo:
    """A component as its certificate shows it."""
    return UserInfo(user_of(name), ("system:authenticated",))
