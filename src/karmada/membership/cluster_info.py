"""Finding a control plane by a token: its address and CA are believed only when signed with the token, and pinned.

The first answer comes over a connection that nothing vouches for. What makes it trustworthy is a signature that only
someone who knows the token can make, and the pin of the CA which the person who registers was given.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.http.target import Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.membership import objects
from karmada.membership.refusal import Refused
from karmada.membership.token import Token, by_pin

PAUSE = 1.0
QUIET = 5.0
"""Seconds after which it is said what is waited for."""
_DOUBT = "couldn't validate the identity of the API Server: "


async def discover(
    endpoint: str,
    token: Token,
    pins: Sequence[str],
    *,
    patience: float = 300.0,
    clock: Clock = REAL,
    say: Callable[[str], None] = lambda _: None,
) -> Target:
    """The control plane behind an address, without credentials; raises `Refused` when it cannot be trusted.

    Only CAs that are pinned are trusted, unless there are no pins. `say` gets what it waits for, and which CAs are not
    trusted.
    """
    server = endpoint if "://" in endpoint else f"https://{endpoint}"
    config = await _signed(server, token, patience, clock, say)
    authority = _authority(config)
    if pins:
        authority = _pinned(authority, pins, say)
    return Target(str(config["clusters"][0]["cluster"].get("server") or server), Material(authority))


def unverified_target(content: str) -> Target:
    """The control plane as `cluster-info` describes it, for those who trust where they read it."""
    config = _config(content)
    return Target(str(config["clusters"][0]["cluster"].get("server") or ""), Material(_authority(config)))


async def _signed(
    server: str, token: Token, patience: float, clock: Clock, say: Callable[[str], None]
) -> dict[str, Any]:
    """The content of `cluster-info` once it carries a good signature."""
    said, begun = "", clock.monotonic()
    until = begun + patience
    hub = Client(HttpTransport(Target(server, insecure=True)), timeout=10.0)
    try:
        while True:
            try:
                found = await hub.resource(objects.CONFIG_MAPS).get("cluster-info", "kube-public")
                return _verified(_texts(found.get("data")), token)
            except (ApiError, _NotSigned) as error:
                text = "there is no cluster-info ConfigMap" if isinstance(error, NotFound) else str(error)
                if clock.monotonic() >= until:
                    raise Refused(_DOUBT + text) from None
                if text != said and clock.monotonic() - begun >= QUIET:
                    said = text
                    say(f"[discovery] Waiting for {server}, up to {patience:g} s: {text}")
            await clock.sleep(PAUSE)
    finally:
        await hub.close()


class _NotSigned(Exception):
    """No signature for the token yet: it may be on its way."""


def _texts(data: Any) -> dict[str, str]:
    """The data of a ConfigMap that nothing vouches for yet."""
    return {key: text for key, text in data.items() if isinstance(text, str)} if isinstance(data, dict) else {}


def _verified(data: dict[str, str], token: Token) -> dict[str, Any]:
    signature = data.get(f"jws-kubeconfig-{token.id}", "")
    if not signature:
        raise _NotSigned(f'could not find a JWS signature in the cluster-info ConfigMap for token ID "{token.id}"')
    content = data.get("kubeconfig", "")
    if not is_signed(content, signature, token):
        raise Refused(
            f"{_DOUBT}failed to verify JWS signature of received cluster info object, can't trust this API Server"
        )
    return _config(content)


def is_signed(content: str, signature: str, token: Token) -> bool:
    """Whether a detached JWS (HS256) of a text was made with a token."""
    parts = signature.split(".")
    if len(parts) != 3 or parts[1]:
        return False
    try:
        header = orjson.loads(_decoded(parts[0]))
    except (orjson.JSONDecodeError, binascii.Error):
        return False
    if not isinstance(header, dict) or header.get("alg") != "HS256" or header.get("kid") != token.id:
        return False
    payload = base64.urlsafe_b64encode(content.encode()).rstrip(b"=")
    digest = hmac.new(token.secret.encode(), parts[0].encode() + b"." + payload, hashlib.sha256).digest()
    expected = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return hmac.compare_digest(expected, parts[2])


def _config(content: str) -> dict[str, Any]:
    import yaml

    config = yaml.safe_load(content)
    if not isinstance(config, dict) or not config.get("clusters"):
        raise Refused(f"{_DOUBT}the cluster-info ConfigMap names no cluster")
    return config


def _authority(config: dict[str, Any]) -> bytes:
    return base64.b64decode(config["clusters"][0]["cluster"].get("certificate-authority-data") or "")


def _pinned(bundle: bytes, pins: Sequence[str], say: Callable[[str], None]) -> bytes:
    """The pinned CAs of a bundle: another one beside them could be of somebody who has the token and signed with it."""
    doubt = f"{_DOUBT}cluster CA found in cluster-info ConfigMap is invalid: "
    try:
        found = by_pin(bundle)
    except Refused as error:
        raise Refused(f"{doubt}{error}") from None
    trusted = {pin: authority for pin, authority in found.items() if pin in pins}
    others = ", ".join(pin for pin in found if pin not in trusted)
    if not trusted:
        raise Refused(f'{doubt}none of the public keys "{others}" are pinned')
    if others:
        say(f"[discovery] Not trusted, as they are not pinned: CAs of cluster-info with the public keys {others}")
    return b"".join(trusted.values())


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
