"""Finding a control plane by a token: what register says while it does not answer, and which CAs it then trusts."""

import base64
import socket
import ssl
from collections.abc import Sequence

import orjson
import pytest

from karmada.apiserver.auth.pki import Authority
from karmada.apiserver.controllers.cluster_info import signature
from karmada.machinery.clock import LoopClock
from karmada.machinery.http.target import Target
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse
from karmada.machinery.httpserver.server import HttpServer
from karmada.membership.cluster_info import discover
from karmada.membership.refusal import Refused
from karmada.membership.token import Token, pins, register_command

TOKEN = Token("abcdef", "0123456789abcdef")
REAL, NEXT, STRANGE = (Authority.create(name).certificate_pem for name in ("real", "next", "strange"))
(REAL_PIN,), (NEXT_PIN,), (STRANGE_PIN,) = pins(REAL), pins(NEXT), pins(STRANGE)
TEXT = "the CA of the control plane, Zürich\n".encode()


class Hurried(LoopClock):
    """A clock of which nobody waits for the seconds."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        self._seconds += seconds


async def test_a_control_plane_that_refuses_connections_is_named_once_while_it_is_waited_for() -> None:
    said: list[str] = []
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(Refused, match="refused"):
            await discover(endpoint, TOKEN, (), patience=20.0, clock=Hurried(), say=said.append)
        with pytest.raises(Refused, match="refused"):
            await discover(endpoint, TOKEN, (), patience=4.0, clock=Hurried(), say=said.append)
    assert len(said) == 1
    assert said[0].startswith(f"[discovery] Waiting for https://{endpoint}, up to 20 s: ")
    assert "refused" in said[0]


async def found(bundle: bytes, pinned: Sequence[str], said: list[str] | None = None) -> Target:
    """What register makes of a `cluster-info` with a bundle of CAs, signed by somebody who has the token."""
    cluster = {"server": "https://hub", "certificate-authority-data": base64.b64encode(bundle).decode()}
    content = orjson.dumps({"clusters": [{"name": "", "cluster": cluster}]}).decode()
    data = {"kubeconfig": content, f"jws-kubeconfig-{TOKEN.id}": signature(content, TOKEN.id, TOKEN.secret)}

    async def answer(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, orjson.dumps({"metadata": {"name": "cluster-info"}, "data": data}))

    server = HttpServer(answer)
    address = f"http://127.0.0.1:{await server.listen('127.0.0.1', 0)}"
    say = said.append if said is not None else str
    try:
        return await discover(address, TOKEN, pinned, patience=0.0, clock=Hurried(), say=say)
    finally:
        await server.stop(0)


def names(authority: bytes) -> list[str]:
    """Whom TLS trusts by a bundle."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=authority.decode("ascii"))
    return sorted(dict(entry[0] for entry in one["subject"])["commonName"] for one in context.get_ca_certs())


@pytest.mark.parametrize(
    ("bundle", "pinned", "trusted"),
    [
        (REAL, [REAL_PIN], ["real"]),
        (REAL + STRANGE, [REAL_PIN], ["real"]),
        (STRANGE + REAL, [REAL_PIN], ["real"]),
        (TEXT + REAL + TEXT + STRANGE, [REAL_PIN], ["real"]),
        (STRANGE + REAL + NEXT, [NEXT_PIN, REAL_PIN], ["next", "real"]),
        (REAL + REAL, [REAL_PIN, NEXT_PIN], ["real"]),
    ],
    ids=["alone", "first", "second", "after text", "two pinned", "twice"],
)
async def test_no_ca_is_trusted_that_is_not_pinned(bundle: bytes, pinned: list[str], trusted: list[str]) -> None:
    target = await found(bundle, pinned)
    assert names(target.authority.data) == trusted
    assert set(pins(target.authority.data)) == {pin for pin in pins(bundle) if pin in pinned}


async def test_register_names_the_cas_that_are_not_pinned() -> None:
    said: list[str] = []
    await found(REAL + STRANGE, [REAL_PIN], said)
    (line,) = said
    assert STRANGE_PIN in line
    assert REAL_PIN not in line


@pytest.mark.parametrize(
    ("bundle", "message"),
    [
        (STRANGE + NEXT, f'none of the public keys "{STRANGE_PIN}, {NEXT_PIN}" are pinned'),
        (b"", "the certificate authority of the control plane cannot be read"),
        (REAL.replace(b"MII", b"AAA", 1), "the certificate authority of the control plane cannot be read"),
    ],
    ids=["none is pinned", "there is none", "no certificate"],
)
async def test_a_control_plane_without_a_pinned_ca_is_refused(bundle: bytes, message: str) -> None:
    with pytest.raises(Refused, match=message):
        await found(bundle, [REAL_PIN])


async def test_whoever_skips_the_verification_trusts_what_is_there() -> None:
    assert (await found(REAL + STRANGE, ())).authority.data == REAL + STRANGE


def test_the_command_has_a_pin_for_each_ca_of_the_control_plane() -> None:
    assert register_command("https://hub:6443", TOKEN, REAL + NEXT) == (
        f"karmadactl register hub:6443 --token {TOKEN} "
        f"--discovery-token-ca-cert-hash {REAL_PIN} --discovery-token-ca-cert-hash {NEXT_PIN}"
    )
