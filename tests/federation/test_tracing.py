"""One Deployment's way over all components, recorded under the trace context of its annotation."""

import asyncio
import copy

import orjson
import pytest
from tests.federation.tracing import DEPLOYMENT, PARENT, STEPS, TRACE, drawn, followed

from karmada.api.annotations import TRACEPARENT
from karmada.machinery.errors import ApiError
from karmada.machinery.flags import collector
from karmada.machinery.tracing import OFF, WAITING, Spans, spans_to

CONTEXT = {TRACEPARENT: f"00-{TRACE}-{PARENT}-01"}


async def test_every_component_records_its_part_under_one_trace() -> None:
    spans = await followed()
    assert {span.name for span in spans} == STEPS
    assert {(span.trace, span.parent) for span in spans} == {(TRACE, PARENT)}
    assert {span.component for span in spans} == {"karmada-controller-manager", "karmada-scheduler"}
    assert {span.attributes["cluster"] for span in spans if span.name == "dispatch"} == {"member1", "member2"}
    assert len({span.id for span in spans}) == len(spans)
    order = list(dict.fromkeys(span.name for span in spans))
    assert order.index("apply policy") < order.index("schedule") < order.index("dispatch")
    assert drawn(spans).count('class="s"') == len(spans)


async def test_a_template_without_a_context_leaves_no_trace() -> None:
    plain = copy.deepcopy(DEPLOYMENT)
    del plain["metadata"]["annotations"]
    assert await followed(plain) == []


@pytest.mark.parametrize(
    "context",
    [
        "",
        "nonsense",
        f"00-{TRACE}-{PARENT}-00",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01" + "x" * 10_000,
    ],
    ids=["none", "text", "not sampled", "version", "no trace", "no parent", "upper case", "too long"],
)
def test_what_is_no_context_is_ignored(context: str) -> None:
    spans = Spans()
    with spans.tracer("x").span("step", {TRACEPARENT: context}):
        pass
    assert not spans.waiting


def test_without_an_endpoint_nothing_is_recorded_and_failures_pass() -> None:
    with pytest.raises(ValueError, match="no"), OFF.span("step", CONTEXT):
        raise ValueError("no")


def test_a_failure_is_recorded_as_one_and_too_many_spans_are_dropped() -> None:
    spans = Spans()
    tracer = spans.tracer("x")
    with pytest.raises(ValueError, match="no"), tracer.span("step", CONTEXT):
        raise ValueError("no")
    assert spans.waiting[0].failed
    for _ in range(WAITING + 9):
        with tracer.span("step", CONTEXT):
            pass
    assert (len(spans.waiting), spans.dropped) == (WAITING, 10)


async def test_a_collector_gets_what_opentelemetry_prescribes() -> None:
    received: asyncio.Future[tuple[str, bytes]] = asyncio.get_running_loop().create_future()

    async def collect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line.partition(":")[2]) for line in head.lower().split("\r\n") if "content-length" in line)
        body = await reader.readexactly(length)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        received.set_result((head, body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(collect, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    spans = spans_to(f"http://127.0.0.1:{port}/v1/traces", "karmada")
    with spans.tracer("karmada-scheduler").span("schedule", CONTEXT, reason="new"):
        pass
    await spans.flush()
    head, body = await received
    await spans.close()
    server.close()
    assert head.startswith("POST /v1/traces HTTP/1.1\r\n")
    assert "content-type: application/json" in head.lower()
    (resource,) = orjson.loads(body)["resourceSpans"]
    assert resource["resource"]["attributes"][0]["value"] == {"stringValue": "karmada-scheduler"}
    (span,) = resource["scopeSpans"][0]["spans"]
    assert (span["traceId"], span["parentSpanId"], span["name"]) == (TRACE, PARENT, "schedule")
    assert span["status"] == {"code": 1}
    assert int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"]) > 0


async def test_a_collector_that_is_not_there_costs_the_spans_only() -> None:
    spans = spans_to("http://127.0.0.1:1", "karmada")
    with spans.tracer("x").span("step", CONTEXT):
        pass
    with pytest.raises(ApiError):
        await spans.flush()
    await spans.close()
    assert (len(spans.waiting), spans.dropped) == (0, 1)


@pytest.mark.parametrize("text", ["127.0.0.1:4318", "ftp://host", "http://", "http://a b"])
def test_an_endpoint_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write it as http"):
        collector(text)
