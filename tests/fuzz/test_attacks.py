"""What a request costs grows with its size only, and others are served meanwhile."""

import asyncio
import gc
import sys
import time
from collections.abc import AsyncIterator
from types import FrameType
from typing import Any

import pytest
import pytest_asyncio
from tests.fuzz.attacks import ATTACKS, Attack, setup
from tests.fuzz.server import Server, request, serving, status

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("what_is_older_is_kept")]

CPU = 8.0
"""Seconds of the processor: several times what the slowest one takes, a fraction of what any of them took before."""
TRIES = 3
"""Measurements before a figure is believed: others may take the processor away in the midst of one."""
STALL = 0.6
"""Seconds without a turn of the loop: the rule is 0.2, which `make fuzz` holds; tests share their processor."""
ANSWER = 8 * 1024 * 1024


async def _cost(server: Server, data: bytes, exact: bool = False) -> tuple[bytes, float]:
    """An answer and what it took of the processor; exact about stalls, the loop spins and counts too."""
    gc.collect()
    server.stall, began = 0.0, time.process_time()
    answer = await server.send(data, exact=exact)
    return answer, time.process_time() - began


async def check(server: Server, attack: Attack, limit: float = CPU) -> None:
    """A request may neither cost too much nor hold up others; a machine in a bad moment is asked again."""
    await _cost(server, attack.build(10))  # compiles what is needed
    data = attack.build(attack.size)
    answer, seconds = await _cost(server, data)
    assert 200 <= status(answer) < 500
    assert len(answer) < ANSWER
    tries = 1
    while seconds >= limit and tries < TRIES:
        _, seconds = await _cost(server, data)
        tries += 1
    assert seconds < limit
    tries = 0
    while server.stall >= STALL and tries < TRIES:  # all turns together: which of them was the longest?
        await _cost(server, data, exact=True)
        tries += 1
    assert server.stall < STALL


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def server() -> AsyncIterator[Server]:
    """One for all attacks, which are dry runs."""
    async with serving() as made:
        for prepared in setup():
            assert status(await made.send(prepared)) == 201
        yield made


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
async def test_a_hostile_request_is_cheap(server: Server, attack: Attack) -> None:
    await check(server, attack)


class Slow(Server):
    """A server that needs a while in a thread for every request."""

    async def send(self, *portions: bytes, exact: bool = True) -> bytes:
        await asyncio.to_thread(_work)
        return await super().send(*portions, exact=exact)


def _work() -> None:
    began = time.thread_time()
    while time.thread_time() < began + 0.2:
        pass


async def test_a_request_that_costs_too_much_is_noticed(server: Server) -> None:
    slow = Slow(server.api, server.http, server.handler)
    attack = Attack("long", 4000, lambda n: request("GET", f"/healthz?{'x' * n}"))
    with pytest.raises(AssertionError, match=r"< 0\.1"):
        await check(slow, attack, limit=0.1)


async def test_each_requirement_of_a_selector_is_looked_at_a_fixed_number_of_times(server: Server) -> None:
    """Lines that are executed, at two sizes that the loop handles itself: the square would be four times as many."""
    attack = next(attack for attack in ATTACKS if attack.name == "label-requirements")
    small, large = [await _lines(server, attack.build(size)) for size in (150, 300)]
    assert small > 150
    assert large < 3 * small


async def _lines(server: Server, data: bytes) -> int:
    """Lines of the product that this thread executes for a request."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_globals.get("__name__", "").startswith("karmada."):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert status(await server.send(data, exact=False)) == 200
    finally:
        sys.settrace(before)
    return count


async def test_warnings_fit_into_the_headers_that_clients_read() -> None:
    attack = next(attack for attack in ATTACKS if attack.name == "unknown-fields")
    async with serving() as server:
        head, _, _ = (await server.send(attack.build(5000))).partition(b"\r\n\r\n")
    assert status(head) == 201
    assert 10 < head.count(b"\r\nWarning: ") <= 100
    assert len(head) < 16 * 1024


async def test_of_many_unknown_fields_the_first_hundred_are_named() -> None:
    attack = next(attack for attack in ATTACKS if attack.name == "unknown-strict")
    async with serving() as server:
        answer = await server.send(attack.build(5000))
    assert status(answer) == 400
    assert answer.count(b"unknown field") == 100
    assert b'\\"u99\\"' in answer
    assert b'\\"u100\\"' not in answer


async def test_others_are_served_while_a_large_body_is_read() -> None:
    attack = next(attack for attack in ATTACKS if attack.name == "yaml-flow")
    async with serving() as server:
        large = asyncio.create_task(server.send(attack.build(300_000)))
        answered = 0
        while not large.done():
            assert status(await server.send(request("GET", "/healthz"))) == 200
            answered += 1
    assert answered > 10


@pytest.mark.parametrize("header", ["Impersonate-User", "Impersonate-Group"])
async def test_a_header_that_is_no_utf8_is_refused_with_a_status(header: str) -> None:
    data = request("GET", "/api/v1/pods", token="").replace(
        b"Authorization: Bearer ", f"{header}: ".encode() + b"x\xff"
    )
    async with serving() as server:
        answer = await server.send(data)
    assert 400 <= status(answer) < 500
    assert b'"kind":"Status"' in answer
