"""How a long-running program runs: fast event loop, tuned collector, logs, an orderly end on SIGTERM.

The first SIGTERM or SIGINT cancels the program's main function, which then has `GRACE` seconds to clean up; a second
one ends the process at once.
"""

import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from karmada.machinery.os_errors import spelled

log = logging.getLogger(__name__)

GRACE = 30.0
SWITCH = 0.001
"""Seconds after which a busy event loop lets another thread have the interpreter: a commit waits for no more."""
COLLECTOR = (100_000, 50, 100)
"""Thresholds of the collector: caches are large and free of cycles, so looking through them often is wasted time."""


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What mallopt calls them."""
LARGE = 4 << 20
"""Bytes from which on a block has pages of its own, which go back to the system when it is freed. A list of 500 objects
has less: fresh pages for each cost more than half of the whole answer."""
SPARE = 16 << 20
"""Free bytes at the end of the heap that are kept for what comes next."""
RELEASE = 60.0
"""Seconds from one time that free memory is given back to the next; that takes a few milliseconds."""


class CannotRun(Exception):
    """The program cannot do its work: one sentence for people, with the remedy."""


@contextlib.contextmanager
def serving(host: str, port: int, flag: str) -> Iterator[None]:
    """Turns the failure to serve on an address into a sentence that names the flag to change."""
    try:
        yield
    except (OSError, OverflowError) as error:
        raise CannotRun(f"cannot serve on {host}:{port}: {spelled(error)}; choose another port with {flag}") from error


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> int:
    """Run a program until it ends by itself, by a signal or by a failure; its exit code."""
    tune_memory()
    sys.setswitchinterval(SWITCH)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_supervised(main))


def tune_memory() -> None:
    """Set the collector and the allocator for a program that serves for weeks, and calls `release_memory` at times."""
    gc.set_threshold(*COLLECTOR)
    gc.freeze()
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # Only glibc has it.
        mallopt(_MMAP_THRESHOLD, LARGE)
        mallopt(_TRIM_THRESHOLD, SPARE)


def release_memory() -> None:
    """Give free pages back to the system.

    glibc keeps blocks that were freed in the middle of its heap, where small ones that stay keep them from going by
    themselves: after 30,000 hostile requests 46 of 59 MB were free and the process's still.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # Only glibc has it.
        trim(0)


async def _release_at_intervals() -> None:
    while True:
        await asyncio.sleep(RELEASE)
        await asyncio.to_thread(release_memory)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _supervised(main: Callable[[], Coroutine[Any, Any, None]]) -> int:
    task = asyncio.ensure_future(main())
    stopping = asyncio.Event()

    def stop(name: str) -> None:
        if stopping.is_set():
            os._exit(130)
        log.info("%s: stopping", name)
        stopping.set()
        task.cancel()

    def trouble(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if stopping.is_set() and isinstance(error, (RuntimeError, ConnectionError)):
            # TLS connections that were cut in the middle of an answer: cutting them was the point.
            log.debug("while stopping: %s", error)
        else:
            log.error("%s", context.get("message"), exc_info=error)

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(trouble)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number.name)
    signalled = asyncio.ensure_future(stopping.wait())
    releasing = asyncio.ensure_future(_release_at_intervals())
    try:
        await asyncio.wait({task, signalled}, return_when=asyncio.FIRST_COMPLETED)
        if stopping.is_set():
            await asyncio.wait({task}, timeout=GRACE)
        return _exit_code(task)
    finally:
        signalled.cancel()
        releasing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await signalled
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _exit_code(task: "asyncio.Future[None]") -> int:
    if not task.done():
        log.error("the program did not end within %g s", GRACE)
        return 1
    if task.cancelled() or task.exception() is None:
        return 0
    if isinstance(failure := task.exception(), CannotRun):
        sys.stderr.write(f"error: {failure}\n")
    else:
        log.error("the program failed", exc_info=failure)
    return 1
