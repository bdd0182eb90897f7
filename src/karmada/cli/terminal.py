"""A process in a container, connected to this terminal (or to pipes) until it ends."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import orjson

from karmada.cli import websocket
from karmada.cli.failures import CommandError
from karmada.cli.session import Session
from karmada.machinery.http.target import Target


async def run(session: Session, target: Target, path: str, *, stdin: bool, tty: bool) -> int:
    """Carry bytes both ways; the exit status of the process."""
    if tty and not session.stdin.isatty():
        session.warn("Unable to use a TTY - input is not a terminal or the right kind of file")
        tty = False
        path = path.replace("&tty=true", "")
    channels = await websocket.connect(target, path)
    sending: asyncio.Task[None] | None = None
    try:
        with _raw(session) if tty else contextlib.nullcontext():
            if tty:
                await _sizes(session, channels)
            if stdin:
                sending = asyncio.get_running_loop().create_task(_send(session, channels))
            ended = await _receive(session, channels)
    finally:
        if sending is not None:
            sending.cancel()
        await channels.close()
    return _exit_status(session, ended)


async def _receive(session: Session, channels: websocket.Channels) -> dict[str, Any]:
    ended: dict[str, Any] = {}
    async for channel, data in channels.messages():
        match channel:
            case websocket.STDOUT:
                _write(session.out, data)
            case websocket.STDERR:
                _write(session.err, data)
            case websocket.ERROR:
                with contextlib.suppress(orjson.JSONDecodeError):
                    ended = orjson.loads(data)
    return ended


def _write(stream: Any, data: bytes) -> None:
    """Bytes as they are; streams of tests take text only."""
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(data.decode("utf-8", "replace"))
        return
    stream.flush()
    buffer.write(data)
    buffer.flush()


async def _send(session: Session, channels: websocket.Channels) -> None:
    """What is typed, or comes through a pipe, until it ends."""
    if not _has_descriptor(session.stdin):
        await channels.send(websocket.STDIN, session.stdin.read().encode())
        await channels.end(websocket.STDIN)
        return
    descriptor = session.stdin.fileno()
    while True:
        await _readable(descriptor)
        data = os.read(descriptor, 65536)
        if not data:
            break
        await channels.send(websocket.STDIN, data)
    await channels.end(websocket.STDIN)


async def _readable(descriptor: int) -> None:
    """Wait for something to read without a thread: one that waits for a key could not be ended with the process."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:
        return  # a file, which never blocks
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


def _has_descriptor(stream: Any) -> bool:
    try:
        stream.fileno()
    except (OSError, AttributeError):
        return False
    return True


async def _sizes(session: Session, channels: websocket.Channels) -> None:
    """Report the size of the terminal now and whenever it changes."""

    async def report() -> None:
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(session.stdin.fileno())
            await channels.send(websocket.RESIZE, orjson.dumps({"Width": size.columns, "Height": size.lines}))

    await report()
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    def changed() -> None:
        task = loop.create_task(report())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGWINCH, changed)


@contextlib.contextmanager
def _raw(session: Session) -> Iterator[None]:
    """Every key goes to the process, and nothing is echoed here."""
    if sys.platform == "win32":
        raise CommandError("terminals are supported on Linux and macOS only: leave out -t")
    import termios
    import tty

    descriptor = session.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _exit_status(session: Session, ended: dict[str, Any]) -> int:
    if ended.get("status") in (None, "Success"):
        return 0
    for cause in (ended.get("details") or {}).get("causes") or ():
        if cause.get("reason") == "ExitCode":
            session.warn(f"command terminated with exit code {cause.get('message')}")
            return int(cause.get("message") or 1)
    raise CommandError(str(ended.get("message") or "the process could not be run"))
