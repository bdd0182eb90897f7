"""The API server says in its own API where it is."""

import orjson
import pytest

from karmada.apiserver.bootstrap import publish
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.transport import GroupVersionResource, Request, Verb

ENDPOINTS = GroupVersionResource("", "v1", "endpoints")
SLICES = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        (ENDPOINTS, lambda found: (found["subsets"][0]["addresses"][0]["ip"], found["subsets"][0]["ports"][0]["port"])),
        (SLICES, lambda found: (found["endpoints"][0]["addresses"][0], found["ports"][0]["port"])),
    ],
    ids=["endpoints", "slices"],
)
async def test_the_address_of_the_server_is_found_and_follows_it(kind, where):
    async with ApiServer() as server:
        for host, port in (("10.0.0.1", 6443), ("10.0.0.2", 7443)):
            await publish(server.context, host, port, "10.96.0.0/12", {})
            request = Request(Verb.GET, kind, "default", "kubernetes")
            assert where(orjson.loads(await server.direct(ADMIN).send(request))) == (host, port)


async def test_the_range_of_service_addresses_can_be_looked_up():
    ranges = GroupVersionResource("networking.k8s.io", "v1", "servicecidrs")
    async with ApiServer() as server:
        await publish(server.context, "10.0.0.1", 6443, "10.96.0.0/12", {})
        found = orjson.loads(await server.direct(ADMIN).send(Request(Verb.GET, ranges, "", "kubernetes")))
    assert found["spec"] == {"cidrs": ["10.96.0.0/12"]}
