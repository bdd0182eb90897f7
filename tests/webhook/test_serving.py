"""How karmada-webhook serves: what it logs of a review that fails, and with which certificate it answers."""

import asyncio
import logging
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest

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
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"http://127.0.0.1:{port}{path}", json={"request": request}) as answer,
        ):
            assert answer.status == 500
            assert "s3cret" not in await answer.text()
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


def certificate_of(tls: ssl.SSLContext, authority: Authority) -> bytes:
    """What a client of the server gets to see, by a handshake in memory."""
    client = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    answering = tls.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(5):
        for side in (asking, answering):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return asking.getpeercert(binary_form=True) or b""


async def test_a_pair_that_does_not_fit_leaves_the_last_one_in_use(tmp_path: Path) -> None:
    authority = Authority.create("test")
    pairs = [authority.issue_server("karmada-webhook", server_names(("127.0.0.1",))) for _ in range(2)]

    def put(certificate: bytes, key: bytes) -> None:
        (tmp_path / "tls.crt").write_bytes(certificate)
        (tmp_path / "tls.key").write_bytes(key)

    put(*pairs[0])
    flags = parser().parse(["--cert-dir", str(tmp_path)])
    tls, clock = context_of(flags), Turns()
    running = asyncio.create_task(renew(tls, flags, clock))
    await clock.begun.get()
    served = [certificate_of(tls, authority)]
    for pair in [(pairs[1][0], pairs[0][1]), pairs[1]]:
        put(*pair)
        clock.ended.put_nowait(None)
        await clock.begun.get()
        served.append(certificate_of(tls, authority))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert served[0] == served[1] != served[2]
