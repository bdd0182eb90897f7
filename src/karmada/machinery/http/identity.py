"""What says who we are: the headers of requests and the certificate of connections."""

import base64
from typing import NamedTuple

from karmada.machinery.errors import Unauthorized
from karmada.machinery.http.target import NOTHING, Material, Target

_TOKEN_BYTES = bytes(range(0x21, 0x7F))


class Credentials(NamedTuple):
    """What goes along with a request and its connection."""

    headers: bytes = b""
    certificate: Material = NOTHING
    key: Material = NOTHING


def fixed(target: Target) -> Credentials | None:
    """The credentials of an identity for which nothing has to be read or asked; None for others."""
    identity = target.identity
    if identity.plugin is not None or identity.token.path:
        return None
    headers = impersonation(target)
    if identity.token:
        headers += bearer(identity.token.data)
    elif identity.username:
        pair = f"{identity.username}:{identity.password}".encode()
        headers += b"Authorization: Basic " + base64.b64encode(pair) + b"\r\n"
    return Credentials(headers, identity.certificate, identity.key)


def bearer(token: bytes) -> bytes:
    """The header line of a token."""
    token = token.strip()
    if token.translate(None, _TOKEN_BYTES):
        raise Unauthorized("the token has characters in it that no token has")
    return b"Authorization: Bearer " + token + b"\r\n"


def impersonation(target: Target) -> bytes:
    """The header lines that say as whom requests are made."""
    identity = target.identity
    lines = [("Impersonate-User", identity.impersonate_user), ("Impersonate-Uid", identity.impersonate_uid)]
    lines += [("Impersonate-Group", group) for group in identity.impersonate_groups]
    if not any(value for _, value in lines):
        return b""
    from urllib.parse import quote

    return b"".join(f"{name}: {quote(value, safe=' :/@-._~!$&()*+,;=')}\r\n".encode() for name, value in lines if value)
