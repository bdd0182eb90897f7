"""What a request costs grows with its size only, and others are served meanwhile."""

import asyncio
import gc
import time

import pytest
from tests.fuzz.attacks import ATTACKS, Attack, setup
from tests.fuzz.server import Server, request, serving, status

CPU = 8.0
"""Seconds of the processor: several times what the slowest one takes, a fraction of what any of them took before."""
STALL = 0.6
"""Seconds without a turn of the loop: the rule is 0.2, which `make fuzz` holds; tests share their processor."""
ANSWER = 8 * 1024 * 1024


async def _cost(server: Server, data: bytes) -> tuple[bytes, float]:
    gc.collect()
    gc.freeze()  # what other tests have left in this process is not the server's to collect
    try:
        server.stall, began = 0.0, time.process_time()
        answer = await server.send(data)
        return answer, time.process_time() - began
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
async def test_a_hostile_request_is_cheap(attack: Attack) -> None:
    async with serving() as server:
        for prepared in setup():
            assert status(await server.send(prepared)) == 201
        await _cost(server, attack.build(10))  # compiles what is needed
        answer, seconds = await _cost(server, attack.build(attack.size))
        assert 200 <= status(answer) < 500
        assert len(answer) < ANSWER
        assert seconds < CPU
        assert server.stall < STALL


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
