"""A program of the stage: started with a log, ended with its context, and never left behind."""

import asyncio
import os
import random
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

GRACE = 15.0
PORTS = range(15000, 30000)
"""Below those that the kernel gives to outgoing connections: a server can come back to its own."""
_PR_SET_PDEATHSIG = 1


class Ended(Exception):
    """A program ended by itself; the message has the end of its log."""


def free_port() -> int:
    """A port nobody listens on."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


class Daemon:
    """One program with its arguments; it can be ended, killed and started again."""

    def __init__(
        self, name: str, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.command = list(map(str, command))
        self.log = log
        self._environment = environment
        """Of the process; that of this one if none is given."""
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """The process id, while it runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    @property
    def output(self) -> str:
        """What it logged, in all its lives."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    async def start(self) -> None:
        """Start it; whether it is ready is for others to see."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *_dying_with_parent(self.command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
            )

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, insist after a while, and wait for the end; the exit code."""
        process = self._process
        if process is None:
            return 0
        if process.returncode is None:
            process.send_signal(number)
        try:
            async with asyncio.timeout(GRACE):
                return await process.wait()
        except TimeoutError:
            process.kill()
            return await process.wait()

    async def ended(self) -> None:
        """Wait until it ends."""
        if self._process is not None:
            await self._process.wait()

    @property
    def tail(self) -> str:
        """The end of its log."""
        return "\n".join(self.output.splitlines()[-20:])

    def check(self) -> None:
        """Raise if it does not run any more."""
        if self.pid is None:
            raise Ended(f"{self.name} ended:\n{self.tail}")


_DIE_WITH_PARENT = f"""
import ctypes, os, sys
ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {int(signal.SIGTERM)})
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


def _dying_with_parent(command: list[str]) -> list[str]:
    """Not with `preexec_fn`, which forks this process: a client of gRPC in it does not survive that."""
    if sys.platform != "linux":
        return command
    return [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]
