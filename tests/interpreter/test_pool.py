"""Workers: started when needed, shared, replaced, and never in the way of others."""

import asyncio
import os
import signal
from typing import Any

import pytest
import uvloop

from karmada.interpreter.lua.pool import Limits, Pool, Script, ScriptError
from karmada.interpreter.lua.protocol import Result
from karmada.interpreter.model import Unavailable

GOOD = Script.of("function GetReplicas(obj) return obj.n end")
ENDLESS = Script.of("function GetReplicas(obj) while true do end end")


async def call(pool: Pool, script: Script, n: int = 1) -> Any:
    return await pool.call(script, ["GetReplicas"], [{"n": n}], 0, Result.REPLICAS)


async def test_no_worker_before_the_first_call_and_one_for_calls_in_turn() -> None:
    pool = Pool()
    assert pool.idle == []
    for n in range(5):
        assert await call(pool, GOOD, n) == [n, None]
    assert len(pool.idle) == 1
    await pool.close()


async def test_calls_at_the_same_time_get_their_own_answers() -> None:
    pool = Pool(Limits(workers=2, call_seconds=30))
    answers = await asyncio.gather(*(call(pool, GOOD, n) for n in range(40)))
    assert answers == [[n, None] for n in range(40)]
    assert len(pool.idle) == 2
    await pool.close()


async def test_other_calls_go_on_while_one_runs_into_its_limit() -> None:
    pool = Pool(Limits(workers=2, call_seconds=2))
    await asyncio.gather(call(pool, GOOD), call(pool, GOOD))
    endless = asyncio.ensure_future(call(pool, ENDLESS))
    for n in range(50):
        assert await call(pool, GOOD, n) == [n, None]
    assert not endless.done()
    with pytest.raises(ScriptError, match="longer than 2s"):
        await endless
    await pool.close()


async def test_scripts_that_ran_into_the_limit_leave_a_worker_to_the_others() -> None:
    pool = Pool(Limits(workers=2, call_seconds=1))
    with pytest.raises(ScriptError):
        await call(pool, ENDLESS)
    endless = [asyncio.ensure_future(call(pool, ENDLESS)) for _ in range(3)]
    await asyncio.sleep(0)
    assert await call(pool, GOOD, 7) == [7, None]
    assert not any(one.done() for one in endless)
    for one in endless:
        one.cancel()
    await asyncio.gather(*endless, return_exceptions=True)
    await pool.close()


async def test_worker_that_is_killed_from_outside_is_replaced() -> None:
    pool = Pool(Limits(workers=1, call_seconds=30))
    await call(pool, GOOD)
    (pid,) = pool.idle
    os.kill(pid, signal.SIGKILL)
    # Whether the call that finds the worker dead is lost depends on who notices first; the next one is not.
    await asyncio.gather(call(pool, GOOD), return_exceptions=True)
    assert await call(pool, GOOD, 4) == [4, None]
    await pool.close()


async def test_cancelled_call_does_not_leave_its_answer_to_the_next() -> None:
    pool = Pool(Limits(workers=1, call_seconds=30))
    await call(pool, GOOD)
    cancelled = asyncio.ensure_future(call(pool, GOOD, 1))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    assert await call(pool, GOOD, 2) == [2, None]
    await pool.close()


async def test_worker_that_has_seen_many_scripts_is_replaced() -> None:
    pool = Pool(Limits(workers=1, call_seconds=30, scripts=3))
    pids = set()
    for number in range(7):
        assert await call(pool, Script.of(f"function GetReplicas(obj) return {number} end")) == [number, None]
        pids.update(pool.idle)
    assert len(pids) == 3
    await pool.close()


def test_pool_works_on_the_event_loop_of_the_product() -> None:
    async def use() -> None:
        pool = Pool(Limits(workers=1, call_seconds=2))
        assert await call(pool, GOOD, 3) == [3, None]
        with pytest.raises(ScriptError):
            await call(pool, ENDLESS)
        assert await call(pool, GOOD, 4) == [4, None]
        await pool.close()

    uvloop.run(use())


async def test_closed_pool_says_so() -> None:
    pool = Pool()
    await call(pool, GOOD)
    (pid,) = pool.idle
    await pool.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(Unavailable, match="stopped"):
        await call(pool, GOOD)


def children() -> set[str]:
    """The processes that this one has started and that are not gone."""
    return {pid for thread in os.listdir("/proc/self/task") for pid in _children_of(thread)}


def _children_of(thread: str) -> list[str]:
    with open(f"/proc/self/task/{thread}/children") as file:
        return file.read().split()


async def test_a_worker_that_does_not_start_in_time_is_ended_and_named() -> None:
    before = children()
    pool = Pool(Limits(start_seconds=0.0))
    with pytest.raises(Unavailable, match="no worker for scripts could be started"):
        await call(pool, GOOD)
    assert children() <= before
    await pool.close()


async def test_a_call_whose_worker_is_killed_does_not_wait_for_its_limit() -> None:
    pool = Pool(Limits(workers=1, call_seconds=600))
    await call(pool, GOOD)
    (pid,) = pool.idle
    endless = asyncio.ensure_future(call(pool, ENDLESS))
    await asyncio.sleep(0)
    assert pool.idle == []
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(ScriptError, match="the script ended its worker"):
        await endless
    assert await call(pool, GOOD, 5) == [5, None]
    await pool.close()
    assert str(pid) not in children()


async def test_an_answer_may_be_large_and_come_in_parts() -> None:
    pool = Pool(Limits(workers=1, call_seconds=60))
    script = Script.of("function F(obj) local s = 'a' for i = 1, 20 do s = s .. s end return {s = s} end")
    found = await pool.call(script, ["F"], [{}], 0, Result.TABLE)
    assert found == {"s": "a" * 2**20}
    await pool.close()


@pytest.mark.parametrize("asked", [None, False, True])
async def test_workers_name_the_priority_class_if_their_pool_is_asked_to(asked: bool | None) -> None:
    pool = Pool(Limits(workers=1, call_seconds=60), **({} if asked is None else {"with_priority": asked}))
    script = Script.of('function F(pod) return 1, require("kube").accuratePodRequirements(pod) end')
    pod = {"spec": {"priorityClassName": "high", "nodeSelector": {"a": "b"}}}
    _, needs = await pool.call(script, ["F"], [pod], 0, Result.REPLICAS)
    assert needs.get("priorityClassName") == ("high" if asked else None)
    await pool.close()


async def test_a_pool_has_two_workers_unless_it_is_told_otherwise() -> None:
    pool = Pool(Limits(call_seconds=60))
    await asyncio.gather(*(call(pool, GOOD, n) for n in range(8)))
    assert len(pool.idle) == 2
    await pool.close()


async def test_a_worker_is_used_for_256_scripts_unless_it_is_told_otherwise() -> None:
    pool = Pool(Limits(workers=1, call_seconds=60))
    seen = set()
    for number in range(255):
        await call(pool, Script.of(f"function GetReplicas(obj) return {number} end"))
        seen.update(pool.idle)
    assert len(seen) == len(pool.idle) == 1
    await call(pool, GOOD)
    assert pool.idle == []
    await pool.close()
