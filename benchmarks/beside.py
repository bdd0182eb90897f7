"""Two control planes with the same simulated members: ours (`karmada up`), and a reference that is started beside it.

The reference is a prepared folder (`start.sh` and `down.sh` in it, see `side_by_side`). Whatever members it has of its
own stay without work; the simulated ones are joined to it as to ours, so that what they cost is the same on both sides.
Its limits of requests and retries are raised, as they would only hide what it could do.
"""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import Request, urlopen

import psutil

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.names import SYSTEM_NAMESPACE
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.join import describe, join
from karmada.standalone.children import Child
from karmada.standalone.federation import CONTEXT, Federation, FederationOptions
from karmada.standalone.layout import Layout
from karmada.testing.stage.daemon import free_port
from karmada.testing.stage.federation import eventually

CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
SERVICES = GroupVersionResource("", "v1", "services")
API_SERVICES = GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices")
LIMIT = 300.0
"""Seconds for the start or the end of a reference."""
_WORKERS = ("work", "resourcebinding", "resource-template", "dependent-resource", "namespace", "propagation-policy")
_QPS = "--kube-api-qps=2000 --kube-api-burst=4000"
_RETRIES = "--rate-limiter-qps=2000 --rate-limiter-bucket-size=4000"
_SYNCS = " ".join(f"--concurrent-{kind}-syncs=20" for kind in _WORKERS)
RAISED = {
    "CM_ARGS": f"{_QPS} {_RETRIES} --cluster-api-qps=2000 --cluster-api-burst=4000 {_SYNCS}",
    "SCHED_ARGS": f"{_QPS} {_RETRIES}",
    "WEBHOOK_ARGS": _QPS,
}
Flags = Mapping[str, str]
"""Further flags of the reference's programs, by the variable in which `start.sh` takes them."""


class Plane(NamedTuple):
    """A control plane that runs, and the members it has."""

    hub: Client
    members: dict[str, Client]
    control: dict[str, psutil.Process]
    """Processes of the control plane, by name."""
    fleet: Path
    """Where the members are kept."""

    def cpu(self) -> float:
        """Seconds that the control plane has used."""
        return float(sum(sum(process.cpu_times()[:2]) for process in self.control.values()))

    def memory(self) -> float:
        """Resident megabytes of the control plane."""
        return float(sum(process.memory_info().rss for process in self.control.values())) / 1e6

    async def request_control(self, method: str, path: str, body: JSONObject) -> None:
        """Ask the control API of the simulated members for something, such as a fault."""
        await asyncio.to_thread(_control, self.fleet / "fleet.json", method, path, body)


def _control(fleet: Path, method: str, path: str, body: JSONObject) -> None:
    access = json.loads(fleet.read_text())["control"]
    marks = {"Authorization": f"Bearer {access['token']}", "Content-Type": "application/json"}
    with urlopen(Request(f"{access['url']}{path}", json.dumps(body).encode(), marks, method=method), timeout=10):
        pass


@asynccontextmanager
async def ours(fleet: JSONObject, flags: list[str]) -> AsyncIterator[Plane]:
    """`karmada up` with these members."""
    with tempfile.TemporaryDirectory(prefix="karmada-beside-") as folder:
        layout = Layout(Path(folder))
        layout.prepare()
        file = Path(folder) / "fleet.json"
        file.write_text(json.dumps(fleet))
        made = Federation(FederationOptions(layout, fleet=file, control_flags=flags), lambda step: None)
        try:
            await made.start()
            members = {name: made.client(name) for name in names(fleet)}
            control = {"control plane": _process(made.children[0])}
            yield Plane(made.client(CONTEXT), members, control, layout.members)
        finally:
            await made.stop()


@asynccontextmanager
async def reference(anchors: Path, fleet: JSONObject, flags: Flags) -> AsyncIterator[Plane]:
    """The reference with these members joined to it, and those it starts with."""
    async with AsyncExitStack() as stack:
        hub, control = await stack.enter_async_context(started(anchors, flags))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="karmada-beside-")))
        file = folder / "simulated.json"
        file.write_text(json.dumps(fleet))
        arguments = ["karmada.simulator.main", "--data", str(folder / "members"), "--fleet", str(file)]
        child = Child("members", arguments, folder / "members.log")
        stack.push_async_callback(child.stop)
        described = (await child.start())["members"]
        members = {name: client(Path(described[name]["kubeconfig"])) for name in names(fleet)}
        for name, member in members.items():
            await join(member, hub, describe(name, load([Path(described[name]["kubeconfig"])]).target()))
        await _ready(hub, set(members))
        yield Plane(hub, members, control, folder / "members")


@asynccontextmanager
async def started(anchors: Path, flags: Flags) -> AsyncIterator[tuple[Client, dict[str, psutil.Process]]]:
    """The reference as its scripts start it: its control plane's client, and the processes of that."""
    given = {key: f"{RAISED.get(key, '')} {flags.get(key, '')}" for key in {*RAISED, *flags}}
    environment = {**os.environ, **given, "LIMITS": "default", "ANCHORS": str(anchors)}
    try:
        await _script(anchors / "start.sh", environment)
        found = {file.name: psutil.Process(int(file.read_text())) for file in (anchors / "run/pids").iterdir()}
        control = {name: one for name, one in found.items() if not name.startswith(("member", "kcm-m"))}
        yield client(anchors / "run" / "karmada.kubeconfig"), control
    finally:
        await _script(anchors / "down.sh", environment)


@asynccontextmanager
async def aggregated(
    anchors: Path, hub: Client, program: str, group_versions: Sequence[str], flags: Sequence[str] = ()
) -> AsyncIterator[tuple[int, psutil.Process]]:
    """One more API server of the reference, started and registered: its port and its process."""
    port, pki, access = free_port(), anchors / "run/pki", anchors / "run/karmada.kubeconfig"
    reached = [f"--{prefix}kubeconfig={access}" for prefix in ("", "authentication-", "authorization-")]
    keys = [f"--tls-cert-file={pki}/server.crt", f"--tls-private-key-file={pki}/server.key"]
    command = [str(anchors / "bin" / program), *reached, *keys, "--bind-address=127.0.0.1", f"--secure-port={port}"]
    command += ["--kube-api-qps=2000", "--kube-api-burst=4000", "--cluster-api-qps=2000", "--cluster-api-burst=4000"]
    with (anchors / f"run/log/{program}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(*command, *flags, stdout=log, stderr=subprocess.STDOUT)
    try:
        await _register(
            hub, f"karmada-{program}", port, group_versions, base64.b64encode((pki / "ca.crt").read_bytes()).decode()
        )
        await eventually(lambda: hub.transport.raw("GET", f"/apis/{group_versions[0]}"), LIMIT)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        await process.wait()


async def _register(hub: Client, name: str, port: int, group_versions: Sequence[str], authority: str) -> None:
    service = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}
    await hub.resource(SERVICES).create({"metadata": {"name": name}, "spec": service}, SYSTEM_NAMESPACE)
    for group_version in group_versions:
        group, _, version = group_version.partition("/")
        spec = {
            "group": group,
            "version": version,
            "service": {"name": name, "namespace": SYSTEM_NAMESPACE, "port": port},
            "caBundle": authority,
            "groupPriorityMinimum": 2000,
            "versionPriority": 10,
        }
        await hub.resource(API_SERVICES).create({"metadata": {"name": f"{version}.{group}"}, "spec": spec})


def names(fleet: JSONObject) -> list[str]:
    """The members of a fleet whose members are all named."""
    return [member["name"] for member in fleet["members"]]


def client(kubeconfig: Path) -> Client:
    """A client of whom a kubeconfig leads to."""
    return Client(HttpTransport(load([kubeconfig]).target()))


def _process(child: Child) -> psutil.Process:
    return psutil.Process(child.pid)


async def _script(path: Path, environment: dict[str, str]) -> None:
    """Run a script of the reference; not on a pipe, which the processes it leaves behind would keep open."""
    script = await asyncio.create_subprocess_exec(
        "bash", str(path), env=environment, stdout=sys.stderr, start_new_session=True
    )
    try:
        code = await asyncio.wait_for(script.wait(), LIMIT)
    except BaseException:  # its scripts would go on starting things
        os.killpg(script.pid, signal.SIGTERM)
        await script.wait()
        raise
    if code:
        raise RuntimeError(f"{path.name} ended with {code}")


async def _ready(hub: Client, wanted: set[str]) -> None:
    async def look() -> bool:
        return wanted <= {one.metadata.name for one in (await hub.of(Cluster).list()).items if is_ready(one)}

    await eventually(look, LIMIT)
