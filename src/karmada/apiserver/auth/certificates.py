"""Client certificates to identities: verified here, not in the TLS handshake, so that a bad one is a 401.

The user is the common name, groups are the organisations. A certificate counts when a configured CA issued it
directly, it is valid now, and it is made for client authentication. Verified ones are remembered until they expire.
"""

import datetime
import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from karmada.apiserver.auth.model import UserInfo

CACHE_SIZE = 4096
AUTHENTICATED = "system:authenticated"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


@dataclass(frozen=True, slots=True)
class _Known:
    user: UserInfo
    start: float
    end: float


class CertificateAuthenticator:
    """Verifies client certificates against CAs (PEM, any number)."""

    def __init__(self, authorities: bytes, clock: Callable[[], float]) -> None:
        self._authorities = x509.load_pem_x509_certificates(authorities)
        self._clock = clock
        self._known: dict[bytes, _Known] = {}

    def authenticate(self, der: bytes) -> UserInfo | None:
        """The identity of a certificate; None when it proves none."""
        known = self._known.get(der)
        if known is None:
            known = self._verify(der)
            if known is None:
                return None
            if len(self._known) >= CACHE_SIZE:
                self._known.pop(next(iter(self._known)))
            self._known[der] = known
        return known.user if known.start <= self._clock() < known.end else None

    def _verify(self, der: bytes) -> _Known | None:
        try:
            certificate = x509.load_der_x509_certificate(der)
            if not self._issued(certificate) or not _for_clients(certificate):
                return None
            names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
            groups = [str(a.value) for a in certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        except ValueError:
            return None
        if not names or not names[0].value:
            return None
        fingerprint = hashlib.sha256(der).hexdigest()
        user = UserInfo(
            name=str(names[0].value),
            groups=with_authenticated(groups),
            extra={CREDENTIAL_ID: (f"X509SHA256={fingerprint}",)},
        )
        return _Known(user, _seconds(certificate.not_valid_before_utc), _seconds(certificate.not_valid_after_utc))

    def _issued(self, certificate: x509.Certificate) -> bool:
        for authority in self._authorities:
            if authority.subject != certificate.issuer:
                continue
            try:
                certificate.verify_directly_issued_by(authority)
            except (ValueError, TypeError, InvalidSignature):
                continue
            return _seconds(authority.not_valid_before_utc) <= self._clock() < _seconds(authority.not_valid_after_utc)
        return False


def with_authenticated(groups: list[str]) -> tuple[str, ...]:
    """Groups of an authenticated user."""
    return tuple(groups) if AUTHENTICATED in groups else (*groups, AUTHENTICATED)


def _for_clients(certificate: x509.Certificate) -> bool:
    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return ExtendedKeyUsageOID.CLIENT_AUTH in usages or ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in usages


def _seconds(at: datetime.datetime) -> float:
    return at.timestamp()
