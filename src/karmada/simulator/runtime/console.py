"""Exec and attach: the tiny shell in a simulated container, with the network of its member."""

from dataclasses import replace
from math import isinf

import orjson

from karmada.apiserver.watchcache import WatchCache
from karmada.machinery.clock import Clock
from karmada.machinery.httpserver.backends import ExecRequest, ExitStatus, ProcessStreams
from karmada.machinery.transport import JSONObject
from karmada.simulator import shell
from karmada.simulator.network.plane import Network
from karmada.simulator.runtime.pods import config_files, container_of, find, status_of
from karmada.simulator.runtime.web import ContainerWeb
from karmada.simulator.workloads.containers import surroundings

STARTING = 0.1
"""Seconds until a command begins, as with a real runtime: kubectl discards what comes before it has its streams."""


class Console:
    """Runs commands in containers."""

    def __init__(self, store: WatchCache, clock: Clock, cluster: str = "", network: Network | None = None) -> None:
        self._store = store
        self._clock = clock
        self._cluster = cluster
        self._network = network

    async def execute(self, request: ExecRequest, streams: ProcessStreams) -> ExitStatus:
        """Act a command; a shell without a script is read from the input line by line."""
        await self._clock.sleep(STARTING)
        pod = find(self._store, request.namespace, request.pod)
        if status_of(pod, request.container).state.running is None:
            return ExitStatus(1, f'container "{request.container}" is not running')
        around = self._around(request)
        command = request.command
        if not command:
            await self._forever(streams)
            return ExitStatus()
        name = command[0].rsplit("/", 1)[-1]
        if name in shell.SHELLS and not any(word.startswith("-") and "c" in word for word in command[1:]):
            return await self._interact(request, streams, around)
        if name not in shell.SHELLS and not shell.is_known(command):
            text = f'exec: "{command[0]}": executable file not found in $PATH'
            return ExitStatus(126, f"failed to exec in container: {text}")
        if request.stdin and name in ("cat", *shell.SHELLS):
            around = replace(around, stdin=(await self._everything(streams)).decode(errors="replace"))
        return ExitStatus(await self._act(command, around, request, streams))

    async def _act(
        self, command: tuple[str, ...], around: shell.Surroundings, request: ExecRequest, streams: ProcessStreams
    ) -> int:
        outcome = shell.run(command, around)
        if outcome.output and request.stdout:
            await streams.write(_lines(outcome.output, request.tty))
        if outcome.errors and (request.stderr or request.tty):
            write = streams.write if request.tty else streams.write_error
            await write(_lines(outcome.errors, request.tty))
        await self._clock.sleep(86400.0 if isinf(outcome.seconds) else outcome.seconds)
        return outcome.code

    async def _interact(self, request: ExecRequest, streams: ProcessStreams, around: shell.Surroundings) -> ExitStatus:
        waiting, code = b"", 0
        if request.tty:
            await streams.write(b"/ # ")
        while data := await streams.read():
            if request.tty:
                await streams.write(data.replace(b"\r", b"\r\n"))
            if b"\x04" in data:
                break
            waiting += data.replace(b"\r", b"\n")
            while b"\n" in waiting:
                line, _, waiting = waiting.partition(b"\n")
                text = line.decode(errors="replace").strip()
                if text.split(" ")[0] == "exit":
                    return ExitStatus(shell.run(("sh", "-c", text), around).code)
                code = await self._act(("sh", "-c", text), around, request, streams) if text else code
                if request.tty:
                    await streams.write(b"/ # ")
        if waiting.strip():
            code = await self._act(("sh", "-c", waiting.decode(errors="replace")), around, request, streams)
        return ExitStatus(code)

    def _around(self, request: ExecRequest) -> shell.Surroundings:
        pod = find(self._store, request.namespace, request.pod)
        item = self._store.get(("", "pods"), request.namespace, request.pod)
        around = replace(surroundings(pod, container_of(pod, request.container)), now=self._clock.now())
        if self._network is not None:
            around = replace(around, web=ContainerWeb(self._network, self._cluster, pod))
        if item is None:
            return around
        tree: JSONObject = orjson.loads(item.body)
        container: JSONObject = next((c for c in tree["spec"]["containers"] if c["name"] == request.container), {})
        return replace(around, files={**around.files, **config_files(self._store, tree, container)})

    async def _everything(self, streams: ProcessStreams) -> bytes:
        data = b""
        while len(data) < 1 << 20 and (part := await streams.read()):
            data += part
        return data

    async def _forever(self, streams: ProcessStreams) -> None:
        while await streams.read():
            continue


def _lines(text: str, tty: bool) -> bytes:
    return text.replace("\n", "\r\n").encode() if tty else text.encode()
