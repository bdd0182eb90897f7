"""A control plane as in production, on loopback: API servers behind HTTPS here, every component its own process."""

import asyncio
import base64
import re
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from karmada.aggregated.api import ClusterApi
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.feature_gates import DEFAULTS
from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.auth.pki import server_names
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.controllers.clusters import is_ready
from karmada.install.control_plane import control_plane
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound, Unavailable
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import installation
from karmada.membership.component_roles import user_of
from karmada.membership.join import join
from karmada.membership.registration import Description
from karmada.standalone.admission import KarmadaAdmission
from karmada.standalone.control_plane import component_user
from karmada.webhook.configurations import by_url, configurations
from karmada.webhook.lookup import ClientLookup

CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
QUICK = ("--cluster-status-update-frequency=1s", "--cluster-success-threshold=0s", "--cluster-failure-threshold=0s")
OUTSIDE = ("Service", "APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
"""Kinds of the control plane's objects that point its API server to other servers."""
SHORT_LEASE = (
    "--leader-elect-lease-duration=8s",
    "--leader-elect-renew-deadline=6s",
    "--leader-elect-retry-period=500ms",
)
"""Long enough for a leader on a busy machine to keep it."""


class Program:
    """One component, started from its console script's function."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def output(self) -> str:
        """What it logged."""
        return self._log.read_text()

    async def logged(self, pattern: str) -> str:
        """The first group of a pattern, once it is in the log."""

        async def look() -> str | None:
            found = re.search(pattern, self.output)
            return found[1] if found else None

        return str(await eventually(look))

    async def page(self, path: str) -> str:
        """A page of its diagnostics server."""
        port = int(await self.logged(r"http://127\.0\.0\.1:(\d+)"))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        status, _, body = (await reader.read()).decode().partition("\r\n")
        writer.close()
        await writer.wait_closed()
        assert status == "HTTP/1.1 200 OK", body
        return body

    async def idle(self) -> bool:
        """Whether every controller has worked its queue off."""
        page = await self.page("/metrics")
        waiting = re.findall(r"^(?:workqueue_depth|controller_runtime_active_workers)\{.*\} (\S+)$", page, re.MULTILINE)
        return bool(waiting) and not any(map(float, waiting))

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        if self.process.returncode is None:
            self.process.send_signal(number)
        async with asyncio.timeout(30):
            return await self.process.wait()


class Engine:
    """The API servers, and a way to start programs on them.

    The control plane's own serves clusters and admits Karmada's objects by itself; `stock` makes it one that knows
    nothing of Karmada, with those two jobs done by processes as in production.
    """

    def __init__(self, folder: Path, *, stock: bool = False) -> None:
        self._folder = folder
        self._stack = AsyncExitStack()
        self._started = 0
        self._stock = stock
        self._storage = MemoryStorage()
        self._make_server()
        self.members: dict[str, Client] = {}
        self.servers: dict[str, ApiServer] = {}
        self._endpoint = ""

    def _make_server(self) -> None:
        lookup = ClientLookup()
        clusters = ClusterApi()
        options = ApiServerOptions(storage=self._storage, folder=self._folder / "keys")
        if not self._stock:
            options.admission = [KarmadaAdmission(lookup, DEFAULTS)]
            options.apis = [clusters.local]
        self.server = ApiServer(options)
        self.hub = Client(self.server.direct(ADMIN))
        lookup.client = Client(self.server.direct(component_user("karmada-webhook")))
        reader = Client(self.server.direct(component_user("karmada-aggregated-apiserver")))
        clusters.connect(reader, self.server.store, self.server.authorizer)

    async def restart_server(self) -> None:
        """Stop the control plane's API server and start another on what it stored, at the same address."""
        await self.server.__aexit__(None, None, None)
        self._make_server()
        await self.server.__aenter__()
        await self.server.listen(port=int(self._endpoint.rpartition(":")[2]))

    async def __aenter__(self) -> "Engine":
        (self._folder / "keys").mkdir()
        await self.server.__aenter__()
        self._stack.push_async_exit(lambda *error: self.server.__aexit__(*error))
        authority = self.server.identity.authority
        bundle = base64.b64encode(authority.certificate_pem).decode()
        objects = control_plane(bundle)
        await self._create([obj for obj in objects if obj["kind"] not in OUTSIDE])
        await installation.install(self.hub)
        self._endpoint = f"https://127.0.0.1:{await self.server.listen()}"
        if self._stock:
            certificate, key = authority.issue_client("system:admin", ["system:masters"])
            identity = Identity(Material(certificate), Material(key))
            target = Target(self._endpoint, Material(authority.certificate_pem), identity=identity)
            self.hub = Client(HttpTransport(target))
            self._stack.push_async_callback(self.hub.close)
            await self._start_servers([obj for obj in objects if obj["kind"] in OUTSIDE], bundle)
        return self

    async def _start_servers(self, objects: list[dict[str, Any]], bundle: str) -> None:
        """Start those whom the API server asks, and register where they are on this machine."""
        pki = self._folder / "pki"
        pki.mkdir()
        hosts = ["karmada-aggregated-apiserver.karmada-system.svc", "127.0.0.1"]
        certificate, key = self.server.identity.authority.issue_server(hosts[0], server_names(hosts))
        (pki / "tls.crt").write_bytes(certificate)
        (pki / "tls.key").write_bytes(key)
        keys = (f"--tls-cert-file={pki}/tls.crt", f"--tls-private-key-file={pki}/tls.key")
        local = ("--bind-address=127.0.0.1", "--secure-port=0")
        aggregated = await self.start("aggregated_apiserver", "--storage=memory:", *keys, *local)
        webhook = await self.start("webhook", f"--cert-dir={pki}", *local)
        port = int(await aggregated.logged(r"serving on port (\d+)"))
        for obj in objects:
            if obj["kind"] == "Service":
                obj["spec"]["externalName"] = "127.0.0.1"
            elif obj["kind"] == "APIService":
                obj["spec"]["service"]["port"] = port
        objects = [obj for obj in objects if not obj["kind"].endswith("WebhookConfiguration")]
        address = await webhook.logged(r"webhooks at (https://\S+)")
        await self._create([*objects, *configurations(by_url(address, bundle))])

        async def serves() -> bool:
            try:
                await self.hub.resource(CLUSTERS).list()
            except (NotFound, Unavailable):
                return False
            return True

        await eventually(serves)

    async def _create(self, objects: list[dict[str, Any]]) -> None:
        for obj in objects:
            served = await self.hub.mapper.of_kind(obj["apiVersion"], obj["kind"])
            await self.hub.resource(served.type).create(obj)

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def add_member(self, name: str) -> Client:
        """A member API server behind HTTPS, joined."""
        server = await self._stack.enter_async_context(ApiServer())
        self.servers[name] = server
        port = await server.listen()
        member = self.members[name] = Client(server.direct(ADMIN))
        await join(member, self.hub, Description(name, f"https://127.0.0.1:{port}"))
        return member

    def _kubeconfig(self, component: str) -> Path:
        """How a component reaches the control plane: as itself, with no more rights than it is shipped with."""
        authority = self.server.identity.authority
        certificate, key = authority.issue_client(user_of(component))
        path = self._folder / f"{component}-{self._started}.config"
        write_kubeconfig(path, kubeconfig(self._endpoint, authority.certificate_pem, certificate=certificate, key=key))
        return path

    async def start(self, script: str, *flags: str) -> Program:
        """Start a component; it is ended with the world."""
        self._started += 1
        config = self._kubeconfig(f"karmada-{script.replace('_', '-')}")
        log = self._folder / f"{script}-{self._started}.log"
        arguments = [f"--kubeconfig={config}", "--health-probe-bind-address=127.0.0.1:0", *flags]
        arguments.insert(1, "--metrics-bind-address=0")
        code = f"import sys; from karmada.cli.entry import {script}; sys.exit({script}())"
        with log.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", code, *arguments, stdout=file, stderr=file
            )
        program = Program(process, log)
        self._stack.push_async_callback(program.end)
        return program

    async def ready(self) -> None:
        """Wait until all members are."""

        async def look() -> bool:
            found = (await self.hub.of(Cluster).list()).items
            return len(found) == len(self.members) and all(is_ready(cluster) for cluster in found)

        await eventually(look)

    async def holder(self, lease: str) -> str:
        """Who leads a component."""
        found = await self.hub.resource(LEASES).get(lease, "karmada-system")
        return str(found["spec"].get("holderIdentity") or "")


class Counting:
    """Counts what happens to a collection from now on, by event and object; and which generation each object has."""

    def __init__(self, client: Client, type_: GroupVersionResource) -> None:
        self._resource = client.resource(type_)
        self.seen: Counter[tuple[str, str]] = Counter()
        self.generations: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def comings(self) -> dict[tuple[str, str], int]:
        """How often each was made and removed; a living object's status changes as it likes."""
        return {key: count for key, count in self.seen.items() if key[0] != "MODIFIED"}

    async def __aenter__(self) -> "Counting":
        version = (await self._resource.list()).resource_version
        self._task = asyncio.get_running_loop().create_task(self._follow(version))
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self, version: str) -> None:
        async with self._resource.watch(resource_version=version) as stream:
            async for batch in stream:
                for change in batch:
                    metadata = change.object["metadata"]
                    key = f"{metadata.get('namespace', '')}/{metadata['name']}"
                    self.seen[change.type, key] += 1
                    self.generations[key] = metadata.get("generation", 0)


async def eventually(check: Callable[[], Awaitable[Any]], patience: float = 60.0) -> Any:
    """The first answer of a check that is true."""
    last: Exception | None = None
    try:
        async with asyncio.timeout(patience):
            while True:
                try:
                    found = await check()
                    if found:
                        return found
                except (NotFound, KeyError) as error:
                    last = error
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"did not happen; last: {last!r}") from None


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def deployment(name: str, replicas: int = 2) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "nginx:1.25"}]},
            },
        },
    }


POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "everything", "namespace": "default"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
        "placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]}},
    },
}
