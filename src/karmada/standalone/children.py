"""A child process that is started, waited for, restarted with backoff, and never left behind.

A child says that it is ready by writing one line of JSON to the descriptor it is given. It dies with its parent: the
kernel sends it SIGTERM when the supervising process goes, however that goes. What it prints goes through the parent
into a log of bounded size. Supervision ends by `stop` only: whatever fails in it is logged and tried again.
"""

import asyncio
import contextlib
import ctypes
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from karmada.machinery.os_errors import spelled
from karmada.standalone.logfile import LogFile

GRACE = 15.0
BACKOFF = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
STEADY = 60.0
"""Seconds after which a child counts as healthy and its backoff starts anew."""
LAST_LINES = 3
"""Of what a process said before it died."""
LAST_BYTES = 4096
"""In which they are looked for."""
_PR_SET_PDEATHSIG = 1
_SIGNALS = frozenset(int(number) for number in signal.Signals)
_REASON = re.compile(r"(?:error|karmada\.[\w.]+|OSError|\w+Error): (.+)")
Ready = dict[str, Any]


class ChildFailed(Exception):
    """A child ended before it was ready; the message has the end of its log."""


def report_ready(descriptor: int, **facts: Any) -> None:
    """Called in a child: say that it is ready."""
    if descriptor >= 0:
        os.write(descriptor, json.dumps(facts).encode() + b"\n")
        os.close(descriptor)


class Child:
    """One supervised process."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        log: Path,
        restarted: Callable[[Ready], None] = lambda ready: None,
        *,
        reports: bool = True,
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`reports`: whether it says when it is ready; one that does not counts as ready once it runs.

        `notice` is called when it died, how, and when it is back; its log has the same lines.
        """
        self._notice = notice
        self.name = name
        self._reports = reports
        self._arguments = list(arguments)
        self._log = LogFile(log)
        self._listener: asyncio.Task[None] | None = None
        self._output = b""
        """The end of what the present process said: its log also has what others said, and reports about it."""
        self._on_restart = restarted
        self._back = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._stopping = False
        self.restarts = 0

    @property
    def pid(self) -> int | None:
        """The process id, while it runs."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self, timeout: float = 60.0) -> Ready:
        """Start it and wait until it is ready; from then on it is restarted when it dies."""
        ready = await self._spawn(timeout)
        self._watcher = asyncio.create_task(self._watch(), name=f"watch {self.name}")
        return ready

    async def restarted(self) -> None:
        """Wait until it was restarted once more."""
        await self._back.wait()

    async def stop(self) -> None:
        """Ask it to end, insist after a while, and wait until it is gone."""
        self._stopping = True
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(GRACE):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _spawn(self, timeout: float) -> Ready:
        if self._stopping:
            raise ChildFailed(f"{self.name} is stopping")
        try:
            reader, process = await self._launch()
        except OSError as error:
            raise ChildFailed(f"the {self.name} cannot be started: {spelled(error)}") from error
        self._process = process
        self._listener = asyncio.create_task(self._listen(process.stdout), name=f"log of {self.name}")
        if not self._reports:
            os.close(reader)
            return {}
        try:
            async with asyncio.timeout(timeout):
                line = await _read_line(reader)
        except TimeoutError as error:
            process.kill()
            await process.wait()
            raise ChildFailed(f"{self.name} was not ready after {timeout:.0f} s: see {self._log.path}") from error
        if not line:
            await self._listener
            await process.wait()
            raise ChildFailed(f"the {self.name} did not start: {_reason(self._log)}")
        ready: Ready = json.loads(line)
        return ready

    async def _launch(self) -> tuple[int, asyncio.subprocess.Process]:
        """The process, and the descriptor on which it will say that it is ready."""
        reader, writer = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                *self._arguments,
                *(("--ready-descriptor", str(writer)) if self._reports else ()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                pass_fds=(writer,),
                preexec_fn=partial(_die_with_parent, os.getpid()) if sys.platform == "linux" else None,
                start_new_session=True,
            )
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        return reader, process

    async def _listen(self, output: asyncio.StreamReader | None) -> None:
        """Keep what the process prints, until it prints no more."""
        self._output = b""
        while output is not None and (piece := await output.read(1 << 16)):
            self._output = (self._output + piece)[-LAST_BYTES:]
            self._log.write(piece)

    async def _watch(self) -> None:
        attempt = 0
        loop = asyncio.get_running_loop()
        while not self._stopping:
            started = loop.time()
            assert self._process is not None
            code = await self._process.wait()
            if self._stopping:
                return
            self._report(f"process {self._process.pid} of the {self.name} {ending(code)}{await self._last_words()}")
            attempt = 0 if loop.time() - started > STEADY else attempt
            while not self._stopping:
                await asyncio.sleep(_pause(attempt))
                attempt += 1
                try:
                    ready = await self._spawn(60.0)
                except Exception as error:  # nothing that fails here may leave the child dead
                    if not self._stopping:
                        self._report(f"the {self.name} cannot be restarted: {spelled(error)}")
                else:
                    await self._announce(ready)
                    break

    def _report(self, text: str) -> None:
        """Write a line to the child's log and show it to the user; a full disk is no reason to stop."""
        with contextlib.suppress(OSError):
            self._log.write(f"supervisor: {text}\n".encode())
        with contextlib.suppress(OSError):
            self._notice(text)

    async def _last_words(self) -> str:
        """The end of what a process said before it died by itself."""
        if self._listener is not None:
            await asyncio.wait([self._listener])
        text = self._output.decode(errors="replace")
        lines = [line for line in text.splitlines() if line.strip()][-LAST_LINES:]
        return "; its last lines:" + "".join(f"\n  {line}" for line in lines) if lines else ""

    async def _announce(self, ready: Ready) -> None:
        """Say that the child is back; what fails in that is tried again for as long as the child lives."""
        assert self._process is not None
        self.restarts += 1
        attempt = 0
        while self._process.returncode is None:
            try:
                self._on_restart(ready)
            except Exception as error:
                self._report(
                    f"restarted the {self.name}, but what depends on it was not brought up to date: {spelled(error)}"
                )
            else:
                self._report(f"restarted the {self.name} (process {self.pid}): restart {self.restarts}")
                self._back.set()
                self._back = asyncio.Event()
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_pause(attempt)):
                    await self._process.wait()
            attempt += 1


def ending(code: int) -> str:
    """How a process ended, by its exit code."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}" if -code in _SIGNALS else f"was killed by signal {-code}"
    return f"ended with exit code {code}"


def _pause(attempt: int) -> float:
    return BACKOFF[min(attempt, len(BACKOFF) - 1)]


def _reason(log: LogFile) -> str:
    """Why a process ended, in one line if it gave one: `error: ...`, or an exception of ours or of the system."""
    tail = log.tail()
    reason = _REASON.match(tail.rpartition("\n")[2])
    return f"{reason.group(1)} (more in {log.path})" if reason else f"the end of {log.path}:\n{tail}"


async def _read_line(descriptor: int) -> bytes:
    """Read until a newline or the end, without a thread."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
    )
    try:
        return await reader.readline()
    finally:
        transport.close()


def _die_with_parent(parent: int) -> None:
    """Runs in the child before its program: no orphan survives a killed supervisor, not even one killed just now."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)
