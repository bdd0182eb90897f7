"""A federation as in production: a stock control plane, our components as processes, stock members with workloads.

    async with Stage(StageOptions(folder)) as stage:
        await stage.hub.client().resource(...)

Members are those of a fleet file, joined in push mode; `simulate-workloads` plays their kubelets and controllers. All
API servers share one etcd, under prefixes. Everything a test does to the parts is done through them: `stage.etcd`,
`stage.members[name]`, `stage.components[program]`.
"""

import asyncio
import base64
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.names import SYSTEM_NAMESPACE
from karmada.apiserver.auth.pki import server_names, write_file
from karmada.controllers.clusters import is_ready
from karmada.install.control_plane import control_plane
from karmada.machinery.client import Client
from karmada.machinery.errors import AlreadyExists, ApiError
from karmada.machinery.http.kubeconfig import load as load_kubeconfig
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import installation, token
from karmada.membership.agent_grant import EVERYTHING
from karmada.membership.component_roles import user_of
from karmada.membership.join import describe, join
from karmada.membership.register import Registration, agent_access
from karmada.simulator.spec import MemberSpec, load
from karmada.standalone.layout import Layout
from karmada.testing.stage.components import Component, console
from karmada.testing.stage.daemon import Daemon, free_port
from karmada.testing.stage.servers import HOST, Etcd, KubeApiServer, KubeControllerManager, StockServer, write_pair
from karmada.webhook.configurations import by_url, configurations

CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
CONTROLLERS, SCHEDULER = "karmada-controller-manager", "karmada-scheduler"
AGGREGATED, WEBHOOK = "karmada-aggregated-apiserver", "karmada-webhook"
AGENT, DESCHEDULER = "karmada-agent", "karmada-descheduler"
OUTSIDE = ("Service", "APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
"""Kinds of the control plane's objects that point its API server to other servers."""
NO_PODS = "--disable-admission-plugins=StorageObjectInUseProtection,ServiceAccount"
"""What the hub's API server need not do, as nothing runs there."""
TOKENS = "serviceaccount-token-controller"
PATIENCE = 120.0
TOKEN_SECONDS = 600.0
WEBHOOK_SECONDS = 30
"""A machine that is busy with something else is no reason to refuse what a test writes."""


@dataclass(slots=True)
class StageOptions:
    """What to build."""

    folder: Path
    fleet: str = "reference"
    workloads: bool = True
    """Whether members' workloads come to life."""
    durable: bool = False
    """Whether etcd waits for the disk, as it must in production."""
    member_flags: Sequence[str] = ()
    """Further flags of the members' API servers."""
    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Further flags of our programs, by program."""


class Stage:
    """A stock control plane, our components as processes, stock members with workload controllers."""

    def __init__(self, options: StageOptions) -> None:
        self.options = options
        self.layout = Layout(options.folder)
        self.layout.prepare()
        self.etcd = Etcd(options.folder / "etcd", durable=options.durable)
        self.hub = KubeApiServer("karmada", self.layout.control_plane, self.etcd, [NO_PODS])
        self.hub.access(self.layout.control_plane / "admin.kubeconfig", "admin", ["system:masters"])
        self.controllers = [KubeControllerManager(self.hub)]
        self.specs = {spec.name: spec for spec in load(options.fleet).each()}
        self.members = {
            name: KubeApiServer(name, self.layout.members / name, self.etcd, options.member_flags)
            for name in self.specs
        }
        # Of a member's stock controllers only this one runs: workloads and housekeeping are simulated.
        self.controllers += [KubeControllerManager(server, TOKENS) for server in self.members.values()]
        self.components: dict[str, Component] = {}
        self.ports = {AGGREGATED: free_port(), WEBHOOK: free_port()}
        """Ports of those whom the API server asks."""
        self.agents: dict[str, Path] = {}
        """How the agents of members in pull mode reach the control plane: kubeconfigs by member."""
        self.workloads: dict[str, Daemon] = {}
        self._stack = AsyncExitStack()
        self._started = 0
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """An administrator of the control plane."""
        assert self._client is not None, "the stage is not open"
        return self._client

    async def __aenter__(self) -> "Stage":
        try:
            await self._open()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _open(self) -> None:
        await self._start_all([self.etcd])
        await self._start_all([self.hub, *self.members.values()])
        self._client = self.hub.client()
        self._stack.push_async_callback(self._client.close)
        await self._furnish()
        # The garbage collector looks for new kinds every half a minute only: it starts when all are there.
        await self._start_all(self.controllers)
        await self._collects_garbage()
        if self.options.workloads:
            for name, spec in self.specs.items():
                await self._enliven(name, spec)

    async def _start_all(self, servers: Sequence[StockServer]) -> None:
        async with asyncio.TaskGroup() as group:
            for server in servers:
                self._stack.push_async_callback(server.stop)
                group.create_task(server.start())

    async def _collects_garbage(self) -> None:
        """Wait until an object of Karmada's whose owner is not there has gone: from then on owners are minded."""
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "nobody"}
        garbage = {
            "apiVersion": "work.karmada.io/v1alpha1",
            "kind": "Work",
            "metadata": {"name": "garbage", "ownerReferences": [owner]},
            "spec": {"workload": {"manifests": []}},
        }
        works = self.client.resource(WORKS)
        await works.create(garbage, "default")

        async def gone() -> bool:
            return not (await works.list(Scope("default"))).items

        await eventually(gone, PATIENCE)

    async def start_components(self) -> None:
        """Start the two that move resources, and wait until all members are ready."""
        for program in (CONTROLLERS, SCHEDULER):
            await self.start(program)
        await self.ready()

    async def start(self, program: str, *flags: str, endpoint: str = "") -> Component:
        """Start one (more) replica of a component of the control plane; it ends with the stage.

        `endpoint` is a way to the API server that is not its own address.
        """
        access = self.hub.rotatable_access(self._place(program, "kubeconfig"), user_of(program), endpoint=endpoint)
        made = await self._run(program, access, flags)
        if program != AGGREGATED:  # It has no diagnostics server: the API server sees whether it is healthy.
            await made.healthy()
        return made

    async def start_beside(self, program: str, member: str, *flags: str) -> Component:
        """Start a component that works in a member, with an administrator's rights there."""
        made = await self._run(program, self.members[member].kubeconfig, [f"--cluster-name={member}", *flags])
        await made.healthy()
        return made

    async def register(self, name: str, *flags: str) -> Component:
        """Make one a member in pull mode: obtain its agent's certificate by a token, and start the agent."""
        spec, made = self.specs[name], token.new_token()
        member = self.members[name].client()
        await member.resource(NAMESPACES).create({"metadata": {"name": SYSTEM_NAMESPACE}})
        await member.close()
        await token.create(self.client, made, ttl=TOKEN_SECONDS, grant=EVERYTHING)
        pins = token.pins(self.hub.authority.certificate_pem)
        path = self.agents[name] = self._place(f"agent-{name}", "kubeconfig")
        write_file(path, await agent_access(Registration(self.hub.endpoint, str(made), name, pins=pins)), 0o600)
        labels = {"provider": spec.provider, "region": spec.region, "zones": ",".join(spec.zones)}
        agent = await self.start_agent(
            name, *(f"--cluster-{key}={value}" for key, value in labels.items() if value), *flags
        )
        await eventually(lambda: self._label(name), PATIENCE)
        return agent

    async def start_agent(self, name: str, *flags: str) -> Component:
        """Start one (more) replica of the agent of a member that was registered."""
        return await self.start_beside(AGENT, name, f"--karmada-kubeconfig={self.agents[name]}", *flags)

    async def _run(self, program: str, access: Path, flags: Sequence[str]) -> Component:
        self._started += 1
        given = [*self.options.flags.get(program, ()), *flags]
        made = Component(program, access, self._place(program, "log"), given)
        self.components.setdefault(program, made)
        await made.start()
        self._stack.push_async_callback(made.end)
        return made

    def _place(self, name: str, kind: str) -> Path:
        return self.options.folder / "components" / f"{name}-{self._started}.{kind}"

    async def join_all(self) -> None:
        """Make all members members, as an administrator does."""
        for name in self.members:
            await self.join(name)

    async def join(self, name: str) -> None:
        """Make one a member, with what its fleet file says of it."""
        spec, member = self.specs[name], self.members[name].client()
        target = load_kubeconfig([self.members[name].kubeconfig]).target()
        about = describe(name, target, provider=spec.provider, region=spec.region, zones=",".join(spec.zones))
        try:
            await join(member, self.client, about)
        finally:
            await member.close()
        await self._label(name)

    async def _label(self, name: str) -> bool:
        await self.client.resource(CLUSTERS).patch(name, {"metadata": {"labels": self.specs[name].labels}})
        return True

    async def ready(self) -> None:
        """Wait until all members are."""

        async def look() -> bool:
            found = (await self.client.of(Cluster).list()).items
            return len(found) == len(self.members) and all(map(is_ready, found))

        await eventually(look, PATIENCE)

    async def _furnish(self) -> None:
        """Everything an installation holds before the first component starts."""
        bundle = base64.b64encode(self.hub.authority.certificate_pem).decode()
        objects = control_plane(bundle)
        await self.create([obj for obj in objects if obj["kind"] not in OUTSIDE])
        await eventually(self._established)
        await installation.install(self.client, self.hub.endpoint, self.hub.authority.certificate_pem)
        self.renew_serving()
        clusters, hooks = self.ports[AGGREGATED], self.ports[WEBHOOK]
        await self._start_aggregated(self.etcd)
        await self.start(WEBHOOK, f"--cert-dir={self._pki}", f"--bind-address={HOST}", f"--secure-port={hooks}")
        outside = [obj for obj in objects if obj["kind"] in ("Service", "APIService")]
        for obj in outside:
            if obj["kind"] == "Service":
                obj["spec"]["externalName"] = "localhost"
            else:
                obj["spec"]["service"]["port"] = clusters
        hooks_of = configurations(by_url(f"https://{HOST}:{hooks}", bundle))
        for webhook in (webhook for configuration in hooks_of for webhook in configuration["webhooks"]):
            webhook["timeoutSeconds"] = WEBHOOK_SECONDS
        await self.create([*outside, *hooks_of])
        await eventually(self._serves_clusters, PATIENCE)

    async def _start_aggregated(self, etcd: Etcd) -> None:
        keys = (f"--tls-cert-file={self._pki}/tls.crt", f"--tls-private-key-file={self._pki}/tls.key")
        where = (f"--bind-address={HOST}", f"--secure-port={self.ports[AGGREGATED]}")
        await self.start(AGGREGATED, *etcd.flags, *keys, *where)

    async def move(self, etcd: Etcd) -> None:
        """Kill both API servers of the control plane and start them on another etcd; all else goes on meanwhile."""
        await self.hub.kill()
        await self.components.pop(AGGREGATED).end(signal.SIGKILL)
        await self._start_all([etcd])
        self.hub.use(etcd)
        await self._start_all([self.hub])
        await self._start_aggregated(etcd)
        await eventually(self._serves_clusters, PATIENCE)

    @property
    def _pki(self) -> Path:
        return self.options.folder / "pki"

    def renew_serving(self) -> None:
        """Another certificate for those whom the API server asks; they pick it up by themselves."""
        names = server_names([f"{AGGREGATED}.karmada-system.svc", HOST])
        write_pair(self._pki, "tls", self.hub.authority.issue_server(AGGREGATED, names))

    async def create(self, objects: Sequence[JSONObject]) -> None:
        """Create what is not there yet."""
        for obj in objects:
            served = await self.client.mapper.of_kind(obj["apiVersion"], obj["kind"])
            try:
                await self.client.resource(served.type).create(obj)
            except AlreadyExists:
                continue

    async def _established(self) -> bool:
        for crd in (await self.client.resource(CRDS).list()).items:
            conditions = (crd.get("status") or {}).get("conditions") or ()
            if not any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                return False
        return True

    async def _serves_clusters(self) -> bool:
        await self.client.resource(CLUSTERS).list()
        return True

    async def _enliven(self, name: str, spec: MemberSpec) -> None:
        command: list[Any] = [console("karmada"), "simulate-workloads", f"--kubeconfig={self.members[name].kubeconfig}"]
        command += [f"--fleet={self.options.fleet}", f"--member={name}"]
        daemon = self.workloads[name] = Daemon(f"workloads of {name}", command, self.layout.members / name / "sim.log")
        self._stack.push_async_callback(daemon.end)
        await daemon.start()


async def eventually(check: Any, patience: float = 60.0, pause: float = 0.1) -> Any:
    """The first answer of a check that is true; what the servers cannot answer yet is asked again."""
    last: Exception | None = None
    try:
        async with asyncio.timeout(patience):
            while True:
                try:
                    if found := await check():
                        return found
                except (ApiError, KeyError, OSError) as error:
                    last = error
                await asyncio.sleep(pause)
    except TimeoutError:
        raise AssertionError(f"did not happen within {patience:g} s; last: {last!r}") from None
