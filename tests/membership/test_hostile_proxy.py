"""`clusters/<name>/proxy` used against the members: out of the base path, without end, all at once."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from karmada.aggregated.proxy import fanout
from karmada.aggregated.proxy.exchange import ExchangeFailed, exchange
from karmada.aggregated.proxy.fanout import FanOut
from karmada.aggregated.proxy.handler import ClusterProxy
from karmada.aggregated.proxy.upstream import Upstream, Upstreams
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import decoder
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.overload.proxying import ProxyBudget
from karmada.apiserver.requests.model import Answer, AnyAnswer, Call, Context, Streamed, Upgraded
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import HttpRequest
from karmada.machinery.httpserver.parsing import Limits, Parsed, RequestParser

BASE = "/apis/cluster.karmada.io/v1alpha1/clusters"
DEV = UserInfo("dev", ("devs",))


def cluster(name: str) -> Cluster:
    tree = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}, "spec": {}}
    return decoder(Cluster).decode(orjson.dumps(tree))


class Member:
    """A member behind a base path: the connections to it (`Channel`) and what came over them."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") -> None:
        self.sent: list[bytes] = []
        self.closed = 0
        self.hangs = False
        self._answer = answer

    async def open(self, cluster: Cluster) -> Upstream:
        return Upstream(self, "rancher.example", "/k8s/clusters/c-1", b"impersonator")

    async def write(self, data: bytes) -> None:
        self.sent.append(data)

    async def read(self) -> bytes:
        if self.hangs:
            await asyncio.Event().wait()
        return self._answer

    async def close(self) -> None:
        self.closed += 1


def request_of(path: str, *lines: str) -> HttpRequest:
    head = "\r\n".join([f"GET {BASE}/m1/proxy{path} HTTP/1.1", "Host: h", *lines, "", ""])
    (item,) = RequestParser(Limits(), ("127.0.0.1", 1)).feed(head.encode())
    assert isinstance(item, Parsed)
    return item.request


async def through(member: Member, request: HttpRequest, budget: ProxyBudget | None = None) -> AnyAnswer:
    proxy = ClusterProxy(cast(Upstreams, member), budget)
    store = SimpleNamespace(
        get=lambda *key: SimpleNamespace(body=orjson.dumps({"metadata": {"name": "m1"}, "spec": {}}))
    )
    served = SimpleNamespace(key=("cluster.karmada.io", "clusters"))
    call: Any = SimpleNamespace(http=request, name="m1", served=served, user=DEV)
    return await proxy(cast(Context, SimpleNamespace(store=store)), cast(Call, call))


@pytest.mark.parametrize(
    "path",
    [
        "/../c-2/api/v1/secrets",
        "/%2e%2e/c-2/api/v1/secrets",
        "/%2E./c-2/api",
        "/api/../../c-2/api",
        "/api/v1/..",
        "/./api",
        "/..%2fc-2/api",
        "/..;/c-2/api",
        "//../c-2",
    ],
)
async def test_no_path_leaves_the_base_path(path: str) -> None:
    member = Member()
    with pytest.raises(Failure, match="must not have") as refused:
        await through(member, request_of(path))
    assert refused.value.code == 400
    assert member.sent == []


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("//api//v1/nodes", "/api/v1/nodes"),
        ("/%2fapi/v1/nodes", "/api/v1/nodes"),
        ("/api/v1/nodes/", "/api/v1/nodes/"),
        ("/a%252e%252e/..b/c..%20d", "/a%252e%252e/..b/c..%20d"),
        ("/api?x=%2e%2e/%0d%0a#y", "/api?x=%2e%2e/%0d%0a%23y"),
    ],
)
async def test_other_paths_arrive_below_it_encoded_anew(path: str, target: str) -> None:
    member = Member()
    await through(member, request_of(path))
    assert member.sent[0].split(b"\r\n")[0] == f"GET /k8s/clusters/c-1{target} HTTP/1.1".encode()


async def test_only_a_client_that_upgrades_makes_the_member_upgrade() -> None:
    member = Member()
    await through(member, request_of("/exec", "Upgrade: SPDY/3.1"))
    assert b"Upgrade" not in member.sent[0]


async def test_a_member_that_hangs_costs_a_few_places() -> None:
    member = Member()
    member.hangs = True
    budget = ProxyBudget(per_user=10, per_target=2)
    waiting = [asyncio.create_task(through(member, request_of("/api"), budget)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Failure, match="cluster m1") as refused:
        await through(member, request_of("/api"), budget)
    assert (refused.value.code, refused.value.headers["Retry-After"]) == (429, "1")
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    member.hangs = False
    await through(member, request_of("/api"), budget)


class Fleet:
    """Clusters that answer a list."""

    def __init__(self) -> None:
        self.under_way = self.most = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.endless: set[str] = set()
        self.closed: set[str] = set()

    async def forward(self, cluster: Cluster, request: HttpRequest, path: str, user: UserInfo) -> AnyAnswer:
        name = cluster.metadata.name
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await self.gate.wait()
        await asyncio.sleep(0)
        self.under_way -= 1
        if name == "upgrading":

            async def serve(stream: Any) -> None:
                self.closed.add(name)

            return Upgraded({}, serve)
        return Streamed(200, self.body(name), "application/json", {})

    async def body(self, name: str) -> AsyncIterator[bytes]:
        try:
            while name in self.endless:
                yield b" " * 1000
            yield orjson.dumps({"kind": "List", "items": [{"metadata": {"name": name}}]})
        finally:
            self.closed.add(name)


LIST = HttpRequest("GET", "/", "", {}, b"", ("", 0), None)


async def test_all_clusters_are_asked_a_few_at_a_time() -> None:
    fleet = Fleet()
    answer = await FanOut(fleet.forward)([cluster(f"m{i:03}") for i in range(200)], LIST, "/api/v1/pods", DEV)
    assert isinstance(answer, Answer)
    assert len(orjson.loads(answer.body)["items"]) == 200
    assert fleet.most <= fanout.AT_ONCE


async def test_a_cluster_without_end_is_left_out_and_named() -> None:
    fleet = Fleet()
    fleet.endless.add("bad")
    clusters = [cluster(name) for name in ("a", "bad", "c", "upgrading")]
    answer = await FanOut(fleet.forward, cluster_bytes=10_000)(clusters, LIST, "/api/v1/pods", DEV)
    assert isinstance(answer, Answer)
    assert [item["metadata"]["name"] for item in orjson.loads(answer.body)["items"]] == ["a", "c"]
    assert answer.headers["Warning"] == '299 - "no answer from: bad, upgrading"'
    assert {"bad", "upgrading"} <= fleet.closed


async def test_of_a_parameter_that_is_repeated_the_first_counts() -> None:
    fan_out = FanOut(Fleet().forward)
    for query, status in (("watch=1&watch=0", 405), ("watch=0&watch=1", 200), ("watch=&watch=0", 405)):
        answer = await fan_out(
            [cluster("a")], HttpRequest("GET", "/", query, {}, b"", ("", 0), None), "/api/v1/pods", DEV
        )
        assert isinstance(answer, Answer)
        assert answer.code == status


async def test_a_user_asks_all_clusters_a_few_times_at_once() -> None:
    fleet = Fleet()
    fleet.gate.clear()
    fan_out = FanOut(fleet.forward)
    waiting = [asyncio.create_task(fan_out([cluster("a")], LIST, "/api/v1/pods", DEV)) for _ in range(fanout.PER_USER)]
    await asyncio.sleep(0)
    with pytest.raises(Failure, match="too many") as refused:
        await fan_out([cluster("a")], LIST, "/api/v1/pods", DEV)
    assert refused.value.code == 429
    fleet.gate.set()
    assert all(isinstance(answer, Answer) for answer in await asyncio.gather(*waiting))


class Endless:
    """A member that ends its answer, and what ends it never does."""

    def __init__(self, part: bytes, beginning: bytes) -> None:
        self.part = part
        self._beginning = beginning
        self.sent = 0

    async def read(self) -> bytes:
        data, self._beginning = self._beginning or self.part, b""
        self.sent += len(data)
        assert self.sent < 32 * 1024 * 1024, "it is read on and on"
        return data

    async def write(self, data: bytes) -> None:
        return

    async def close(self) -> None:
        return


@pytest.mark.parametrize(
    ("end", "part"),
    [(b"0\r\nA: ", b"a" * 65536), (b"0\r\n", b"A: b\r\n" * 10_000), (b"1;x=", b"a" * 65536)],
    ids=["one trailer", "many trailers", "an extension of a chunk"],
)
async def test_a_member_whose_answer_has_no_end_is_cut_off(end: bytes, part: bytes) -> None:
    member = Endless(part, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n" + end)
    reply, body = await exchange(member, b"GET / HTTP/1.1\r\n\r\n", b"", only_head=False)
    assert await anext(body) == b"ok"
    with pytest.raises(ExchangeFailed):
        await anext(body)
    assert member.sent < 1024 * 1024
    assert reply.headers == [("transfer-encoding", "chunked")]
