"""How karmada-webhook serves: what it logs of a review that fails, and with which certificate it answers."""

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives import hashes
from OpenSSL import SSL

from karmada.api.feature_gates import DEFAULTS
from karmada.apiserver.auth.pki import Authority, server_names
from karmada.machinery.clock import LoopClock
from karmada.webhook.main import context_of, parser, renew
from karmada.webhook.reviews import Settings
from karmada.webhook.server import WebhookServer

SECRET = "s3cret"


class Broken:
    """A lookup whose errors quote what it was asked about."""

    async def list(self, api_version: str, kind: str, namespace: str = "") -> list[dict[str, Any]]:
        raise ValueError(SECRET)

    async def replace_status(self, api_version: str, kind: str, tree: dict[str, Any], dry_run: bool) -> None:
        raise AssertionError("there is nothing to write")


async def test_a_review_that_fails_is_logged_without_what_it_was_about(caplog: pytest.LogCaptureFixture) -> None:
    webhook = WebhookServer(Settings(Broken(), DEFAULTS))
    port = await webhook.listen("127.0.0.1", 0, None)
    spec = {"target": {"apiVersion": "v1", "kind": "Pod"}, "customizations": {}}
    request = {"uid": "u", "operation": "CREATE", "object": {"metadata": {"name": "c"}, "spec": spec}}
    path = "/validate-resourceinterpretercustomization"
    with caplog.at_level(logging.ERROR):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = orjson.dumps({"request": request})
        head = f"POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert SECRET.encode() not in answer
    await webhook.close()
    assert f"{path} failed with ValueError" in caplog.text
    assert "in list" in caplog.text, "where it failed"
    assert "s3cret" not in caplog.text


class Turns(LoopClock):
    """A clock on which every pause lasts until a test ends it."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[None] = asyncio.Queue()
        self.ended: asyncio.Queue[None] = asyncio.Queue()

    async def sleep(self, seconds: float) -> None:
        self.begun.put_nowait(None)
        await self.ended.get()


def certificate_of(tls: SSL.Context, client: SSL.Context | None = None) -> bytes:
    """What a client of the server gets to see, by a handshake in memory."""
    request = SSL.Connection(client or SSL.Context(SSL.TLS_CLIENT_METHOD), None)
    answering = SSL.Connection(tls, None)
    request.set_connect_state()
    answering.set_accept_state()
    for side, other in [(request, answering), (answering, request)] * 3:
        with contextlib.suppress(SSL.WantReadError):
            side.do_handshake()
        with contextlib.suppress(SSL.WantReadError):
            other.bio_write(side.bio_read(65536))
    shown = request.get_peer_certificate(as_cryptography=True)
    assert shown is not None
    return shown.fingerprint(hashes.SHA256())


async def test_a_pair_that_does_not_fit_leaves_the_last_one_in_use(tmp_path: Path) -> None:
    authority = Authority.create("test")
    pairs = [authority.issue_server("karmada-webhook", server_names(("127.0.0.1",))) for _ in range(2)]

    def put(certificate: bytes, key: bytes) -> None:
        (tmp_path / "tls.crt").write_bytes(certificate)
        (tmp_path / "tls.key").write_bytes(key)

    put(*pairs[0])
    flags = parser().parse(["--cert-dir", str(tmp_path)])
    used, clock = [context_of(flags)], Turns()
    running = asyncio.create_task(renew(used.append, flags, clock))
    await clock.begun.get()
    served = [certificate_of(used[-1])]
    for pair in [(pairs[1][0], pairs[0][1]), pairs[1]]:
        put(*pair)
        clock.ended.put_nowait(None)
        await clock.begun.get()
        served.append(certificate_of(used[-1]))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert served[0] == served[1] != served[2]


def test_clients_of_tls_1_2_are_refused_unless_a_flag_admits_them(tmp_path: Path) -> None:
    certificate, key = Authority.create("test").issue_server("karmada-webhook", server_names(("127.0.0.1",)))
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    old = SSL.Context(SSL.TLS_CLIENT_METHOD)
    old.set_max_proto_version(SSL.TLS1_2_VERSION)
    with pytest.raises(SSL.Error):
        certificate_of(context_of(parser().parse(["--cert-dir", str(tmp_path)])), old)
    certificate_of(context_of(parser().parse(["--cert-dir", str(tmp_path), "--tls-min-version", "1.2"])), old)
