"""Aggregation: one API server behind another, over real TLS, with the user's own identity."""

import asyncio
import base64
import ssl

import orjson
import pytest
from tests.apiserver.widgets import CRDS, WIDGETS, definition

from karmada.apiserver.auth.front_proxy import CLIENT_NAME
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.transport import GroupVersionResource, Request, Verb

HOST = "backend.default.svc"


async def call(server: ApiServer, port: int, path: str, user: str, groups: list[str], tmp_path) -> tuple[int, bytes]:
    context = ssl.create_default_context(cadata=server.identity.authority.certificate_pem.decode())
    (tmp_path / "client.pem").write_bytes(b"".join(server.identity.authority.issue_client(user, groups)))
    context.load_cert_chain(tmp_path / "client.pem")
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.fixture
async def front(tmp_path):
    (tmp_path / "pki").mkdir()
    async with ApiServer(ApiServerOptions(folder=tmp_path / "pki")) as server:
        yield server


@pytest.fixture
async def backend(front):
    proxies = (front.identity.front_proxy_authority.certificate_pem, [CLIENT_NAME])
    async with ApiServer(ApiServerOptions(proxies=proxies)) as server:
        await server.direct().send(Request(Verb.CREATE, CRDS, body=definition()))
        await server.direct().send(Request(Verb.CREATE, WIDGETS, "default", body={"metadata": {"name": "w"}}))
        yield server


async def register(front: ApiServer, backend: ApiServer, port: int) -> None:
    service = {"metadata": {"name": "backend"}, "spec": {"type": "ExternalName", "externalName": "127.0.0.1"}}
    services = GroupVersionResource("", "v1", "services")
    await front.direct().send(Request(Verb.CREATE, services, "default", body=service))
    spec = {
        "group": "example.dev",
        "version": "v1",
        "groupPriorityMinimum": 1000,
        "versionPriority": 15,
        "service": {"namespace": "default", "name": "backend", "port": port},
        "caBundle": base64.b64encode(backend.identity.authority.certificate_pem).decode(),
    }
    apis = GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices")
    body = {"metadata": {"name": "v1.example.dev"}, "spec": spec}
    await front.direct().send(Request(Verb.CREATE, apis, body=body))
    request = Request(Verb.GET, apis, name="v1.example.dev")
    async with asyncio.timeout(10):
        async with front.direct().watch(Request(Verb.WATCH, apis, name="v1.example.dev")) as stream:
            async for _ in stream:
                found = orjson.loads(await front.direct().send(request))
                conditions = (found.get("status") or {}).get("conditions") or ()
                if any(condition["type"] == "Available" and condition["status"] == "True" for condition in conditions):
                    return
                assert all(condition["reason"] != "FailedDiscoveryCheck" for condition in conditions), conditions


async def test_a_group_of_another_server_is_served_with_the_caller_s_identity(front, backend, tmp_path):
    port = await backend.listen(hosts=[HOST])
    here = await front.listen()
    await register(front, backend, port)
    path = "/apis/example.dev/v1/namespaces/default/widgets"
    code, body = await call(front, here, path, "root", ["system:masters"], tmp_path)
    assert code == 200, body
    assert b'"name":"w"' in body
    code, body = await call(front, here, path, "bob", [], tmp_path)
    assert code == 403
    assert b'User \\"bob\\" cannot list' in body
    code, body = await call(front, here, "/apis", "root", ["system:masters"], tmp_path)
    assert b'"example.dev"' in body
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    aggregated = orjson.loads(await front.direct().raw("GET", "/apis", accept=accept))
    group = next(item for item in aggregated["items"] if item["metadata"]["name"] == "example.dev")
    assert [resource["resource"] for resource in group["versions"][0]["resources"]] == ["widgets"]


async def test_headers_of_anybody_else_are_ignored(backend, tmp_path):
    port = await backend.listen(hosts=[HOST])
    context = ssl.create_default_context(cadata=backend.identity.authority.certificate_pem.decode())
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    head = "GET /api/v1/secrets HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
    writer.write(f"{head}X-Remote-User: root\r\nX-Remote-Group: system:masters\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    assert b" 403 " in answer.splitlines()[0]
    assert b"system:anonymous" in answer
    assert ADMIN.groups[0].encode() not in answer
