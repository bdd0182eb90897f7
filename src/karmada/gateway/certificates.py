"""The certificates of the HTTPS listener: chosen by the name a client asks for, replaced while connections go on."""

from collections.abc import Mapping

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from OpenSSL import SSL

from karmada.apiserver.auth.pki import Authority, server_names
from karmada.gateway.routes import wildcard
from karmada.machinery.httpserver.tls import server_context

MOST_BITS = 4096
"""Of an RSA key: a handshake with 8,192 bits takes the loop that serves all hosts 70 ms, with 16,384 half a second."""
LARGEST = {"tls.crt": 32 * 1024, "tls.key": 8 * 1024}
"""Bytes; every handshake carries the whole chain."""


class BadCertificate(ValueError):
    """A Secret whose certificate cannot be used; the message says why, without what is in it."""


def context_of(data: Mapping[str, bytes]) -> SSL.Context:
    """The TLS context of a Secret of type kubernetes.io/tls; raises `BadCertificate`."""
    for field in ("tls.crt", "tls.key"):
        if not data.get(field):
            raise BadCertificate(f"it has no {field}: make it with `kubectl create secret tls`")
        if len(data[field]) > LARGEST[field]:
            raise BadCertificate(f"its {field} has more than {LARGEST[field]} bytes")
    try:
        public = x509.load_pem_x509_certificates(data["tls.crt"])[0].public_key()
        if isinstance(public, rsa.RSAPublicKey) and public.key_size > MOST_BITS:
            raise BadCertificate(f"its RSA key has {public.key_size} bits; at most {MOST_BITS} are used")
        context = server_context(data["tls.crt"], data["tls.key"])
    except BadCertificate:
        raise
    except (ValueError, TypeError, IndexError, UnsupportedAlgorithm, SSL.Error) as error:
        raise BadCertificate(f"certificate and key cannot be used together ({type(error).__name__})") from None
    context.set_verify(SSL.VERIFY_NONE)
    return context


class Certificates:
    """The contexts by host; hosts without one get a certificate that nobody trusts, as no other may be shown."""

    def __init__(self) -> None:
        self._contexts: dict[str, SSL.Context] = {}
        certificate, key = Authority.create("karmada-gateway").issue_server(
            "karmada-gateway", server_names(["invalid"])
        )
        self.front = server_context(certificate, key)
        """What the listener begins every handshake with."""
        self.front.set_verify(SSL.VERIFY_NONE)
        self.front.set_tlsext_servername_callback(self._choose)

    def replace(self, contexts: Mapping[str, SSL.Context]) -> None:
        """Use these from now on."""
        self._contexts = dict(contexts)

    def of(self, host: str) -> SSL.Context | None:
        """The context of a host."""
        known = self._contexts
        return known.get(host) or known.get(wildcard(host)) or known.get("")

    def _choose(self, connection: SSL.Connection) -> None:
        name = (connection.get_servername() or b"").decode("ascii", "replace").lower()
        context = self.of(name)
        if context is not None:
            connection.set_context(context)
