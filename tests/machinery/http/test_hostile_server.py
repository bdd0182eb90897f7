"""A server that sends what no server may send costs its client little, and nothing else."""

import asyncio
import tracemalloc

import pytest

from karmada.machinery import limits
from karmada.machinery.client import Client
from karmada.machinery.errors import AnswerTooLarge, ApiError, BadAnswer, Timeout
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.resource import EVERYTHING
from karmada.machinery.transport import GroupVersionResource
from karmada.testing.hostile import (
    ANSWERS,
    HostileMember,
    LoopMeter,
    endless_body,
    endless_line,
    event_flood,
    redirect,
    slow_drip,
)

PODS = GroupVersionResource("", "v1", "pods")
MIB = 1024 * 1024
STALL = 0.25
"""Seconds of the loop's own work without a turn for others; the attacks took seconds."""


@pytest.fixture
def hostile():
    with HostileMember() as member:
        yield member


@pytest.fixture
async def client(hostile):
    transport = HttpTransport(Target(hostile.endpoint, identity=Identity(token=Material(b"secret"))))
    yield Client(transport, timeout=20.0)
    await transport.close()


async def follow(client):
    async with client.resource(PODS).watch() as stream:
        async for _ in stream:
            pass


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_attack_on_a_request_is_a_bad_answer(hostile, client, name):
    hostile.attack = ANSWERS[name]
    async with LoopMeter().running() as meter:
        with pytest.raises(BadAnswer):
            await client.resource(PODS).get("a", "default")
    assert hostile.attacks == 1, "it was asked again"
    assert hostile.sent < 32 * MIB
    assert meter.longest < STALL


@pytest.mark.parametrize("name", ["huge body", "endless body", "tiny chunks", "endless header"])
async def test_what_a_server_sends_too_much_is_not_kept(hostile, client, name):
    hostile.attack = ANSWERS[name]
    tracemalloc.start()
    try:
        for _ in range(3):
            with pytest.raises(BadAnswer):
                await client.resource(PODS).get("a", "default")
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * limits.ANSWER
    assert now < 8 * MIB


async def test_many_large_answers_at_once_are_bounded_together(hostile, client):
    hostile.attack = endless_body
    tracemalloc.start()
    try:
        requests = (client.resource(PODS).get(f"p{number}", "default") for number in range(32))
        outcomes = await asyncio.gather(*requests, return_exceptions=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(isinstance(outcome, BadAnswer) for outcome in outcomes)
    assert peak < 2.5 * limits.BUFFERED


async def test_a_watch_line_that_never_ends_is_cut_in_linear_time(hostile, client):
    hostile.attack = endless_line
    async with LoopMeter().running() as meter:
        with pytest.raises(BadAnswer, match="watch event of more than"):
            await follow(client)
    assert hostile.sent < limits.WATCH_LINE + 16 * MIB
    assert meter.longest < STALL


async def test_a_server_that_drips_has_as_long_as_any_other(hostile, client):
    hostile.attack = slow_drip
    with pytest.raises(Timeout):
        await client.resource(PODS).within(0.5).get("a", "default")


async def test_nothing_follows_a_redirect_least_of_all_the_token(hostile, client):
    with HostileMember() as elsewhere:
        hostile.attack = redirect(elsewhere.endpoint)
        with pytest.raises(ApiError, match="307"):
            await client.resource(PODS).get("a", "default")
        assert hostile.tokens == ["Authorization: Bearer secret"]
        assert elsewhere.tokens == []


async def test_a_flood_of_events_leaves_turns_for_others(hostile, client):
    hostile.attack = event_flood
    seen = 0
    async with LoopMeter().running() as meter, client.resource(PODS).watch() as stream:
        async for batch in stream:
            assert len(batch) <= limits.WATCH_BATCH
            seen += len(batch)
            if seen > 50_000:
                break
    assert meter.longest < STALL


async def test_a_page_that_is_too_large_is_asked_for_with_fewer_objects(scripted, reply):
    item = {"metadata": {"name": "a", "annotations": {"large": "x" * (limits.ANSWER // 20)}}}
    requests = []

    def script(exchange, number):
        limit = int(exchange.path.partition("limit=")[2])
        requests.append(limit)
        return reply({"kind": "PodList", "apiVersion": "v1", "items": [item] * limit, "metadata": {}})

    scripted.script = script
    client = Client(HttpTransport(Target(f"http://127.0.0.1:{scripted.port}")))
    page = await client.resource(PODS).page(EVERYTHING, limit=100)
    assert requests == [100, 10]
    assert len(page.items) == 10
    scripted.script = lambda exchange, number: reply(b" " * (limits.ANSWER + 1))
    with pytest.raises(AnswerTooLarge):
        await client.resource(PODS).page(EVERYTHING, limit=100)
    await client.close()


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ERROR","object":["no status"]}',
        b'{"type":"ERROR","object":{"code":{"a":1}}}',
        b'{"type":"ADDED","object":' + b"[" * 5000 + b"]" * 5000 + b"} ",
    ],
    ids=["no status", "no code", "deep"],
)
async def test_a_watch_event_that_cannot_be_read_is_a_bad_answer(scripted, as_chunk, line):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    scripted.script = lambda exchange, number: [head, as_chunk(line + b"\n")]
    client = Client(HttpTransport(Target(f"http://127.0.0.1:{scripted.port}")))
    with pytest.raises(BadAnswer):
        await follow(client)
    await client.close()


async def test_the_words_of_a_refusal_are_short_and_fit_for_a_terminal(scripted, reply):
    status = {"kind": "Status", "message": "\x1b[2Jgone\r\x00" + "x" * 100_000, "details": {"causes": ["no", 5, {}]}}
    scripted.script = lambda exchange, number: reply(status, 403, Retry_After="9" * 400)
    client = Client(HttpTransport(Target(f"http://127.0.0.1:{scripted.port}")))
    with pytest.raises(ApiError) as refused:
        await client.resource(PODS).get("a", "default")
    message = str(refused.value)
    assert len(message) < limits.MESSAGE + 100
    assert message.isprintable()
    assert refused.value.causes == [{}]
    await client.close()


async def test_a_list_whose_pages_never_end_is_a_bad_answer(scripted, reply):
    endless = {"kind": "PodList", "apiVersion": "v1", "items": [], "metadata": {"continue": "more"}}
    scripted.script = lambda exchange, number: reply(endless)
    client = Client(HttpTransport(Target(f"http://127.0.0.1:{scripted.port}")))
    async with asyncio.timeout(20):
        with pytest.raises(BadAnswer, match="pages"):
            await client.resource(PODS).list()
    await client.close()
