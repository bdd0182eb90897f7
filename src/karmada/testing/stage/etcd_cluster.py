"""Three etcd members on loopback, which can be killed, stopped for a while, and come back."""

import asyncio
import os
import signal
from pathlib import Path
from types import TracebackType
from typing import Self

from karmada.testing.stage.daemon import Daemon, free_port
from karmada.testing.stage.programs import program
from karmada.testing.stage.servers import HOST, PAUSE, answers

MEMBERS = ("one", "two", "three")
PATIENCE = 60.0


class EtcdCluster:
    """Plain HTTP; elections take a fraction of a second. Writes are synced: members may be killed at once."""

    def __init__(self, folder: Path) -> None:
        peers = {name: f"http://{HOST}:{free_port()}" for name in MEMBERS}
        everyone = ",".join(f"{name}={url}" for name, url in peers.items())
        self._ports = {name: free_port() for name in MEMBERS}
        self._health = {name: free_port() for name in MEMBERS}
        self._daemons = {
            name: Daemon(
                f"etcd {name}",
                [
                    program("etcd"),
                    f"--name={name}",
                    f"--data-dir={folder}/{name}",
                    f"--listen-client-urls=http://{HOST}:{self._ports[name]}",
                    f"--advertise-client-urls=http://{HOST}:{self._ports[name]}",
                    f"--listen-peer-urls={peer}",
                    f"--initial-advertise-peer-urls={peer}",
                    f"--initial-cluster={everyone}",
                    f"--listen-metrics-urls=http://{HOST}:{self._health[name]}",
                    "--heartbeat-interval=50",
                    "--election-timeout=500",
                    "--log-level=warn",
                ],
                folder / f"{name}.log",
            )
            for name, peer in peers.items()
        }

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Where clients reach the members."""
        return tuple(f"{HOST}:{port}" for port in self._ports.values())

    async def __aenter__(self) -> Self:
        try:
            for daemon in self._daemons.values():
                await daemon.start()
            await self.healthy()
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._end()

    async def healthy(self) -> None:
        """Wait until every member serves."""
        async with asyncio.timeout(PATIENCE):
            for name, daemon in self._daemons.items():
                while not await answers(self._health[name], "/readyz"):
                    daemon.check()
                    await asyncio.sleep(PAUSE)

    async def kill(self, name: str, seconds: float) -> None:
        """Kill a member; it starts again after some time."""
        await self._daemons[name].end(signal.SIGKILL)
        await asyncio.sleep(seconds)
        await self._daemons[name].start()

    async def suspend(self, name: str, seconds: float) -> None:
        """Stop a member for some time: to the others it is cut off, and afterwards it believes what it knew before."""
        self._signal(name, signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            self._signal(name, signal.SIGCONT)

    def _signal(self, name: str, number: signal.Signals) -> None:
        pid = self._daemons[name].pid
        if pid is not None:
            os.kill(pid, number)

    async def _end(self) -> None:
        for daemon in self._daemons.values():
            await daemon.end(signal.SIGKILL)
