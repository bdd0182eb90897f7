"""Workers that scripts have taken over: they say what they like, or hang up, and are not used again."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
import uvloop
from tests.interpreter.test_pool import GOOD, call, children

from karmada.interpreter.lua.pool import Limits, Pool, ScriptError
from karmada.interpreter.lua.protocol import ErrorClass, Result
from karmada.interpreter.model import InterpretError

LIAR = """
import socket, sys
connection = socket.socket(fileno=int(sys.argv[1]))
say = lambda text: connection.sendall(len(text).to_bytes(4, "big") + text)
say(b"[]")
for answer in sys.argv[2:]:
    size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
    connection.recv(size, socket.MSG_WAITALL)
    room = 4 * 2**20 - len(answer) + 1
    say(answer.replace("*", "a" * room).replace("#", "a" * (room + 1)).encode())
"""
"""A star stands for so many letters that the answer has 4 MiB, a hash for one more."""
LIMITS = Limits(workers=1, call_seconds=20)


def lying(*answers: str) -> Pool:
    """A pool whose workers give these answers, the first to being given a script, and hang up after the last."""

    def spawn(connection: int, options: Sequence[str]) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-I", "-S", "-c", LIAR, str(connection), *answers]
        return subprocess.Popen(command, pass_fds=[connection])

    return Pool(LIMITS, spawn=spawn)


@pytest.mark.parametrize(
    "answers",
    [
        ('["", null]', '["", "three"]'),
        ('["", null]', '["", [1]]'),
        ('["", null]', '["no such class", "text"]'),
        ('["", null]', '{"a": 1}'),
        ("7",),
    ],
    ids=["no number", "no pair", "another failure", "an object", "at the script"],
)
async def test_an_answer_that_is_none_is_a_failure_and_the_worker_is_not_used_again(answers: tuple[str, ...]) -> None:
    pool = lying(*answers, *answers)
    with pytest.raises(ScriptError, match="the script's worker gave no valid answer") as failure:
        await call(pool, GOOD)
    assert failure.value.error_class is ErrorClass.RUNTIME
    assert pool.idle == []
    await pool.close()


async def test_an_answer_of_more_than_four_mebibytes_is_not_read() -> None:
    largest = lying('["", null]', '["", {"s": "*"}]')
    found = await largest.call(GOOD, ["F"], [{}], 0, Result.TABLE)
    assert set(found["s"]) == {"a"}
    await largest.close()
    larger = lying('["", null]', '["", {"s": "#"}]')
    with pytest.raises(ScriptError, match="the script ended its worker"):
        await larger.call(GOOD, ["F"], [{}], 0, Result.TABLE)
    assert larger.idle == []
    await larger.close()


def test_a_worker_that_hangs_up_is_noticed_at_once() -> None:
    async def use() -> None:
        pool = lying('["", null]')
        with pytest.raises(ScriptError, match="the script ended its worker"):
            await call(pool, GOOD)
        await pool.close()

    asyncio.run(use())
    uvloop.run(use())


async def test_a_worker_that_is_found_dead_is_buried() -> None:
    pool = Pool(LIMITS)
    await call(pool, GOOD)
    (pid,) = pool.idle
    os.kill(pid, signal.SIGKILL)
    await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    for _ in range(3):
        await asyncio.sleep(0)  # The event loop sees the end of the connection.
    assert pool.idle == []
    assert await call(pool, GOOD, 2) == [2, None]
    assert str(pid) not in children()
    await pool.close()


@pytest.mark.parametrize("value", [object(), 2**64], ids=["no JSON", "too large a number"])
async def test_a_resource_that_is_no_json_is_refused_and_the_worker_used_again(value: Any) -> None:
    pool = Pool(LIMITS)
    await call(pool, GOOD)
    before = pool.idle
    with pytest.raises(InterpretError, match="the resource cannot be given to a script"):
        await call(pool, GOOD, value)
    assert pool.idle == before
    await pool.close()
