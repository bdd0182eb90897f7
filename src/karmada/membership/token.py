"""Bootstrap tokens: how a cluster that registers shows that it may, and how it knows the control plane.

A token is `id.secret`, kept as a Secret of the control plane. The server signs `cluster-info` with it and takes it
for a member of the token's groups until it expires.
"""

import base64
import hashlib
import re
import secrets
import string
from collections.abc import Sequence
from dataclasses import dataclass, field

from karmada.api import names
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock, parse_rfc3339, rfc3339
from karmada.machinery.errors import NotFound
from karmada.machinery.resource import Scope
from karmada.machinery.transport import JSONObject
from karmada.membership import objects
from karmada.membership.agent_grant import NOTHING, Grant, noted
from karmada.membership.refusal import Refused
from karmada.membership.registration import check_name

SPACE = "kube-system"
TOKEN_TYPE = "bootstrap.kubernetes.io/token"
USAGES = ("signing", "authentication")
DAY = 24 * 3600.0
_ALPHABET = string.ascii_lowercase + string.digits
_ID = re.compile(r"\A([a-z0-9]{6})\Z")
_TOKEN = re.compile(r"\A([a-z0-9]{6})\.([a-z0-9]{16})\Z")
_GROUP_PATTERN = r"\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\Z"
_GROUP = re.compile(_GROUP_PATTERN)
_SHOWN_ID, _SHOWN_TOKEN = r"\\A([a-z0-9]{6})\\z", r"\\A([a-z0-9]{6})\\.([a-z0-9]{16})\\z"


@dataclass(frozen=True, slots=True)
class Token:
    """A bootstrap token."""

    id: str
    secret: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.id}.{self.secret}"


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A token as it is listed; `expires` is in seconds since the epoch."""

    token: Token
    expires: float | None
    usages: tuple[str, ...]
    description: str
    groups: tuple[str, ...]


def new_token() -> Token:
    """A token nobody can guess."""
    return Token(_random(6), _random(16))


def parse(text: str) -> Token:
    """The token a person typed."""
    match = _TOKEN.match(text)
    if match is None:
        raise Refused(f'the bootstrap token "{text}" was not of the form "{_SHOWN_TOKEN}"')
    return Token(match[1], match[2])


async def create(
    hub: Client,
    token: Token,
    *,
    ttl: float = DAY,
    usages: Sequence[str] = USAGES,
    groups: Sequence[str] = (names.BOOTSTRAP_GROUP,),
    description: str = "",
    grant: Grant = NOTHING,
    clock: Clock = REAL,
) -> None:
    """Keep a token; a `ttl` of zero means for ever. `grant` is what those may who register with it."""
    grant.check()
    _check(ttl, usages, groups, grant)
    data = {"token-id": token.id, "token-secret": token.secret}
    if description:
        data["description"] = description
    if ttl:
        data["expiration"] = rfc3339(clock.now() + ttl)
    data |= {f"usage-bootstrap-{usage}": "true" for usage in usages}
    if groups:
        data["auth-extra-groups"] = ",".join(groups)
    made = objects.secret(names.BOOTSTRAP_TOKEN_PREFIX + token.id, SPACE, {k: v.encode() for k, v in data.items()})
    del made["metadata"]["labels"]
    if allowed := noted(grant):
        made["metadata"]["annotations"] = allowed
    await hub.resource(objects.SECRETS).create(made | {"type": TOKEN_TYPE})


def _check(ttl: float, usages: Sequence[str], groups: Sequence[str], grant: Grant) -> None:
    """Refuse a token that would be of no use to anybody."""
    if ttl < 0:
        raise Refused("a token cannot have ended before it is made: --ttl takes a time to come, or 0 for ever")
    for usage in usages or [""]:
        if usage not in USAGES:
            raise Refused(f'"{usage}" is no usage of a token: --usages takes {", ".join(USAGES)}')
    for group in groups:
        if not _GROUP.match(group):
            raise Refused(f'"{group}" is no group of tokens: --groups takes names that match "{_GROUP_PATTERN}"')
    for name in grant.clusters:
        check_name(name)


async def list_tokens(hub: Client) -> list[TokenInfo]:
    """All tokens, by name."""
    found = (await hub.resource(objects.SECRETS).list(Scope(SPACE, fields=f"type={TOKEN_TYPE}"))).items
    return [_info(tree) for tree in sorted(found, key=lambda tree: str(tree["metadata"]["name"]))]


async def delete(hub: Client, given: str) -> str:
    """Forget a token, given in full or by its id; returns the id."""
    match = _ID.match(given) or _TOKEN.match(given)
    if match is None:
        # Both alternatives are shown as the same pattern, as users of the reference know the message.
        raise Refused(f'given token didn\'t match pattern "{_SHOWN_ID}" or "{_SHOWN_ID}"')
    name = names.BOOTSTRAP_TOKEN_PREFIX + match[1]
    try:
        await hub.resource(objects.SECRETS).delete(name, SPACE)
    except NotFound as error:
        raise Refused(f'failed to delete secret "{name}", err: {error}') from None
    return match[1]


def by_pin(bundle: bytes) -> dict[str, bytes]:
    """The CAs of a bundle by the pins of their keys, each as PEM and nothing else; `Refused` if there are none."""
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    found: dict[str, bytes] = {}
    try:
        for authority in x509.load_pem_x509_certificates(bundle):
            key = authority.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
            pin = f"sha256:{hashlib.sha256(key).hexdigest()}"
            found[pin] = found.get(pin, b"") + authority.public_bytes(Encoding.PEM)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise Refused(f"the certificate authority of the control plane cannot be read: {error}") from None
    return found


def pins(bundle: bytes) -> list[str]:
    """What a person who registers compares: the pin of each CA of a bundle."""
    return list(by_pin(bundle))


def register_command(endpoint: str, token: Token, authority: bytes) -> str:
    """What to run in the cluster that is to register."""
    where = endpoint.removeprefix("https://")
    hashes = " ".join(f"--discovery-token-ca-cert-hash {pin}" for pin in pins(authority))
    return f"karmadactl register {where} --token {token} {hashes}"


def _info(tree: JSONObject) -> TokenInfo:
    data = {key: base64.b64decode(value).decode("utf-8", "replace") for key, value in (tree.get("data") or {}).items()}
    usages = tuple(sorted(key.removeprefix("usage-bootstrap-") for key, on in data.items() if _is_usage(key, on)))
    return TokenInfo(
        Token(data.get("token-id", ""), data.get("token-secret", "")),
        parse_rfc3339(data["expiration"]) if data.get("expiration") else None,
        usages,
        data.get("description", ""),
        tuple(group for group in data.get("auth-extra-groups", "").split(",") if group),
    )


def _is_usage(key: str, value: str) -> bool:
    return key.startswith("usage-bootstrap-") and value == "true"


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
