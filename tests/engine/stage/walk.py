"""A person's shell, and clusters whose pods are processes, for the walk through docs/production.md."""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from tests import programs
from tests.docs.production import CHART, INIT, OPERATOR, files

from karmada.machinery.resource import Scope
from karmada.simulator.fleet import Fleet
from karmada.simulator.processes.addresses import Loopback
from karmada.simulator.processes.services import Forwarder, Target
from karmada.simulator.spec import parse
from karmada.simulator.workloads.kinds import PODS, SERVICES
from karmada.testing.stage.daemon import free_port
from karmada.testing.stage.federation import eventually
from karmada.testing.stage.programs import MODULES, TOOLS, program

ROOT = Path(__file__).parents[3]
SPACE = "karmada-system"
NAME, PORT = "karmada.example.com", 5443
"""Where the page says that the control plane is."""
AS_WRITTEN = os.environ.get("KARMADA_WALK") == "as-written"
"""Whether to start as many replicas as the page says; else there is one of everything: 40 programs want many cores."""
ONE_OF_EACH = {
    " -f deploy/chart/values-ha.yaml": "",
    " --ha": "",
    "for n in 0 1 2": "for n in 0",
    "statefulset etcd --replicas=3": "statefulset etcd --replicas=1",
    "karmada-apiserver --replicas=3": "karmada-apiserver --replicas=1",
    "karmada-aggregated-apiserver --replicas=2": "karmada-aggregated-apiserver --replicas=1",
    "replicas: 3": "replicas: 1",
    "replicas: 2": "replicas: 1",
}
BLOCK_SECONDS = 1800.0
PATIENCE = 300.0
NODES = [{"count": 3}]


class Walk:
    """What the page is walked in: a folder, host clusters, members, and the load balancer before the API server."""

    version = "0.1.1"
    """The version that is upgraded to."""

    def __init__(self, folder: Path, clusters: Fleet, address: str) -> None:
        self.folder = folder
        self.clusters = clusters
        self.notes: dict[str, str] = {}
        """What one step leaves for another."""
        self._servers: list[Target] = []
        self._address = address
        self._balancer = Forwarder(lambda: self._servers)
        self._seen: set[int] = set()
        port = free_port()
        self._placeholders = {
            **({} if AS_WRITTEN else ONE_OF_EACH),
            NAME: address,  # There is no DNS here.
            "service/etcd-client 2379": f"service/etcd-client {port}:2379",
            "127.0.0.1:2379": f"127.0.0.1:{port}",
        }

    async def balance(self) -> None:
        """Have the name of the page lead to the API server's Service."""
        service = await self.clusters[CHART].inside.resource(SERVICES).get("karmada-apiserver", SPACE)
        self._servers.append((service["spec"]["clusterIP"], PORT))
        await self._balancer.listen(self._address, PORT)

    async def close(self) -> None:
        """Stop balancing."""
        await self._balancer.close()

    async def said(self, host: str, script: str) -> str:
        """What commands print, typed against a host cluster; those left in the background end with them."""
        for placeholder, value in self._placeholders.items():
            script = script.replace(placeholder, value)
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", f"set -eo pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n{script}"),
            cwd=self.folder,
            env=self._environment(host),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        began = time.monotonic()
        try:
            out, err = await asyncio.wait_for(process.communicate(), BLOCK_SECONDS)
        finally:
            if process.returncode is None:
                process.terminate()
        with (self.folder / "transcript").open("a") as transcript:
            transcript.write(f"$ {script}\n{out.decode()}{err.decode()}({time.monotonic() - began:.0f} s)\n")
        assert process.returncode == 0, f"{script}\n{out.decode()}{err.decode()}\n{self._last_lines(host)}"
        return out.decode().strip()

    def _environment(self, host: str) -> dict[str, str]:
        places = [str(self.folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        return {
            **os.environ,
            "HOME": str(self.folder),
            "KUBECONFIG": str(self.folder / f"{host}.config"),
            "PATH": os.pathsep.join(places),
            "PYTHONPATH": str(ROOT / "src"),
            "REGISTRY": "registry.example.com",
            "VERSION": self.version,
        }

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is so."""

        async def there() -> bool:
            return holds()

        await eventually(there, PATIENCE)

    def programs(self, name: str) -> Counter[str]:
        """How many containers of each name are processes in a cluster now."""
        kubelet = self.clusters[name].processes
        assert kubelet is not None
        every = [one for pod in kubelet.running.values() for one in pod.containers.values() if one.pid is not None]
        self._seen |= {one.pid for one in every if one.pid is not None}
        return Counter(one.name for one in every)

    def left(self) -> list[int]:
        """Processes of containers that run still."""
        return [pid for pid in self._seen if Path(f"/proc/{pid}").exists()]

    async def pods(self, member: str) -> list[str]:
        """The uids of a member's pods."""
        found = await self.clusters[member].inside.resource(PODS).list(Scope("default"))
        return sorted(pod["metadata"]["uid"] for pod in found.items)

    def claim(self, host: str, name: str) -> Path:
        """The folder that is the volume of a claim."""
        (found,) = self.folder.glob(f"clusters/{host}/**/claims/{SPACE}/{name}")
        return found

    def _last_lines(self, host: str) -> str:
        kubelet = self.clusters[host].processes
        assert kubelet is not None
        logs = [(one.name, one.log()) for pod in kubelet.running.values() for one in pod.containers.values()]
        return "\n".join(f"== {name}\n{path.read_text()[-1000:]}" for name, path in logs if path.exists())


@asynccontextmanager
async def walking(folder: Path) -> AsyncIterator[Walk]:
    """Clusters and a shell with everything that the page takes for granted."""
    await asyncio.to_thread(_tools, folder)
    stock = {name: str(program(name)) for name in MODULES}
    runs = {"namespaces": [SPACE]}
    spec = parse(
        {
            "members": [
                *({"name": name, "nodePools": NODES, "processes": {**runs, "programs": stock}} for name in HOSTS),
                *({"name": name, "processes": runs} for name in MEMBERS),
            ]
        }
    )
    addresses = Loopback(Random())
    try:
        async with Fleet(spec, folder=folder / "clusters") as clusters:
            await clusters.listen()
            for name in (*HOSTS, *MEMBERS):
                (folder / f"{name}.config").write_bytes(clusters.kubeconfig_path(clusters[name]).read_bytes())
            walk = Walk(folder, clusters, addresses.take("balancer"))
            try:
                yield walk
            finally:
                await walk.close()
    finally:
        addresses.close()


HOSTS = (CHART, INIT, OPERATOR)
MEMBERS = ("member1", "member2", "member3")


def _tools(folder: Path) -> None:
    """Programs under their usual names, and the files of the repository and of the page."""
    (folder / "bin").mkdir()
    for name, path in {"kubectl": programs.kubectl(), "helm": programs.helm()}.items():
        (folder / "bin" / name).symlink_to(path)
    for name in TOOLS:
        (folder / "bin" / name).symlink_to(program(name))
    (folder / "deploy").symlink_to(ROOT / "deploy")
    for name, text in files().items():
        for several, one in () if AS_WRITTEN else ONE_OF_EACH.items():
            text = text.replace(several, one)
        (folder / name).write_text(text)
