import asyncio
import contextlib
import datetime
import ssl

import pytest

from karmada.apiserver.auth.pki import Authority, ensure_authority, ensure_serving, server_names
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.httpserver.timeouts import Timeouts
from karmada.machinery.httpserver.tls import server_context

REQUEST = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.create("tls-ca")


@pytest.fixture
async def port(authority):
    async def handler(request: HttpRequest) -> HttpResponse:
        if request.path == "/big":
            return HttpResponse(200, b"x" * 3_000_000)
        return HttpResponse(200, str(len(request.body)).encode() if request.body else request.certificate or b"none")

    certificate, key = authority.issue_server("server", server_names(["127.0.0.1"]))
    context = server_context(certificate, key, authority.certificate_pem)
    server = HttpServer(handler, tls=context, timeouts=Timeouts(handshake=0.2))
    yield await server.listen("127.0.0.1", 0)
    await server.stop(grace=1)


def client_context(authority, tmp_path, client=None, expired=False, version=None):
    context = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    if version is not None:
        context.maximum_version = version
    if client is not None:
        at = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=800) if expired else None
        certificate, key = client.issue_client("alice", ["dev"], at=at)
        path = tmp_path / "client.pem"
        path.write_bytes(certificate + key)
        context.load_cert_chain(path)
    return context


async def exchange(port, context, request=REQUEST):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), 10)
    chosen = writer.get_extra_info("ssl_object")
    writer.close()
    return answer.partition(b"\r\n\r\n")[2], chosen


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2])
async def test_clients_without_certificate_are_served(port, authority, tmp_path, version):
    body, chosen = await exchange(port, client_context(authority, tmp_path, version=version))
    assert body == b"none"
    assert chosen.version() == version.name.replace("_", ".")


@pytest.mark.parametrize("kind", ["trusted", "untrusted", "expired"])
async def test_any_certificate_passes_the_handshake_and_reaches_the_handler(port, authority, tmp_path, kind):
    client = Authority.create("evil") if kind == "untrusted" else authority
    body, _ = await exchange(port, client_context(authority, tmp_path, client, kind == "expired"))
    assert body[:1] == b"\x30"


async def test_only_http_1_1_is_negotiated(port, authority, tmp_path):
    context = client_context(authority, tmp_path)
    context.set_alpn_protocols(["h2", "http/1.1"])
    _, chosen = await exchange(port, context)
    assert chosen.selected_alpn_protocol() == "http/1.1"


async def test_large_bodies_travel_both_ways(port, authority, tmp_path):
    context = client_context(authority, tmp_path)
    head = b"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2000000\r\n\r\n"
    assert (await exchange(port, context, head + b"y" * 2_000_000))[0] == b"2000000"
    body, _ = await exchange(port, context, b"GET /big HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert len(body) == 3_000_000


async def test_plain_http_gets_an_explanation(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(REQUEST)
    assert b"Client sent an HTTP request to an HTTPS server" in await reader.read()
    writer.close()


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01"])
async def test_a_handshake_that_stalls_is_cut_off(port, sent):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    with contextlib.suppress(ConnectionResetError):
        assert await asyncio.wait_for(reader.read(), 10) == b""
    writer.close()


async def test_noise_after_a_tls_header_does_no_harm(port, authority, tmp_path):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"\x16\x03\x01\x00\x10" + b"\xff" * 16)
    await asyncio.wait_for(reader.read(), 10)
    writer.close()
    assert (await exchange(port, client_context(authority, tmp_path)))[0] == b"none"


# Files.


def test_keys_are_private_and_kept(tmp_path):
    first = ensure_authority(tmp_path / "pki", "ca")
    assert (tmp_path / "pki" / "ca.key").stat().st_mode & 0o777 == 0o600
    assert ensure_authority(tmp_path / "pki", "ca").certificate == first.certificate


def test_a_serving_certificate_is_renewed_before_it_expires_and_when_hosts_change(tmp_path):
    authority = ensure_authority(tmp_path, "ca")
    first = ensure_serving(tmp_path, authority, ["a"])
    assert (tmp_path / "apiserver.key").stat().st_mode & 0o777 == 0o600
    assert ensure_serving(tmp_path, authority, ["a"]) == first
    assert ensure_serving(tmp_path, authority, ["a", "10.0.0.1"]) != first
    kept = ensure_serving(tmp_path, authority, ["a"])
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=300)
    assert ensure_serving(tmp_path, authority, ["a"], later) != kept


async def test_a_renewed_certificate_serves_new_connections(authority, tmp_path):
    async def handler(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, b"ok")

    def context():
        return server_context(*authority.issue_server("server", server_names(["127.0.0.1"])))

    server = HttpServer(handler, tls=context(), renew=context)
    port = await server.listen("127.0.0.1", 0)
    client = client_context(authority, tmp_path)
    _, before = await exchange(port, client)
    server.renew()
    _, after = await exchange(port, client)
    assert before.getpeercert()["serialNumber"] != after.getpeercert()["serialNumber"]
    await server.stop()


async def test_a_renewal_that_fails_keeps_the_old_certificate(authority, tmp_path):
    def broken():
        raise OSError("disk full")

    async def handler(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, b"ok")

    first = server_context(*authority.issue_server("server", server_names(["127.0.0.1"])))
    server = HttpServer(handler, tls=first, renew=broken)
    port = await server.listen("127.0.0.1", 0)
    server.renew()
    assert (await exchange(port, client_context(authority, tmp_path)))[0] == b"ok"
    await server.stop()
