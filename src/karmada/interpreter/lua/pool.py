"""Workers that run scripts, and the limits of a call.

A worker runs one call at a time. One that does not answer within the limit, breaks off or is out of memory is killed
and replaced when the next call needs it; the caller gets a typed failure, never a wait beyond the limit. Scripts that
have run into the limit before share a single worker, so that they cannot take all of them away from the others.

A pool belongs to the event loop it is first used on. Nothing is started before the first call.
"""

import asyncio
import contextlib
import hashlib
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson

from karmada.interpreter.lua.protocol import LARGEST_ANSWER, LENGTH, WITH_PRIORITY, ErrorClass, Result, frame
from karmada.interpreter.model import InterpretError, Unavailable
from karmada.machinery.os_errors import spelled

Spawn = Callable[[int, Sequence[str]], "subprocess.Popen[bytes]"]
"""Starts a worker, given the descriptor of its connection and its options."""


class ScriptError(InterpretError):
    """A script failed; `error_class` says how."""

    def __init__(self, error_class: ErrorClass, message: str) -> None:
        self.error_class = error_class
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one pool. A call may also use 64 MiB of memory and three seconds of processor time."""

    workers: int = 2
    call_seconds: float = 1.0
    start_seconds: float = 20.0
    scripts: int = 256
    """A worker that has seen this many is replaced, as scripts come and go with customisations."""
    stop_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Script:
    """A script, the key by which workers remember it, and the customisation it is from."""

    text: str
    key: str
    source: str = ""

    @staticmethod
    def of(text: str, source: str = "") -> "Script":
        return Script(text, hashlib.sha256(text.encode()).hexdigest()[:32], source)


class Pool:
    """Runs functions of scripts."""

    def __init__(
        self, limits: Limits | None = None, *, with_priority: bool = False, spawn: "Spawn | None" = None
    ) -> None:
        self._limits = limits = limits or Limits()
        self._spawn = spawn or _spawn
        self._options = [WITH_PRIORITY] if with_priority else []
        self._free: list[_Worker] = []
        self._slots = asyncio.Semaphore(limits.workers)
        self._suspect_slot = asyncio.Semaphore(1)
        self._suspects: set[str] = set()
        self._closed = False

    async def call(
        self, script: Script, names: Sequence[str], arguments: Sequence[Any], references: int, result: Result
    ) -> Any:
        """What the first of the named functions that the script defines returns."""
        if script.key not in self._suspects:
            async with self._slots:
                return await self._run(script, names, arguments, references, result)
        async with self._suspect_slot, self._slots:
            return await self._run(script, names, arguments, references, result)

    @property
    def idle(self) -> list[int]:
        """Process ids of workers that wait for a call."""
        return [worker.pid for worker in self._free if worker.is_connected]

    async def close(self) -> None:
        """Stop all workers; those of calls under way once these are done."""
        self._closed = True
        workers, self._free = self._free, []
        for worker in workers:
            await worker.stop()

    async def _run(
        self, script: Script, names: Sequence[str], arguments: Sequence[Any], references: int, result: Result
    ) -> Any:
        async with self._worker() as worker:
            if script.key not in worker.scripts:
                await self._ask(worker, [script.key, script.text], self._limits.start_seconds, script)
                worker.scripts.add(script.key)
            request = [script.key, names, arguments, references, result]
            outcome = await self._ask(worker, request, self._limits.call_seconds, script)
            if not _is_valid(outcome, result):
                worker.is_fit = False
                raise ScriptError(ErrorClass.RUNTIME, "the script's worker gave no valid answer")
            return outcome

    async def _ask(self, worker: "_Worker", request: list[Any], seconds: float, script: Script) -> Any:
        """The answer of a worker, which is fit for more unless it gave none or ran out of memory."""
        message = _encode(request)
        worker.is_fit = False
        try:
            async with asyncio.timeout(seconds):
                answer = await worker.ask(message)
        except TimeoutError:
            self._suspects.add(script.key)
            raise ScriptError(ErrorClass.TIMEOUT, f"the script ran for longer than {seconds:g}s") from None
        except ConnectionError as error:
            raise ScriptError(ErrorClass.RUNTIME, "the script ended its worker") from error
        match answer:
            case ["", outcome]:
                worker.is_fit = len(worker.scripts) < self._limits.scripts
                return outcome
            case [str(error_class), str(text)] if error_class in ErrorClass.__members__.values():
                worker.is_fit = error_class != ErrorClass.MEMORY
                raise ScriptError(ErrorClass(error_class), text)
        raise ScriptError(ErrorClass.RUNTIME, "the script's worker gave no valid answer")

    @contextlib.asynccontextmanager
    async def _worker(self) -> AsyncIterator["_Worker"]:
        """A worker for one call; it is only used again if the call says that it is fit."""
        if self._closed:
            raise Unavailable("scripts cannot be run any more: their workers have been stopped")
        worker = await self._take()
        try:
            yield worker
        finally:
            if worker.is_fit and not self._closed:
                self._free.append(worker)
            else:
                await asyncio.shield(worker.stop())

    async def _take(self) -> "_Worker":
        while self._free:
            worker = self._free.pop()
            if worker.is_connected:
                return worker
            await worker.stop()
        try:
            async with asyncio.timeout(self._limits.start_seconds):
                return await _Worker.start(self._spawn, self._options, self._limits.stop_seconds)
        except (OSError, TimeoutError) as error:
            raise Unavailable(f"no worker for scripts could be started: {spelled(error)}") from error


class _Worker(asyncio.Protocol):
    """One process and the socket to it."""

    def __init__(self, process: "subprocess.Popen[bytes]", stop_seconds: float) -> None:
        self.scripts: set[str] = set()
        self.is_fit = True
        self._process = process
        self._stop_seconds = stop_seconds
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._waiting: asyncio.Future[Any] | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_connected(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @staticmethod
    async def start(spawn: "Spawn", options: Sequence[str], stop_seconds: float) -> "_Worker":
        ours, theirs = socket.socketpair()
        with theirs:
            process = spawn(theirs.fileno(), options)
        worker = _Worker(process, stop_seconds)
        try:
            ours.setblocking(False)
            ready = worker._expect()
            await asyncio.get_running_loop().create_unix_connection(lambda: worker, sock=ours)
            await ready
        except BaseException:
            ours.close()
            await asyncio.shield(worker.stop())
            raise
        return worker

    async def ask(self, request: bytes) -> Any:
        answer = self._expect()
        if self._transport is None or not self.is_connected:
            raise ConnectionResetError("the worker is gone")
        self._transport.write(frame(request))
        return await answer

    async def stop(self) -> None:
        """End the process and wait until it is gone."""
        if self._transport is not None:
            self._transport.abort()
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self._process.wait, self._stop_seconds)

    def _expect(self) -> "asyncio.Future[Any]":
        self._waiting = asyncio.get_running_loop().create_future()
        return self._waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every event loop derives its transports from asyncio's class.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) < LENGTH.size:
            return
        (size,) = LENGTH.unpack_from(self._received)
        if size > LARGEST_ANSWER:
            self._fail(ConnectionAbortedError("the worker's answer is too large"))
        elif len(self._received) == LENGTH.size + size:
            answer, self._received = orjson.loads(memoryview(self._received)[LENGTH.size :]), bytearray()
            if self._waiting is not None and not self._waiting.done():
                self._waiting.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionResetError("the worker is gone"))

    def _fail(self, error: Exception) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)


def _spawn(connection: int, options: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start a worker. Never in a helper thread: it dies with the thread that started it. Takes about a millisecond."""
    return subprocess.Popen(
        [sys.executable, "-I", "-m", "karmada.interpreter.lua.worker", str(connection), *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[connection],
        cwd="/",
        env={},
    )


def _is_valid(outcome: Any, result: Result) -> bool:
    """A worker runs code of strangers, so what it says is not taken on trust either."""
    match result:
        case Result.REPLICAS:
            is_pair = isinstance(outcome, list) and len(outcome) == 2
            return is_pair and isinstance(outcome[0], int) and isinstance(outcome[1], dict | list | None)
        case Result.BOOLEAN:
            return isinstance(outcome, bool)
        case Result.TABLE:
            return isinstance(outcome, dict | list)
    return isinstance(outcome, dict | list | None)


def _encode(request: list[Any]) -> bytes:
    try:
        return orjson.dumps(request)
    except orjson.JSONEncodeError as error:
        raise InterpretError(f"the resource cannot be given to a script: {error}") from error
