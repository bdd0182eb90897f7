import asyncio

import pytest

from karmada.machinery.httpserver.pacing import Pacer


@pytest.mark.parametrize(
    ("streams", "since"),
    [pytest.param(5, 0.0, id="few streams"), pytest.param(100, 1.0, id="a stream that was quiet")],
)
async def test_nothing_is_delayed_without_need(streams, since):
    pacer = Pacer(asyncio.get_running_loop())
    pacer.streams = streams
    task = asyncio.create_task(pacer.after_write(10.0 - since, 10.0, bool))
    await asyncio.sleep(0)
    assert task.done()


async def test_busy_streams_among_many_wait_for_one_beat():
    pacer = Pacer(asyncio.get_running_loop())
    pacer.streams = 100
    tasks = [asyncio.create_task(pacer.after_write(10.0, 10.001, bool)) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in tasks)
    tasks[0].cancel()
    await asyncio.wait_for(asyncio.gather(*tasks[1:]), 10)


async def test_a_busy_stream_writes_at_every_beat_until_nothing_has_gathered():
    pacer = Pacer(asyncio.get_running_loop())
    pacer.streams = 100
    gathered = [b"one", b"two"]
    written = []

    def flush() -> bool:
        written.append(gathered.pop(0) if gathered else b"")
        return bool(written[-1])

    await asyncio.wait_for(pacer.after_write(10.0, 10.001, flush), 10)
    assert written == [b"one", b"two", b""]


async def test_a_stream_that_cannot_be_flushed_fails_alone():
    pacer = Pacer(asyncio.get_running_loop())
    pacer.streams = 100

    def broken() -> bool:
        raise ConnectionError("gone")

    waits = [pacer.after_write(10.0, 10.001, flush) for flush in (broken, bool)]
    failed, fine = await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), 10)
    assert isinstance(failed, ConnectionError)
    assert fine is None
