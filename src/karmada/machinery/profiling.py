"""Profiles of a running process: where its event loop spends time, and what its tasks wait for.

    /debug/profile?seconds=N    stacks sampled for N seconds, folded (flame graph input); 5 by default, 30 at most
    /debug/tasks                the tasks and the line each of them waits at

One profile at a time: a second one is refused with 429. Whoever serves these pages has authorised the caller.
"""

import asyncio
import math
import sys
import threading
from collections import Counter
from typing import NamedTuple

PROFILE, TASKS = "/debug/profile", "/debug/tasks"
DEFAULT_SECONDS, LONGEST_SECONDS = 5.0, 30.0
SAMPLES_PER_SECOND = 100.0
MOST_STACKS = 20_000
"""Distinct stacks that are kept apart; the others are counted together."""
_BUSY = threading.Lock()


class ProfilePage(NamedTuple):
    """An answer in plain text."""

    body: bytes
    status: int = 200


async def page(path: str, seconds: str = "") -> ProfilePage | None:
    """The page at a path, None where there is none; `seconds` is the caller's wish, as written."""
    if path == TASKS:
        return ProfilePage(_tasks().encode())
    if path != PROFILE:
        return None
    try:
        wish = float(seconds or DEFAULT_SECONDS)
    except ValueError:
        wish = math.nan
    if not wish > 0:
        return ProfilePage(b"seconds must be a number above 0\n", 400)
    if not _BUSY.acquire(blocking=False):
        return ProfilePage(b"another profile is being taken: try again when it is done\n", 429)
    stop = threading.Event()
    sampling = asyncio.ensure_future(
        asyncio.to_thread(_sampled, threading.get_ident(), min(LONGEST_SECONDS, wish), stop)
    )
    sampling.add_done_callback(lambda done: _BUSY.release())
    try:
        stacks = await asyncio.shield(sampling)
    finally:
        stop.set()  # a caller who leaves takes the sampler along: it ends with its next sample
        await asyncio.wait([sampling])
    return ProfilePage("".join(f"{stack} {count}\n" for stack, count in stacks.most_common()).encode())


def _sampled(thread: int, seconds: float, stop: threading.Event) -> "Counter[str]":
    """Look at a thread's stack a hundred times a second."""
    stacks: Counter[str] = Counter()
    for _ in range(math.ceil(seconds * SAMPLES_PER_SECOND)):
        frame = sys._current_frames().get(thread)
        names: list[str] = []
        while frame is not None:
            names.append(f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}")
            frame = frame.f_back
        stack = ";".join(reversed(names))
        stacks[stack if stack in stacks or len(stacks) < MOST_STACKS else "other"] += 1
        if stop.wait(1 / SAMPLES_PER_SECOND):
            break
    return stacks


def _tasks() -> str:
    lines = []
    for task in asyncio.all_tasks():
        frames = task.get_stack(limit=1)
        where = f"{frames[0].f_code.co_qualname}:{frames[0].f_lineno}" if frames else "?"
        lines.append(f"{task.get_name()}\t{where}\n")
    return "".join(sorted(lines))
