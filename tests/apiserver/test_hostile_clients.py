"""A whole server and clients that mean it no good: what they can make it do, keep, and leave out of its log."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from karmada.apiserver.audit import AuditLog, AuditRecord
from karmada.apiserver.auth.model import ANONYMOUS, Attributes, UserInfo
from karmada.apiserver.auth.rbac import RbacAuthorizer
from karmada.apiserver.http_dispatcher import UNAUTHENTICATED_BODY
from karmada.apiserver.metrics import SERIES, RequestKey, RequestMetrics
from karmada.apiserver.overload.proxying import ProxyBudget
from karmada.apiserver.requests import paths
from karmada.apiserver.requests.subresources.connect import Backends
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.httpserver.backends import LogRequest
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.transport import GroupVersionResource

MAPS = "/api/v1/namespaces/default/configmaps"
BINDINGS = GroupVersionResource("rbac.authorization.k8s.io", "v1", "rolebindings")
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
SECRETS = GroupVersionResource("", "v1", "secrets")
PODS = GroupVersionResource("", "v1", "pods")
ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
POD = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}
TOKENS = 'root-token,root,1,"system:masters"\ntenant-token,tenant,2,"dev"\n'


@dataclass
class Target:
    """A server on a plain port."""

    server: ApiServer
    port: int
    log: Path
    pods: "Followed"
    clock: "Clock"

    @property
    def admin(self) -> Client:
        """A client in the same process."""
        return Client(self.server.direct(ADMIN))

    async def bind(self) -> None:
        """Let the tenant, and a service account, do anything in the namespace `default`."""
        subjects = [{"kind": "User", "name": "tenant"}, {"kind": "ServiceAccount", "name": "builder"}]
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        binding = {"metadata": {"name": "tenant"}, "roleRef": role, "subjects": subjects}
        await self.admin.resource(BINDINGS).create(binding, "default")

    async def send(self, data: bytes, *more: bytes) -> tuple[int, bytes]:
        """Send portions on a connection of their own; the status and the rest of the answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            for portion in more:
                await writer.drain()
                writer.write(portion)
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
                size = re.search(rb"content-length: (\d+)", head.lower())
                answer = head + (await reader.readexactly(int(size[1])) if size else b"")
        finally:
            writer.close()
        return int(answer.split()[1]), answer

    def entries(self) -> list[dict[str, Any]]:
        """The audit log as it is on the disk now."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


class Clock:
    """A wall clock that is set by hand."""

    def __init__(self) -> None:
        self.at = 1_700_000_000.0

    def now(self) -> float:
        return self.at


class Followed:
    """The log of a pod, which grows by what a test adds."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def logs(self, request: LogRequest) -> AsyncIterator[bytes]:
        while line := await self.lines.get():
            yield line


@pytest.fixture
async def target(tmp_path: Path) -> AsyncIterator[Target]:
    log, pods, clock = tmp_path / "audit.log", Followed(), Clock()
    options = ApiServerOptions(static_tokens=TOKENS, audit=log, backends=Backends(logs=pods), now=clock.now)
    async with ApiServer(options) as server:
        yield Target(server, await server.listen(tls=False), log, pods, clock)


def request(method: str, path: str, *lines: str, token: str = "root-token", body: bytes = b"") -> bytes:
    head = [f"{method} {path} HTTP/1.1", "Host: h", "Connection: close", *lines]
    if token:
        head.append(f"Authorization: Bearer {token}")
    if body:
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


OBJECT = json.dumps({"metadata": {"name": "made"}}).encode()


# The audit log.


async def test_a_strange_user_agent_neither_fails_a_request_nor_hides_it(target: Target) -> None:
    agent = "User-Agent: x\xff"
    code, _ = await target.send(request("POST", MAPS, agent, "Content-Type: application/json", body=OBJECT))
    assert code == 201
    code, _ = await target.send(request("DELETE", f"{MAPS}/made", agent))
    assert code == 200
    shown = [(entry["verb"], entry["responseStatus"]["code"], entry["userAgent"]) for entry in target.entries()]
    assert shown == [("create", 201, "x\ufffd"), ("delete", 200, "x\ufffd")]


async def test_bad_credentials_are_in_the_log_before_the_answer(target: Target) -> None:
    code, _ = await target.send(request("DELETE", f"{MAPS}/made", token="wrong"))
    assert code == 401
    (entry,) = target.entries()
    assert entry["responseStatus"]["code"] == 401
    assert entry["user"] == {}
    assert entry["objectRef"]["resource"] == "configmaps"
    assert "annotations" not in entry


async def test_a_refused_impersonation_is_in_the_log_under_who_tried(target: Target) -> None:
    code, _ = await target.send(request("GET", MAPS, "Impersonate-User: root", token="tenant-token"))
    assert code == 403
    (entry,) = target.entries()
    assert entry["user"]["username"] == "tenant"
    assert "impersonatedUser" not in entry
    assert entry["responseStatus"]["code"] == 403
    assert entry["annotations"]["authorization.k8s.io/decision"] == "forbid"


async def test_what_is_refused_before_its_body_is_in_the_log_too(target: Target) -> None:
    for token, expected in (("wrong", 401), ("tenant-token", 403), ("", 403)):
        code, _ = await target.send(request("POST", MAPS, "Content-Length: 3000000", token=token))
        assert code == expected
    assert [entry["responseStatus"]["code"] for entry in target.entries()] == [401, 403, 403]


async def test_an_entry_that_cannot_be_encoded_is_written_all_the_same(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.log")
    attributes = Attributes("delete", "", "v1", "pods", "", "ns", "a\udcff")
    log.record(AuditRecord("id", "/\udcff", attributes, UserInfo("a\ud800"), None, "", "x\udcff", 200, 0.0, 0.0))
    assert json.loads((tmp_path / "audit.log").read_text())["user"]["username"] == "a?"
    log.close()


# Who is known before anything is read.


@pytest.mark.parametrize(("token", "expected"), [("wrong", 401), ("", 403), ("tenant-token", 403)])
async def test_nothing_is_read_for_a_request_without_rights(target: Target, token: str, expected: int) -> None:
    for framing in ("Content-Length: 3000000", "Transfer-Encoding: chunked"):
        for expect in ((), ("Expect: 100-continue",)):
            code, answer = await target.send(request("POST", MAPS, framing, *expect, token=token))
            assert code == expected
            assert b"100 Continue" not in answer


async def test_an_anonymous_body_is_small_even_where_anonymous_requests_are_welcome(target: Target) -> None:
    size = UNAUTHENTICATED_BODY + 1
    code, _ = await target.send(request("GET", "/version", f"Content-Length: {size}", token=""))
    assert code == 413
    chunk = b"%x\r\n%b\r\n" % (size, b"a" * size)
    code, _ = await target.send(request("GET", "/version", "Transfer-Encoding: chunked", token=""), chunk)
    assert code == 413
    code, _ = await target.send(request("GET", "/version", f"Content-Length: {size}"), b"a" * size)
    assert code == 200


async def test_trailers_do_not_say_who_somebody_is(target: Target) -> None:
    chunked = request("GET", "/api/v1/secrets", "Transfer-Encoding: chunked", token="")
    body = b"0\r\nAuthorization: Bearer root-token\r\n\r\n"
    code, answer = await target.send(chunked + body)
    assert code == 403
    assert b"system:anonymous" in answer
    chunked = request("GET", "/api/v1/secrets", "Transfer-Encoding: chunked", token="root-token")
    body = b"0\r\nImpersonate-User: tenant\r\n\r\n"
    assert (await target.send(chunked + body))[0] == 200


# Who is known when their turn comes.


def kept(method: str, path: str, *lines: str, token: str, body: bytes = b"") -> bytes:
    """A request after which the connection goes on."""
    return request(method, path, *lines, token=token, body=body).replace(b"Connection: close\r\n", b"")


async def test_what_waits_behind_a_long_answer_is_judged_when_its_turn_comes(target: Target) -> None:
    await target.bind()
    await target.admin.resource(PODS).create(POD, "default")
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    try:
        json_ = "Content-Type: application/json"
        writer.write(kept("GET", "/api/v1/namespaces/default/pods/p/log?follow=1", token="root-token"))
        writer.write(kept("POST", MAPS, json_, token="tenant-token", body=OBJECT))
        writer.write(kept("GET", "/api/v1/namespaces/default/secrets/later", token="tenant-token", body=b"x"))
        target.pods.lines.put_nowait(b"begun")
        async with asyncio.timeout(10):
            await reader.readuntil(b"begun\r\n")
            await target.admin.resource(BINDINGS).delete("tenant", "default")
            await target.admin.resource(SECRETS).create({"metadata": {"name": "later"}}, "default")
            target.pods.lines.put_nowait(b"")
            await reader.readuntil(b"0\r\n\r\n")
            for _ in range(2):
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 403 ")
                size = re.search(rb"content-length: (\d+)", head.lower())
                assert size is not None
                await reader.readexactly(int(size[1]))
    finally:
        writer.close()
    with pytest.raises(NotFound):
        await target.admin.resource(CONFIG_MAPS).get("made", "default")
    tenants = [entry for entry in target.entries() if entry["user"].get("username") == "tenant"]
    assert [(entry["verb"], entry["responseStatus"]["code"]) for entry in tenants] == [("create", 403), ("get", 403)]


async def held_back(target: Target, token: str, between: Callable[[], Awaitable[object]]) -> bytes:
    """The answer to a create whose body comes after something else has happened."""
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    try:
        head = ("Content-Type: application/json", "Expect: 100-continue", f"Content-Length: {len(OBJECT)}")
        writer.write(request("POST", MAPS, *head, token=token))
        async with asyncio.timeout(10):
            assert b" 100 Continue" in await reader.readuntil(b"\r\n\r\n")
            await between()
            writer.write(OBJECT)
            return await reader.read()
    finally:
        writer.close()


async def test_a_body_that_is_held_back_keeps_no_right_alive(target: Target) -> None:
    await target.bind()
    answer = await held_back(
        target, "tenant-token", lambda: target.admin.resource(BINDINGS).delete("tenant", "default")
    )
    assert answer.startswith(b"HTTP/1.1 403 ")
    with pytest.raises(NotFound):
        await target.admin.resource(CONFIG_MAPS).get("made", "default")
    assert [entry["responseStatus"]["code"] for entry in target.entries()] == [403]


async def test_a_body_that_is_held_back_keeps_no_token_alive(target: Target) -> None:
    await target.bind()
    accounts = target.admin.resource(ACCOUNTS)
    await accounts.create({"metadata": {"name": "builder"}}, "default")
    given = await accounts.submit("builder", "token", {"spec": {"expirationSeconds": 600}}, "default")
    token = given["status"]["token"]

    async def expire() -> None:
        target.clock.at += 601

    answer = await held_back(target, token, expire)
    assert answer.startswith(b"HTTP/1.1 401 ")
    (entry,) = target.entries()
    assert (entry["user"], entry["responseStatus"]["code"]) == ({}, 401)


async def test_a_request_with_a_body_is_counted_and_recorded_once(target: Target) -> None:
    assert (await target.send(request("POST", MAPS, "Content-Type: application/json", body=OBJECT)))[0] == 201
    assert [entry["responseStatus"]["code"] for entry in target.entries()] == [201]
    shown = target.server.traffic.metrics.render().decode().splitlines()
    counted = [line for line in shown if line.startswith("apiserver_request_total{") and '"configmaps"' in line]
    assert [line.split()[-1] for line in counted] == ["1.0"]


async def test_a_log_that_is_followed_is_cut_off_with_the_right_to_it(target: Target) -> None:
    await target.bind()
    await target.admin.resource(PODS).create(POD, "default")
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    try:
        writer.write(request("GET", "/api/v1/namespaces/default/pods/p/log?follow=1", token="tenant-token"))
        target.pods.lines.put_nowait(b"begun")
        async with asyncio.timeout(10):
            await reader.readuntil(b"begun\r\n")
            await target.admin.resource(BINDINGS).delete("tenant", "default")
            target.pods.lines.put_nowait(b"secret")
            assert await reader.read() == b"", "an end would say that this is the whole log"
    finally:
        writer.close()


# What is kept.


async def test_what_clients_invent_makes_no_metrics(target: Target) -> None:
    before = len(target.server.traffic.metrics.render())
    for index in range(50):
        for path in (f"/api/v1/invented{index}", f"/apis/g{index}/v1/x", f"{MAPS}/a/sub{index}", f"/invented{index}"):
            await target.send(request("GET", path))
            await target.send(request("GET", path, token=""))
    after = target.server.traffic.metrics.render()
    assert len(after) - before < 60_000
    assert b"invented" not in after
    assert b'resource="other"' in after
    await target.send(request("GET", MAPS))
    assert b'resource="configmaps"' in target.server.traffic.metrics.render()


def test_codes_and_series_of_metrics_are_bounded() -> None:
    metrics = RequestMetrics()
    key = RequestKey("GET", "", "v1", "pods", "", "cluster")
    for code in range(100, 1000):
        metrics.answered(key, code, 0.1)
    shown = [line for line in metrics.render().decode().splitlines() if line.startswith("apiserver_request_total{")]
    assert len(shown) < 80
    for index in range(SERIES + 100):
        metrics.answered(key._replace(resource=f"kind{index}"), 200, 0.1)
        metrics.closed(metrics.opened(key._replace(resource=f"kind{index}")))
    assert len(metrics._series) <= SERIES + 1
    assert len(metrics.longrunning) <= SERIES + 1


def test_long_questions_and_paths_are_not_remembered() -> None:
    authorizer = RbacAuthorizer()
    long = "a" * 100_000
    for index in range(10):
        authorizer.authorize(ANONYMOUS, Attributes("get", "", "v1", "pods", "", "", f"{long}{index}"))
        authorizer.authorize(ANONYMOUS, Attributes("get", path=f"/{long}{index}"))
        authorizer.authorize(UserInfo("a", (f"{long}{index}",)), Attributes("get", path="/"))
    assert authorizer.remembered == 0
    authorizer.authorize(ANONYMOUS, Attributes("get", path="/version"))
    assert authorizer.remembered == 1
    first = paths.parse(f"/api/v1/pods/{long}")
    assert paths.parse(f"/api/v1/pods/{long}") is not first
    assert paths.parse("/api/v1/pods/a") is paths.parse("/api/v1/pods/a")


async def test_documents_that_do_not_exist_are_not_remembered(target: Target) -> None:
    pages = target.server.pages
    for index in range(20):
        await pages.answer("GET", f"/openapi/v3/apis/invented{index}/v1", {}, "")
        await target.send(request("GET", f"/apis/invented{index}"))
    assert not [path for path in pages._openapi._documents if "invented" in path]
    assert not [key for key in pages._discovery._encoded if "invented" in key[0]]


# Who may have how much.


def test_requests_to_other_servers_are_bounded_by_user_and_by_server() -> None:
    budget = ProxyBudget(per_user=2, per_target=3)
    alice, bob, root = UserInfo("alice"), UserInfo("bob"), UserInfo("root", ("system:masters",))
    with budget.take(alice, "m1"), budget.take(alice, "m2"):
        with pytest.raises(Failure, match="your requests") as refused, budget.take(alice, "m3"):
            pass
        assert refused.value.code == 429
        assert refused.value.headers["Retry-After"] == "1"
        others = ((bob, "m1"), (root, "m1"), (root, "m2"), (root, "m3"))
        with ExitStack() as stack:
            for user, server in others:
                stack.enter_context(budget.take(user, server))
            with pytest.raises(Failure, match="requests to m1 are under way"), budget.take(bob, "m1"):
                pass
    with budget.take(alice, "m1"):
        pass
    assert not budget._users
    assert not budget._targets


async def test_a_client_that_leaves_at_once_is_forgotten(target: Target) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", target.port)) as client:
            client.sendall(b"GET /version HT")
    for _ in range(200):
        if not target.server._http.connections:
            break
        await asyncio.sleep(0.01)
    assert target.server._http.connections == 0
