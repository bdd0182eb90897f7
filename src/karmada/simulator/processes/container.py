"""One container as a process: started, logged, probed, restarted with back-off, ended with its pod."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from karmada.machinery.clock import Clock
from karmada.machinery.errors import ApiError
from karmada.machinery.transport import JSONObject
from karmada.simulator.processes import sandbox
from karmada.simulator.processes.logs import LogWriter
from karmada.simulator.processes.probes import Probe
from karmada.simulator.processes.programs import Refused
from karmada.simulator.processes.volumes import NotYet
from karmada.simulator.workloads.containers import STEADY, Life

log = logging.getLogger(__name__)
RETRY = 1.0
"""Seconds until a container is tried again whose volumes or variables are not there yet."""
KEPT = 2
"""Runs of a container whose logs are kept: this one and the one before."""
KILL_AFTER = 10.0
"""Seconds that a container has to end when a liveness probe has given it up."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that stands for a container, with its environment."""

    command: Sequence[str]
    environment: dict[str, str] = field(repr=False)
    folder: Path
    """The pod's, the only place besides `shared` where it may write."""
    shared: Path

    async def start(self) -> asyncio.subprocess.Process:
        """Start it; what it prints is in one stream."""
        helper = [sys.executable, "-I", "-S", sandbox.__file__, str(os.getpid()), str(self.folder), str(self.shared)]
        return await asyncio.create_subprocess_exec(
            *helper,
            *self.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self.environment,
            start_new_session=True,
        )


Prepare = Callable[[Sequence[str] | None], Awaitable[Launch]]
"""Makes the launch of the container's own command, or of another one of its programs."""


class ContainerProcess:
    """A container that runs; `life` is what there is to report about it."""

    def __init__(
        self,
        spec: JSONObject,
        policy: str,
        prepare: Prepare,
        address: str,
        logs: Path,
        clock: Clock,
        changed: Callable[[str, str, str], None],
    ) -> None:
        """`changed` is called with type, reason and text of an event each time there is something to report."""
        self.spec = spec
        self.name: str = spec["name"]
        self.life = Life(since=clock.now())
        self.ready = False
        self._policy = policy
        self._prepare = prepare
        self._address = address
        self._logs = logs
        self._clock = clock
        self._changed = changed
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """Its process id, while it runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    def start(self) -> None:
        """Run it until it is stopped, or ended for good."""
        self._task = asyncio.create_task(self._run(), name=f"container {self.name}")

    async def stop(self, grace: float) -> None:
        """End it and do not start it again; without grace at once."""
        self._stopping = True
        if (task := self._task) is None:
            return
        if self.pid is None:
            task.cancel()
        _send(self._process, signal.SIGTERM if grace else signal.SIGKILL)
        await asyncio.wait({task}, timeout=grace or None)
        _send(self._process, signal.SIGKILL)
        await asyncio.wait({task})

    def log(self, previous: bool = False) -> Path:
        """The log of this run, or of the one before."""
        return self._logs / f"{self.life.restarts - previous}.log"

    async def _run(self) -> None:
        life = self.life
        while True:
            launch = await self._prepared()
            try:
                await self._once(launch)
            except Exception:
                log.exception("container %s failed outside its process", self.name)
                life.state, life.code, life.since = "terminated", 255, self._clock.now()
            if self._policy == "Never" or (self._policy == "OnFailure" and life.code == 0):
                return
            if self._stopping:
                return
            life.last = (life.code, life.started, life.since)
            if life.restarts and life.since - life.started < STEADY:
                life.state, life.reason = "waiting", "CrashLoopBackOff"
                self._changed("Warning", "BackOff", f"Back-off restarting failed container {self.name}")
                await self._clock.sleep(life.pause)
            life.restarts += 1

    async def _prepared(self) -> Launch:
        """Wait until everything is there that the container needs."""
        while True:
            try:
                return await self._prepare(None)
            except (Refused, NotYet, ApiError, OSError) as error:
                reason = "CreateContainerError" if isinstance(error, Refused) else "CreateContainerConfigError"
                if (self.life.reason, self.life.message) != (reason, str(error)):
                    self.life.state, self.life.reason, self.life.message = "waiting", reason, str(error)
                    self._changed("Warning", "Failed", f"Error: {error}")
            await self._clock.sleep(RETRY)

    async def _once(self, launch: Launch) -> None:
        """One run of the process, with its probes."""
        writer = LogWriter(self.log(), self._clock)
        (self._logs / f"{self.life.restarts - KEPT}.log").unlink(missing_ok=True)
        life, now = self.life, self._clock.now()
        self._process = process = await _started(launch)
        life.state, life.reason, life.message, life.since, life.started = "running", "", "", now, now
        self.ready = not any(self.spec.get(kind) for kind in ("readinessProbe", "startupProbe"))
        self._changed("Normal", "Started", f"Started container {self.name}")
        assert process.stdout is not None
        probing = asyncio.create_task(self._probe(), name=f"probes of {self.name}")
        try:
            await writer.take(process.stdout)
            code = await process.wait()
        finally:
            probing.cancel()
            await asyncio.gather(probing, return_exceptions=True)
        self.ready = False
        life.code = 128 - code if code < 0 else code
        life.state, life.reason, life.since = "terminated", "Error" if life.code else "Completed", self._clock.now()
        self._changed("", "", "")

    async def _probe(self) -> None:
        if tree := self.spec.get("startupProbe"):
            started = asyncio.Event()

            def begun(good: bool, why: str) -> None:
                if good:
                    started.set()
                else:
                    self._give_up("Startup", why)

            async with contextlib.AsyncExitStack() as stack:
                task = asyncio.create_task(self._made(tree).watch(begun, patient=False))
                stack.callback(task.cancel)
                await started.wait()
        probes = []
        if tree := self.spec.get("readinessProbe"):
            probes.append(self._made(tree).watch(self._serves))
        elif not self.ready:
            self._serves(True, "")
        if tree := self.spec.get("livenessProbe"):
            probes.append(self._made(tree).watch(self._lives, patient=False))
        await asyncio.gather(*probes)

    def _serves(self, good: bool, why: str) -> None:
        self.ready = good
        self._changed(*(("", "", "") if good else ("Warning", "Unhealthy", f"Readiness probe failed: {why}")))

    def _lives(self, good: bool, why: str) -> None:
        if not good:
            self._give_up("Liveness", why)

    def _give_up(self, which: str, why: str) -> None:
        self._changed("Warning", "Unhealthy", f"{which} probe failed: {why}")
        self._changed("Normal", "Killing", f"Container {self.name} failed its probe, will be restarted")
        _send(self._process, signal.SIGTERM)
        process = self._process
        self._clock.call_later(KILL_AFTER, lambda: _send(process, signal.SIGKILL))

    def _made(self, tree: JSONObject) -> Probe:
        ports = {port["name"]: port["containerPort"] for port in self.spec.get("ports") or () if port.get("name")}
        return Probe(tree, self._address, ports, self._exec, self._clock)

    async def _exec(self, command: list[str], seconds: float) -> str:
        try:
            launch = await self._prepare(command)
        except (Refused, NotYet) as error:
            return str(error)
        process = await launch.start()
        try:
            async with asyncio.timeout(seconds):
                output, _ = await process.communicate()
        except TimeoutError:
            _send(process, signal.SIGKILL)
            await process.wait()
            raise
        return "" if process.returncode == 0 else output.decode(errors="replace")[-500:] or "failed"


async def _started(launch: Launch) -> asyncio.subprocess.Process:
    """A process that is not left behind when nobody waits for its start any more."""
    starting = asyncio.ensure_future(launch.start())
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        _send(process, signal.SIGKILL)
        await process.communicate()
        raise


def _send(process: asyncio.subprocess.Process | None, number: signal.Signals) -> None:
    if process is not None and process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
