"""Bootstrap tokens and the Secrets they are kept in."""

import base64
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from karmada.cli.failures import CommandError

TYPE = "bootstrap.kubernetes.io/token"
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
_ID, _TOKEN = re.compile(r"[a-z0-9]{6}"), re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_USAGE = "usage-bootstrap-"


class Token(NamedTuple):
    """A token; its text is the secret."""

    id: str
    secret: str

    def __str__(self) -> str:
        return f"{self.id}.{self.secret}"

    @classmethod
    def random(cls) -> "Token":
        """A new one."""
        import secrets

        return cls(*("".join(secrets.choice(_ALPHABET) for _ in range(length)) for length in (6, 16)))


def identifier(text: str) -> str:
    """The id of a token given by its id or in full."""
    if _ID.fullmatch(text):
        return text
    full = _TOKEN.fullmatch(text)
    if full is None:
        pattern = r'"\\A([a-z0-9]{6})\\z"'
        raise CommandError(f"given token didn't match pattern {pattern} or {pattern}")
    return full.group(1)


def secret(
    token: Token, namespace: str, usages: Sequence[str], groups: Sequence[str], description: str, expires: float | None
) -> dict[str, Any]:
    """The Secret of a token."""
    data = {"token-id": token.id, "token-secret": token.secret}
    data |= {f"{_USAGE}{usage}": "true" for usage in usages}
    if expires is not None:
        from datetime import UTC, datetime

        from karmada.api.timestamps import to_time

        data["expiration"] = to_time(datetime.fromtimestamp(expires, UTC))
    if description:
        data["description"] = description
    if groups:
        data["auth-extra-groups"] = ",".join(groups)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"bootstrap-token-{token.id}", "namespace": namespace},
        "type": TYPE,
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }


def row(found: dict[str, Any], now: float) -> list[str]:
    """A token as a line of the list."""
    data = {key: base64.b64decode(value).decode() for key, value in (found.get("data") or {}).items()}
    expires = data.get("expiration", "")
    usages = sorted(
        key.removeprefix(_USAGE) for key, value in data.items() if key.startswith(_USAGE) and value == "true"
    )
    return [
        f"{data.get('token-id', '')}.{data.get('token-secret', '')}",
        _left(expires, now) if expires else "<forever>",
        expires or "<never>",
        ",".join(usages) or "<none>",
        data.get("description") or "<none>",
        data.get("auth-extra-groups") or "<none>",
    ]


def _left(expires: str, now: float) -> str:
    from karmada.api.duration import human
    from karmada.api.timestamps import parse

    left = parse(expires).timestamp() - now
    return human(left) if left > 0 else "<invalid>"


def key_hash(certificate: bytes) -> str:
    """The hash by which a new member recognises the control plane's authority."""
    import hashlib

    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    from cryptography.x509 import load_pem_x509_certificate

    if not certificate:
        raise CommandError("the kubeconfig names no certificate authority: new members could not trust the server")
    key = load_pem_x509_certificate(certificate).public_key()
    return "sha256:" + hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()
