"""Front proxies: another API server that has authenticated the user already and names it in `X-Remote-*` headers.

The headers count only on connections whose client certificate is from the proxies' own CA and bears an allowed name;
on every other connection they are ignored. The proxies' CA signs for nobody else: were it the CA of clients, whoever
gets a certificate with the allowed name could name any user.
"""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote

import orjson
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from karmada.apiserver.auth.certificates import CertificateAuthenticator, with_authenticated
from karmada.apiserver.auth.model import UserInfo

CLIENT_NAME = "front-proxy-client"
_EXTRA = "x-remote-extra-"


class FrontProxies:
    """Believes the headers of proxies with a certificate of these CAs; no names allow every name."""

    def __init__(self, authorities: bytes, names: Sequence[str], clock: Callable[[], float]) -> None:
        self._certificates = CertificateAuthenticator(authorities, clock)
        self._names = frozenset(names)

    def authenticate(self, headers: Mapping[str, str], certificate: bytes | None) -> UserInfo | None:
        """The user a proxy names; None when no trusted proxy speaks."""
        name = headers.get("x-remote-user", "")
        if not name or certificate is None:
            return None
        proxy = self._certificates.authenticate(certificate)
        if proxy is None or (self._names and proxy.name not in self._names):
            return None
        extra = {
            unquote(header.removeprefix(_EXTRA)): tuple(value.split("\n"))
            for header, value in headers.items()
            if header.startswith(_EXTRA)
        }
        groups = headers.get("x-remote-group", "")
        return UserInfo(
            name, with_authenticated(groups.split("\n") if groups else []), headers.get("x-remote-uid", ""), extra
        )


def refuse_shared_authority(clients: bytes, proxies: bytes) -> None:
    """Raise ValueError when a CA (PEM) of clients is also one of front proxies, under whatever name."""
    keys = [
        {
            certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
            for certificate in (x509.load_pem_x509_certificates(pem) if pem else ())
        }
        for pem in (clients, proxies)
    ]
    if keys[0] & keys[1]:
        raise ValueError(
            "the CA of front proxies is also the CA of clients, so that a client's certificate could name any user: "
            "give front proxies a CA of their own (--requestheader-client-ca-file)"
        )


def trust_document(clients: bytes, proxies: bytes, names: Sequence[str]) -> dict[str, str]:
    """What other servers need to know to believe this one: data of kube-system/extension-apiserver-authentication."""
    return {
        "client-ca-file": clients.decode(),
        "requestheader-allowed-names": orjson.dumps(list(names)).decode(),
        "requestheader-client-ca-file": proxies.decode(),
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-username-headers": '["X-Remote-User"]',
    }
