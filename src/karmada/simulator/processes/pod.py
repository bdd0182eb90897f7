"""One pod as processes: its folder, its address, and its containers."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.transport import JSONObject
from karmada.simulator.processes import environment
from karmada.simulator.processes.arguments import expanded, rewritten
from karmada.simulator.processes.container import ContainerProcess, Launch, Prepare
from karmada.simulator.processes.programs import Refused
from karmada.simulator.processes.runtime import ProcessRuntime
from karmada.simulator.processes.volumes import Volumes
from karmada.simulator.workloads.containers import Life, recalled
from karmada.simulator.workloads.views import ContainerStatus

LOST = 255
"""Exit code of a container whose end nobody saw."""
Server = Callable[[], tuple[str, int] | None]
"""Where the cluster's API server listens, if it does."""


class PodProcesses:
    """The processes of one pod."""

    def __init__(
        self,
        runtime: ProcessRuntime,
        client: Client,
        pod: JSONObject,
        server: Server,
        clock: Clock,
        changed: Callable[[str, str, str], None],
    ) -> None:
        self.tree = pod
        uid = pod["metadata"]["uid"]
        self.address = runtime.loopback.take(uid)
        self.folder = runtime.pod_folder(uid)
        self._runtime = runtime
        self._client = client
        self._server = server
        for name in ("run", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        self._volumes = Volumes(client, pod, self.folder, runtime.shared)
        self._writing = asyncio.Lock()
        self.ending: asyncio.Task[None] | None = None
        self.refreshed = clock.now()
        policy = pod["spec"].get("restartPolicy") or "Always"
        self.containers = {
            spec["name"]: ContainerProcess(
                spec,
                policy,
                self._prepare(spec),
                self.address,
                self.folder / "logs" / spec["name"],
                clock,
                changed,
            )
            for spec in pod["spec"]["containers"]
        }

    def start(self, known: Sequence[ContainerStatus]) -> None:
        """Start all containers; those that ran under an earlier runtime have been restarted once more."""
        for status in known:
            if (container := self.containers.get(status.name)) is not None:
                life = recalled(status)
                ran = life.state != "waiting"
                last = (life.code or LOST, life.started, life.since) if ran else life.last
                container.life = Life(restarts=life.restarts + ran, last=last)
        for container in self.containers.values():
            container.start()

    async def stop(self, grace: float) -> None:
        """End all containers."""
        await asyncio.gather(*(container.stop(grace) for container in self.containers.values()))

    async def refresh(self) -> None:
        """Bring mounted files up to date."""
        async with self._writing:
            await self._volumes.write()

    def write_hosts(self, text: str) -> None:
        """Replace the content of `/etc/hosts`: in place, as the file is mounted."""
        path = self.folder / "hosts"
        path.touch()
        with path.open("r+") as file:
            if file.read() != text:
                file.seek(0)
                file.write(text)
                file.truncate()

    def _prepare(self, spec: JSONObject) -> Prepare:
        async def prepare(words: Sequence[str] | None) -> Launch:
            if self.tree["spec"].get("initContainers"):
                raise Refused("the process runtime runs no init containers")
            await self.refresh()
            own = await environment.given(self._client, self.tree, spec, self.address)
            variables = environment.base(str(self.folder), self._server(), self.tree) | own
            command = expanded([*(spec.get("command") or ()), *(spec.get("args") or ())], variables)
            program, arguments = self._runtime.programs.named(spec.get("image") or "", words or command)
            mounts: dict[str, Path] = self._volumes.mounts(spec)
            arguments = rewritten(program, arguments, mounts, self.address)
            executable = self._runtime.programs.executable(program)
            return Launch([*executable, *arguments], variables, self.folder, self._runtime.shared)

        return prepare
