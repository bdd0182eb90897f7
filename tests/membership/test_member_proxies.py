"""Members behind a proxy: status, Works' way and `clusters/proxy` all go through it, whatever its kind."""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop
from tests.membership.proxies import StandInProxy
from tests.membership.test_proxy import through
from tests.membership.world import Member, World, eventually

from karmada.apiserver.auth.pki import server_names
from karmada.machinery.errors import ApiError, Unavailable
from karmada.machinery.http.target import Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.membership import objects
from karmada.membership.join import join

KINDS = ("http", "https", "socks5")
LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


def serving(member: Member, folder: Path) -> ssl.SSLContext:
    """The TLS side of a proxy, with a certificate of the member's own CA."""
    certificate, key = member.server.identity.authority.issue_server("proxy", server_names(["127.0.0.1"]))
    (folder / "proxy.pem").write_bytes(certificate + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "proxy.pem")
    return context


@pytest.mark.parametrize("scheme", KINDS)
async def test_a_member_behind_a_proxy_becomes_ready_and_is_reached_through_it(
    world: World, tmp_path: Path, scheme: str
) -> None:
    member = await world.member("member1")
    tls = serving(member, tmp_path) if scheme == "https" else None
    world.endpoint = await world.plane.listen()
    async with StandInProxy(scheme, tls, login=True) as proxy:
        fields = {"proxy_url": proxy.url, "proxy_headers": {"X-Fleet": "one,two"}}
        await join(member.client, world.hub, member.describe(**fields))
        await world.ready("member1")
        await eventually(lambda: member.client.resource(objects.CLUSTER_ROLES).get("karmada-impersonator"))
        before = len(proxy.received)
        assert before > 0
        client = through(world, "member1")
        assert await client.resource(objects.NAMESPACES).get("default")
        assert len(proxy.received) > before
        await client.close()
        if scheme != "socks5":
            assert "X-Fleet: one\r\nX-Fleet: two\r\n" in proxy.received[0]
            assert "Proxy-Authorization: Basic" in proxy.received[0]
        assert not [head for head in proxy.received if "Bearer" in head]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("scheme", KINDS)
def test_tls_works_inside_every_proxy_on_every_event_loop(tmp_path: Path, scheme: str, loop: str) -> None:
    async def run() -> None:
        from karmada.apiserver.server import ApiServer

        async with ApiServer() as server:
            port = await server.listen()
            member = Member("m", server, f"https://127.0.0.1:{port}")
            tls = serving(member, tmp_path) if scheme == "https" else None
            authority = Material(server.identity.authority.certificate_pem)
            async with StandInProxy(scheme, tls) as proxy:
                transport = HttpTransport(Target(member.endpoint, authority, proxy=proxy.url))
                assert b"gitVersion" in await transport.raw("GET", "/version")
                assert len(proxy.received) == 1
                await transport.close()

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(run())


async def failure_of(target: Target) -> str:
    transport = HttpTransport(target)
    try:
        with pytest.raises(ApiError) as refused:
            await transport.raw("GET", "/version")
    finally:
        await transport.close()
    assert isinstance(refused.value, Unavailable)
    return str(refused.value)


async def test_an_https_proxy_nobody_vouches_for_is_named(world: World, tmp_path: Path) -> None:
    member = await world.member("member1")
    async with StandInProxy("https", serving(member, tmp_path)) as proxy:
        assert "the proxy 127.0.0.1 cannot be trusted" in await failure_of(Target(member.endpoint, proxy=proxy.url))
        assert proxy.received == []


async def test_a_socks_proxy_that_refuses_says_why() -> None:
    async with StandInProxy("socks5", login=True) as proxy:
        stranger = f"socks5://somebody:else@127.0.0.1:{proxy.port}"
        assert "refused the name and password" in await failure_of(Target("http://m.example", proxy=stranger))
        anonymous = f"socks5://127.0.0.1:{proxy.port}"
        assert "wants another login" in await failure_of(Target("http://m.example", proxy=anonymous))
        assert "not allowed by its rules" in await failure_of(Target("http://forbidden.example:81", proxy=proxy.url))
        assert proxy.received == ["forbidden.example:81"], "it is the proxy that looks the name up"


@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        ("ftp://127.0.0.1:1", "a proxy must be http://, https:// or socks5://"),
        ("http://", "a proxy must be http://, https:// or socks5://"),
        ("socks5://127.0.0.1:1", "no connection to the proxy 127.0.0.1"),
    ],
    ids=["another scheme", "no host", "nobody listens"],
)
async def test_a_proxy_that_cannot_be_used_is_named(proxy: str, message: str) -> None:
    assert message in await failure_of(Target("http://m.example", proxy=proxy))


async def test_a_header_cannot_smuggle_another_one(world: World) -> None:
    member: Any = await world.member("member1")
    async with StandInProxy("http") as proxy:
        target = Target(member.endpoint, proxy=proxy.url, proxy_headers=(("X-A", "1\r\nX-B: 2"),))
        assert "control characters" in await failure_of(target)
        assert proxy.received == []
