"""Supervision of child processes: it goes on whatever fails in it."""

import asyncio
import errno
import os
import resource
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from karmada.standalone.children import Child, ChildFailed, Ready

pytestmark = pytest.mark.tools


@asynccontextmanager
async def supervised(
    folder: Path, restarted: Callable[[Ready], None], notice: Callable[[str], None] = lambda text: None
) -> AsyncIterator[Child]:
    child = Child("child", ["tests.standalone.child"], folder / "child.log", restarted, notice=notice)
    await child.start()
    try:
        async with asyncio.timeout(60):
            yield child
    finally:
        await child.stop()


async def killed(child: Child, by: signal.Signals = signal.SIGKILL) -> None:
    """Kill it and wait until it is back and everybody knows."""
    assert child.pid is not None
    back = asyncio.ensure_future(child.restarted())
    await asyncio.sleep(0)
    os.kill(child.pid, by)
    await back


@pytest.mark.parametrize(
    ("by", "how", "last"),
    [
        (signal.SIGKILL, "was killed by SIGKILL", ["line 3 of {}", "line 4 of {}", "line 5 of {}"]),
        (signal.SIGSEGV, "was killed by SIGSEGV", ["line 3 of {}", "line 4 of {}", "line 5 of {}"]),
        (signal.SIGUSR1, "ended with exit code 7", ["line 4 of {}", "line 5 of {}", "no way to go on"]),
    ],
    ids=["killed", "crashed", "ended by itself"],
)
async def test_who_died_how_how_often_and_its_last_lines_are_reported(
    tmp_path: Path, by: signal.Signals, how: str, last: list[str]
) -> None:
    notices: list[str] = []
    pids: list[int] = []
    async with supervised(tmp_path, lambda ready: None, notices.append) as child:
        for _ in range(2):
            pids.append(child.pid or 0)
            await killed(child, by)
        pids.append(child.pid or 0)
    lines = ["".join(f"\n  {line.format(pid)}" for line in last) for pid in pids[:2]]
    assert notices == [
        f"process {pids[0]} of the child {how}; its last lines:{lines[0]}",
        f"restarted the child (process {pids[1]}): restart 1",
        f"process {pids[1]} of the child {how}; its last lines:{lines[1]}",
        f"restarted the child (process {pids[2]}): restart 2",
    ]
    log = (tmp_path / "child.log").read_text()
    assert [log.find(f"supervisor: {notice}\n") >= 0 for notice in notices] == [True] * 4


async def test_a_restart_that_cannot_be_announced_is_announced_again(tmp_path: Path) -> None:
    attempts: list[Ready] = []

    def restarted(ready: Ready) -> None:
        attempts.append(ready)
        if len(attempts) in (1, 2):
            raise OSError(errno.ENOSPC, "No space left on device", "kubeconfig")

    notices: list[str] = []
    async with supervised(tmp_path, restarted, notices.append) as child:
        await killed(child)
        await killed(child)
        assert child.pid == attempts[-1]["pid"]
    assert [ready["pid"] for ready in attempts[:3]] == [attempts[0]["pid"]] * 3
    assert len(attempts) == 4
    assert any(notice.endswith("kubeconfig: No space left on device") for notice in notices)


async def test_a_child_that_dies_before_its_restart_was_announced_is_restarted(tmp_path: Path) -> None:
    failed = asyncio.Event()
    pids: list[int] = []

    def restarted(ready: Ready) -> None:
        pids.append(ready["pid"])
        if len(set(pids)) == 1:
            failed.set()
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    async with supervised(tmp_path, restarted) as child:
        back = asyncio.ensure_future(child.restarted())
        await asyncio.sleep(0)
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        await failed.wait()
        os.kill(pids[-1], signal.SIGKILL)
        await back
        assert child.pid == pids[-1]
        assert len(set(pids)) == 2


async def test_without_descriptors_a_child_is_restarted_as_soon_as_there_are_some(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    refused = asyncio.Event()

    def notice(text: str) -> None:
        if "cannot be started" in text:
            refused.set()

    async with supervised(tmp_path, lambda ready: None, notice) as child:
        before = len(os.listdir("/proc/self/fd"))
        back = asyncio.ensure_future(child.restarted())
        await asyncio.sleep(0)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
        try:
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)
            await refused.wait()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        await back
        assert child.pid is not None
        assert len(os.listdir("/proc/self/fd")) <= before + 1


async def test_a_child_that_cannot_be_started_at_all_is_reported_in_a_sentence(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    child = Child("child", ["tests.standalone.child"], tmp_path / "child.log")
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        with pytest.raises(ChildFailed, match=r"the child cannot be started: .*Too many open files"):
            await child.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
