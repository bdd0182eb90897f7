"""Answers that last: they end when whoever has them may not have them any more."""

import gc
from asyncio import Event
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Any
from weakref import ref

import pytest

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.http_dispatcher import HttpDispatcher
from karmada.apiserver.lasting import AllowedChunks, AllowedStream, while_allowed
from karmada.apiserver.requests.model import Call, Streamed
from karmada.apiserver.requests.subresources.connect import Backends
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.httpserver.backends import ExecRequest, ExitStatus, ProcessStreams
from karmada.machinery.httpserver.model import ByteStream, CutOff, HttpRequest, Upgrade
from karmada.machinery.httpserver.upgraded import ENDED, Disconnected
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.as_user import AsUser

RBAC = "rbac.authorization.k8s.io"
BOB = UserInfo("bob", ("system:authenticated",))
POD = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}


class Allowed:
    """A right that a test takes away."""

    held = True

    def __call__(self) -> bool:
        return self.held


class Recorded:
    """A connection whose client sends the same again and again (`ByteStream`)."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    async def read(self) -> bytes:
        return b"" if self.closed else b"input"

    async def write(self, data: bytes) -> None:
        self.written.append(data)

    async def close(self) -> None:
        self.closed = True


async def test_a_body_is_cut_off_and_closed_with_the_right_to_it() -> None:
    closed = []

    async def chunks() -> AsyncIterator[bytes]:
        try:
            yield b"one"
            yield b"two"
        finally:
            closed.append(True)

    may = Allowed()
    body = AllowedChunks(chunks(), may)
    assert await anext(body) == b"one"
    may.held = False
    with pytest.raises(CutOff):
        await anext(body)
    assert closed == [True]


async def test_a_body_is_cut_off_between_the_parts_of_an_item() -> None:
    async def chunks() -> AsyncIterator[Iterable[bytes]]:
        yield (b"one", b"two")

    may = Allowed()
    parts = iter(await anext(AllowedChunks(chunks(), may)))
    assert next(parts) == b"one"
    may.held = False
    with pytest.raises(CutOff):
        next(parts)


async def test_nothing_passes_on_a_connection_whose_client_lost_the_right_to_it() -> None:
    for reading in (True, False):
        inner, may = Recorded(), Allowed()
        stream = AllowedStream(inner, may)
        assert await stream.read() == b"input"
        await stream.write(b"output")
        may.held = False
        if reading:
            assert await stream.read() == b""
        else:
            with pytest.raises(Disconnected):
                await stream.write(b"more")
        assert inner.closed
        assert inner.written == [b"output"]


async def test_a_connection_that_never_came_to_be_is_known_as_such() -> None:
    served: list[ByteStream] = []

    async def serve(stream: ByteStream) -> None:
        served.append(stream)

    await while_allowed(serve, Allowed())(ENDED)
    assert served == [ENDED]


class Shell:
    """Runs nothing."""

    async def execute(self, request: ExecRequest, streams: ProcessStreams) -> ExitStatus:
        await streams.write(b"secret")
        return ExitStatus()


@pytest.mark.parametrize("left", [["get", "create"], ["get"], ["create"]], ids=["both", "get", "create"])
async def test_who_is_in_a_pod_needs_all_rights_that_it_took_to_get_there(left: list[str]) -> None:
    """A WebSocket takes `get` and `create`."""
    async with ApiServer(ApiServerOptions(backends=Backends(exec=Shell()))) as server:
        admin = Client(server.direct(ADMIN))
        rule: dict[str, Any] = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]}
        roles = admin.resource(GroupVersionResource(RBAC, "v1", "roles"))
        await roles.create({"metadata": {"name": "r"}, "rules": [rule]}, "default")
        reference = {"apiGroup": RBAC, "kind": "Role", "name": "r"}
        subjects = [{"kind": "User", "name": "bob"}]
        bindings = admin.resource(GroupVersionResource(RBAC, "v1", "rolebindings"))
        await bindings.create({"metadata": {"name": "r"}, "roleRef": reference, "subjects": subjects}, "default")
        await admin.resource(GroupVersionResource("", "v1", "pods")).create(POD, "default")
        headers = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
        headers |= {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-protocol": "v5.channel.k8s.io"}
        path = "/api/v1/namespaces/default/pods/p/exec"
        request = HttpRequest("GET", path, "command=sh&stdout=1", headers, b"", ("127.0.0.1", 1), None)
        answer = await HttpDispatcher(server.dispatcher, lambda _: BOB)(request)
        assert isinstance(answer, Upgrade)
        await roles.patch("r", {"rules": [{**rule, "verbs": left}]}, "default")
        connection = Recorded()
        with suppress(Disconnected):
            await answer.serve(connection)
        answer.ended()
        assert (b"secret" in b"".join(connection.written)) == (len(left) == 2)
        assert connection.closed


class Body(bytes):
    """A body of which a test sees when it goes."""

    def __init__(self, _: bytes) -> None:
        self.kept = Event()


class Endless:
    """Answers requests to pods with something that lasts."""

    async def proxy(self, call: Call) -> Streamed:
        async def chunks() -> AsyncIterator[bytes]:
            while True:
                yield b"x"

        return Streamed(200, chunks(), "text/plain")


@pytest.mark.parametrize("path", ["/api/v1/namespaces/default/pods/p/proxy/x", "/api/v1/watch/pods"])
@pytest.mark.parametrize("passed_on", [False, True], ids=["request", "in the name of a user"])
async def test_an_answer_that_lasts_does_not_keep_the_body_of_its_request(path: str, passed_on: bool) -> None:
    async with ApiServer(ApiServerOptions(backends=Backends(proxies={"pods": Endless()}))) as server:
        await Client(server.direct(ADMIN)).resource(GroupVersionResource("", "v1", "pods")).create(POD, "default")
        body = Body(b"b" * 100)
        kept = ref(body.kept)
        request = HttpRequest("GET", path, "", {}, body, ("127.0.0.1", 1), None)
        del body
        answer: Any
        if passed_on:
            answer = await AsUser(server)(request, path, ADMIN)
        else:
            answer = await HttpDispatcher(server.dispatcher, lambda _: ADMIN)(request)
        request.body = b""  # as the connection does
        gc.collect()
        assert kept() is None
        await answer.chunks.aclose()
