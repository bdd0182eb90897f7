"""Our own programs beside the stock ones: each a process with a certificate and rights of its own."""

import asyncio
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from karmada.testing.stage.daemon import Daemon, Ended, free_port
from karmada.testing.stage.servers import HOST

PATIENCE = 90.0
PAUSE = 1.0
_BUSY = re.compile(r"^(?:workqueue_depth|controller_runtime_active_workers)\{.*\} (\S+)$", re.MULTILINE)


def console(program: str) -> Path:
    """An installed program of this distribution."""
    return Path(sys.executable).with_name(program)


class Component(Daemon):
    """One replica of a component, reached through its diagnostics server."""

    def __init__(
        self,
        program: str,
        access: Path,
        log: Path,
        flags: Sequence[str],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.program = program
        self.access = access
        self.port = free_port()
        address = [f"--health-probe-bind-address={HOST}:{self.port}", "--metrics-bind-address=0"]
        command: list[str | Path] = [console(program), f"--kubeconfig={access}", *address, *flags]
        super().__init__(program, command, log, environment)
        self.restarts = 0
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start it; from now on it is started again whenever it ends by itself, as a kubelet does."""
        await super().start()
        self._keeper = asyncio.create_task(self._keep(), name=f"keep {self.name}")

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it for good; the exit code."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        return await super().end(number)

    async def _keep(self) -> None:
        while True:
            await self.ended()
            self.restarts += 1
            await asyncio.sleep(PAUSE)
            await super().start()

    async def healthy(self) -> None:
        """Wait until it says so."""
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    try:
                        await self.page("/healthz")
                    except OSError:
                        await asyncio.sleep(0.1)
                    else:
                        return
        except TimeoutError:
            raise Ended(f"{self.name} did not become healthy:\n{self.tail}") from None

    async def page(self, path: str) -> str:
        """A page of its diagnostics server."""
        reader, writer = await asyncio.open_connection(HOST, self.port)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            status, _, body = (await reader.read()).decode().partition("\r\n")
        finally:
            writer.close()
        if status != "HTTP/1.1 200 OK":
            raise ConnectionError(f"{self.name}{path}: {status}")
        return body

    async def idle(self) -> bool:
        """Whether every controller has worked its queue off."""
        waiting = _BUSY.findall(await self.page("/metrics"))
        return bool(waiting) and not any(map(float, waiting))
