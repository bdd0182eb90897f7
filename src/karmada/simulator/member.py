"""One simulated cluster.

    async with Member(MemberSpec("member1")) as member:
        await member.client.resource(DEPLOYMENTS).create(...)       # as a client in the same process
        await member.listen()                                       # as any client: member.kubeconfig

`client` and everything that comes over HTTP suffer the member's faults; `inside` does not.
"""

import contextlib
from collections.abc import Sequence
from functools import cached_property
from ipaddress import ip_network
from pathlib import Path
from random import Random
from types import TracebackType

import msgspec

from karmada.apiserver.admission.addresses import DEFAULT_RANGE
from karmada.apiserver.admission.model import AdmissionPlugin
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.apiserver.storage.base import Storage
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.watchcache import Bounds
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import AlreadyExists
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import JSONObject, Transport
from karmada.simulator.behaviour import Behaviour
from karmada.simulator.custom_metrics import CustomMetrics
from karmada.simulator.faults import Faults, Gate, SkewedClock
from karmada.simulator.interference import Interference
from karmada.simulator.listener import Listener
from karmada.simulator.metrics import MetricsApi
from karmada.simulator.network.listeners import Listeners
from karmada.simulator.network.plane import Network, Site
from karmada.simulator.nodes import nodes_of, running, usual_address
from karmada.simulator.processes.kubelet import ProcessKubelet
from karmada.simulator.processes.runtime import ProcessRuntime
from karmada.simulator.runtime.console import Console
from karmada.simulator.runtime.forwarding import Forwarding
from karmada.simulator.runtime.logs import Logs
from karmada.simulator.runtime.proxying import PodProxy
from karmada.simulator.spec import MemberSpec, network_of
from karmada.simulator.usage import Usage
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import NODES, STORAGE_CLASSES
from karmada.simulator.workloads.start import start

MANAGER = "kube-controller-manager"
HISTORY = Bounds(events=5_000, bytes=4 << 20)
"""A member has few clients, and they read at once: a short memory keeps many members cheap."""
STORAGE_CLASS: JSONObject = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "simulator.karmada.io/volume",
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "Immediate",
}
WORKERS = 8
"""Of each controller where writes wait for a disk; in memory nothing waits."""


class Member:
    """One simulated cluster. `folder` keeps keys and certificates between runs, `storage` the objects."""

    def __init__(
        self,
        spec: MemberSpec,
        *,
        clock: Clock = REAL,
        random: Random | None = None,
        folder: Path | None = None,
        storage: Storage | None = None,
        admission: Sequence[AdmissionPlugin] = (),
        network: Network | None = None,
    ) -> None:
        """`network`: that of the fleet, in which pods of its members reach each other."""
        self.spec = spec
        self.gate = Gate(clock, spec.faults, spec.latency_milliseconds / 1000)
        self.clock: Clock = SkewedClock(clock, lambda: self.gate.faults.clock_skew_seconds)
        self.random = random or clock.random()
        self.behaviour = Behaviour(spec.images, spec.ready_seconds, spec.job_seconds)
        self.behaviour.dead_nodes |= set(spec.dead_nodes)
        self.behaviour.pod_address = spec.pod_address
        self.behaviour.pod_range = ip_network(spec.pod_cidr, strict=False) if spec.pod_cidr else None
        self.usage = Usage()
        self.custom_metrics = CustomMetrics()
        self._runtime: ProcessRuntime | None = None
        if spec.processes.namespaces:
            self._runtime = ProcessRuntime(spec.processes, self.random, folder / "processes" if folder else None)
        options = ApiServerOptions(
            storage=storage or MemoryStorage(HISTORY.events, HISTORY.bytes),
            folder=folder,
            admission=(*admission, Interference(lambda: self.faults.webhooks, lambda: self.faults.full_namespaces)),
            apis=(MetricsApi(self.usage).local, self.custom_metrics.local) if spec.metrics_server else (),
            root_certificates=spec.workloads,
            now=self.clock.now,
            history=HISTORY,
            random=self.random,
            service_range=self._runtime.loopback.services if self._runtime is not None else DEFAULT_RANGE,
        )
        self.server = ApiServer(options)
        store = self.server.store
        self.network = network or Network()
        self.network.sites[spec.name] = Site(
            spec.name, store, self.behaviour, lambda: self.faults.network_down, network_of(spec)
        )
        self.ports = Listeners(spec.name, self.network, store, self.clock)
        """Loopback addresses of its pods."""
        options.backends.exec = Console(store, self.clock, spec.name, self.network)
        options.backends.logs = self._logs = Logs(store, self.clock, spec.name, self.network)
        options.backends.forward = self._forwarding = Forwarding(spec.name, self.network, self.clock)
        proxy = PodProxy(spec.name, self.network, self.clock)
        options.backends.proxies.update(pods=proxy, services=proxy)
        self._listener = Listener(self.server, self.gate)
        self._supervisor: Supervisor | None = None
        self.processes: ProcessKubelet | None = None
        """Pods that are processes of this machine, where the specification wants them."""

    async def __aenter__(self) -> "Member":
        await self.server.__aenter__()
        self._supervisor = Supervisor(self.clock, Random(self.random.getrandbits(64)))
        await self._furnish()
        workloads = Workloads(
            Client(self.server.direct(ADMIN, MANAGER), field_manager=MANAGER),
            self._supervisor,
            self.behaviour,
            self.usage,
            clock=self.clock,
            random=Random(self.random.getrandbits(64)),
            workers=1 if isinstance(self.server.options.storage, MemoryStorage) else WORKERS,
            elsewhere=self._runtime.runs if self._runtime is not None else lambda pod: False,
        )
        if self.spec.workloads:
            start(workloads)
            if self._runtime is not None:
                self.processes = ProcessKubelet(workloads, self._runtime, lambda: self._listener.address)
                self._logs.of_process = self.processes.log
                self._forwarding.address_of = self.processes.address
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.ports.close()
        await self._listener.stop()
        if self._supervisor is not None:
            await self._supervisor.stop()
        if self.processes is not None:
            await self.processes.close()
        if self._runtime is not None:
            self._runtime.close()
        await self.server.__aexit__(kind, error, at)

    @property
    def name(self) -> str:
        """Its name in the fleet."""
        return self.spec.name

    # Ways in.

    def transport(self, user: UserInfo = ADMIN, agent: str = "karmada") -> Transport:
        """A way in for a client in this process, which suffers the member's faults."""
        return self.gate.transport(self.server.direct(user, agent))

    @cached_property
    def client(self) -> Client:
        """A client as the administrator, which suffers the member's faults."""
        return Client(self.transport(), field_manager="karmada")

    @cached_property
    def inside(self) -> Client:
        """A client as the administrator that always works."""
        return Client(self.server.direct(), field_manager="karmada")

    async def listen(self, host: str = "127.0.0.1", port: int | None = None, hosts: Sequence[str] = ()) -> int:
        """Serve HTTPS; the port."""
        return await self._listener.listen(host, self.spec.port if port is None else port, hosts)

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._listener.url

    @cached_property
    def kubeconfig(self) -> JSONObject:
        """How its administrator gets in over HTTPS; `listen` comes first."""
        from karmada.apiserver.auth.kubeconfig import kubeconfig

        authority = self.server.identity.authority
        certificate, key = authority.issue_client("kubernetes-admin", ("system:masters",))
        return kubeconfig(
            self.url,
            authority.certificate_pem,
            cluster=self.name,
            user=f"{self.name}-admin",
            certificate=certificate,
            key=key,
        )

    # What goes wrong.

    @property
    def faults(self) -> Faults:
        """What is wrong now."""
        return self.gate.faults

    async def set_faults(self, faults: Faults) -> None:
        """Change what is wrong."""
        self.gate.set(faults)
        await self._listener.follow(faults)

    async def change_faults(self, **changes: object) -> None:
        """Change some of what is wrong: `change_faults(down=True)`."""
        await self.set_faults(msgspec.structs.replace(self.faults, **changes))

    def set_node_down(self, name: str, down: bool = True) -> None:
        """Have the kubelet of a node die, or come back."""
        (self.behaviour.dead_nodes.add if down else self.behaviour.dead_nodes.discard)(name)
        self.behaviour.changed()

    # Inside.

    async def _furnish(self) -> None:
        """Make what a new cluster has: its nodes and a storage class."""
        client = Client(self.server.direct(ADMIN, "kubelet"), field_manager="kubelet")
        with contextlib.suppress(AlreadyExists):
            await client.resource(STORAGE_CLASSES).create(STORAGE_CLASS | {"metadata": dict(STORAGE_CLASS["metadata"])})
        nodes = client.resource(NODES)
        address = self._runtime.loopback.node if self._runtime is not None else usual_address
        for node in nodes_of(self.spec, self.clock.now(), address):
            name, taints = node["metadata"]["name"], list(node["spec"].get("taints") or ())
            try:
                await nodes.create(node)
            except AlreadyExists:
                if found := running(self.spec):
                    await nodes.patch(name, {"metadata": {"annotations": found}})
                continue
            if name not in self.behaviour.dead_nodes:
                # New nodes are not ready until somebody says so: at once, so that the first pods find them all.
                await nodes.patch(name, {"spec": {"taints": taints or None}})
