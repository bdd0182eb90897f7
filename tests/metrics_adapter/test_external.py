"""External metrics come from the sources that ExternalMetric objects name, and from nowhere else."""

import asyncio
from contextlib import asynccontextmanager

import orjson
import pytest

from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.control_plane import METRICS_ADAPTER, ControlPlane, ControlPlaneOptions

METRICS = GroupVersionResource("autoscaling.karmada.io", "v1alpha1", "externalmetrics")


def value_of(metric):
    return GroupVersionResource("external.metrics.k8s.io", "v1beta1", metric)


@asynccontextmanager
async def page(answer, status=200):
    """An HTTP server on the loopback that answers every request alike; yields its address and what was asked."""
    requests = []

    async def serve(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        requests.append(head.split(b" ")[1].decode())
        body = answer if isinstance(answer, bytes) else orjson.dumps(answer)
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(body)) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", requests


@asynccontextmanager
async def plane_with(*specs):
    async with ControlPlane(ControlPlaneOptions(addons=frozenset({METRICS_ADAPTER}))) as plane:
        for index, spec in enumerate(specs):
            await plane.client.resource(METRICS).create({"metadata": {"name": f"m{index}"}, "spec": spec})
        await plane.loaded()
        yield plane


async def values(plane, metric, namespace="default", labels=""):
    async with asyncio.timeout(20):
        while True:
            try:
                listing = await plane.client.resource(value_of(metric)).list(Scope(namespace, labels), page_size=0)
            except NotFound:
                # The object may not have reached the adapter's cache yet.
                await asyncio.sleep(0.02)
                continue
            return sorted((item["value"], item["metricLabels"]) for item in listing.items)


async def test_every_element_of_a_prometheus_result_is_a_value_that_selectors_choose_from():
    elements = [
        {"metric": {"__name__": "queue", "zone": "a"}, "value": [1, "1.5"]},
        {"metric": {"zone": "b"}, "value": [1, "20"]},
    ]
    async with page({"status": "success", "data": {"resultType": "vector", "result": elements}}) as (address, requests):
        spec = {"metricName": "queue", "labels": {"from": "prom"}}
        spec["prometheus"] = {"address": address, "query": "sum by (zone) (queue)"}
        async with plane_with(spec) as plane:
            one, other = {"zone": "a", "from": "prom"}, {"zone": "b", "from": "prom"}
            assert await values(plane, "queue") == [("1500m", one), ("20", other)]
            assert await values(plane, "queue", labels="zone=b") == [("20", other)]
        assert requests[0] == "/api/v1/query?query=sum+by+%28zone%29+%28queue%29"


async def test_a_number_in_a_page_is_found_by_its_pointer():
    async with page({"jobs": [{"waiting": 7}]}) as (address, _):
        spec = {"http": {"url": f"{address}/state", "pointer": "/jobs/0/waiting"}}
        async with plane_with(spec) as plane:
            assert await values(plane, "m0") == [("7", {})]


async def test_a_metric_is_for_the_namespaces_it_names():
    async with page(3) as (address, _), plane_with({"http": {"url": address}, "namespaces": ["a"]}) as plane:
        assert await values(plane, "m0", "a") == [("3", {})]
        with pytest.raises(NotFound, match="no ExternalMetric defines m0 for namespace b"):
            await plane.client.resource(value_of("m0")).list(Scope("b"), page_size=0)


@pytest.mark.parametrize(
    ("answer", "status", "expected"),
    [
        (b"secret page", 200, "spec.http.pointer"),
        ({"password": "hunter2"}, 500, "answered 500"),
        ("NaN", 200, "not finite"),
        (True, 200, "no number"),
        (b"1" * (2 << 20), 200, "bytes"),
    ],
)
async def test_a_source_that_has_no_number_is_said_so_without_what_it_sent(answer, status, expected):
    async with page(answer, status) as (address, _), plane_with({"http": {"url": address}}) as plane:
        with pytest.raises(ApiError, match=expected) as refused:
            await values(plane, "m0")
        assert "secret" not in str(refused.value)
        assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("spec", [{}, {"http": {"url": "file:///etc/passwd"}}, {"http": {"url": "http://["}}])
async def test_a_source_that_cannot_be_asked_names_its_field(spec):
    async with plane_with(spec) as plane:
        with pytest.raises(ApiError, match=r"spec\.(http|prometheus)"):
            await values(plane, "m0")
