"""Whose certificates a group server believes: given by flags, else as the API server publishes it."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource

Serving = Callable[[], tuple[bytes, bytes]]
"""Reads certificate and key to serve with; asked again and again, as they are rotated."""
_CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom the server believes: CAs of clients, and of the proxy that speaks for them, with its allowed names."""

    client_ca: bytes = b""
    proxy_ca: bytes = b""
    proxy_names: Sequence[str] = ()


async def trust_of(flags: Namespace, hub: Client) -> Trust:
    """What flags say, else what the API server publishes for servers beside it."""
    published = await _published(hub)
    names = [name for name in flags.requestheader_allowed_names.split(",") if name]
    if not names:
        names = orjson.loads(published.get("requestheader-allowed-names") or "[]")
    return Trust(
        _given(flags.client_ca_file) or published.get("client-ca-file", "").encode(),
        _given(flags.requestheader_client_ca_file) or published.get("requestheader-client-ca-file", "").encode(),
        names,
    )


def serving_of(flags: Namespace) -> Serving | None:
    """The certificate that flags name; None where the server makes its own."""
    certificate, key = flags.tls_cert_file, flags.tls_private_key_file
    return None if certificate is None or key is None else lambda: (certificate.read_bytes(), key.read_bytes())


async def _published(hub: Client) -> dict[str, str]:
    try:
        found = await hub.resource(_CONFIG_MAPS).get("extension-apiserver-authentication", "kube-system")
    except NotFound:
        return {}
    return dict(found.get("data") or {})


def _given(path: Path | None) -> bytes:
    return path.read_bytes() if path is not None else b""
