"""The server's own certificate authority, its key files, and the certificates it issues.

Keys are ECDSA P-256. Private keys are written 0600, never readable by others for a moment; files are replaced
atomically. `Authority.load` accepts what other tools made (RSA too), `serving_pair` renews what is about to expire.
"""

import datetime
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes, CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

CA_YEARS = 10
LEAF_DAYS = 365
BACKDATE = datetime.timedelta(minutes=5)
"""Certificates are valid from a little in the past, for clients whose clock is behind."""

CLIENT_AUTH = ExtendedKeyUsageOID.CLIENT_AUTH
SERVER_AUTH = ExtendedKeyUsageOID.SERVER_AUTH


def now() -> datetime.datetime:
    """The time of day; functions that issue take it as a parameter."""
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True, slots=True)
class KeyUsages:
    """What a certificate may be used for."""

    digital_signature: bool = True
    key_encipherment: bool = False
    extended: tuple[ObjectIdentifier, ...] = ()


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA certificate with its key."""

    certificate: x509.Certificate
    key: CertificateIssuerPrivateKeyTypes

    @classmethod
    def create(cls, name: str, at: datetime.datetime | None = None) -> "Authority":
        """A new self-signed CA."""
        at = at or now()
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = (
            _builder(subject, subject, key.public_key(), at, at + datetime.timedelta(days=365 * CA_YEARS))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_key_usage(digital_signature=True, certificate_signing=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def load(cls, certificate: bytes, key: bytes) -> "Authority":
        """From PEM; raises ValueError where what is issued with it would be believed by nobody."""
        loaded = authority_key(key)
        found = x509.load_pem_x509_certificates(certificate)[0]
        if found.public_key() != loaded.public_key():
            raise ValueError("the CA key is not the key of the CA certificate")
        if not _may_issue(found):
            raise ValueError("the certificate is not one of an authority (CA:FALSE)")
        return cls(found, loaded)

    @property
    def certificate_pem(self) -> bytes:
        """The CA certificate for clients."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The CA key, for its file only."""
        return private_pem(self.key)

    def issued(self, certificate: x509.Certificate) -> bool:
        """Whether it signed a certificate."""
        try:
            certificate.verify_directly_issued_by(self.certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True

    def issue(
        self,
        subject: x509.Name,
        public_key: CertificatePublicKeyTypes,
        usages: KeyUsages,
        names: Iterable[x509.GeneralName] = (),
        seconds: int = LEAF_DAYS * 86400,
        at: datetime.datetime | None = None,
    ) -> bytes:
        """Sign a leaf certificate; it never outlives the CA. Returns PEM."""
        at = at or now()
        end = min(at + datetime.timedelta(seconds=seconds), self.certificate.not_valid_after_utc)
        builder = _builder(subject, self.certificate.subject, public_key, at - BACKDATE, end).add_extension(
            x509.BasicConstraints(ca=False, path_length=None), critical=True
        )
        if usages.digital_signature or usages.key_encipherment:
            # An extension without any usage would make the certificate invalid.
            allowed = _key_usage(usages.digital_signature, usages.key_encipherment)
            builder = builder.add_extension(allowed, critical=True)
        signer = self.certificate.public_key()
        builder = builder.add_extension(_authority_identifier(self.certificate, signer), critical=False)
        if usages.extended:
            builder = builder.add_extension(x509.ExtendedKeyUsage(usages.extended), critical=False)
        alternatives = list(names)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        return builder.sign(self.key, _digest(self.key)).public_bytes(serialization.Encoding.PEM)

    def issue_client(
        self,
        user: str,
        groups: Sequence[str] = (),
        seconds: int = LEAF_DAYS * 86400,
        at: datetime.datetime | None = None,
    ) -> tuple[bytes, bytes]:
        """Certificate and key (PEM) of a user."""
        key = ec.generate_private_key(ec.SECP256R1())
        usages = KeyUsages(extended=(CLIENT_AUTH,))
        return self.issue(user_name(user, groups), key.public_key(), usages, (), seconds, at), private_pem(key)

    def issue_server(
        self,
        name: str,
        names: Iterable[x509.GeneralName],
        seconds: int = LEAF_DAYS * 86400,
        at: datetime.datetime | None = None,
    ) -> tuple[bytes, bytes]:
        """Certificate and key (PEM) of a server."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        usages = KeyUsages(extended=(SERVER_AUTH,))
        return self.issue(subject, key.public_key(), usages, names, seconds, at), private_pem(key)


def user_name(user: str, groups: Sequence[str]) -> x509.Name:
    """A subject as Kubernetes reads it: the user is the common name, groups are organisations."""
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def server_names(hosts: Iterable[str]) -> list[x509.GeneralName]:
    """Subject alternative names of host names and addresses, without repeats."""
    names: list[x509.GeneralName] = []
    for host in dict.fromkeys(hosts):
        try:
            names.append(x509.IPAddress(ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    return names


def _may_issue(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return True  # as old tools made them


def authority_key(pem: bytes) -> CertificateIssuerPrivateKeyTypes:
    """The key of an authority; raises ValueError where it cannot be read or is of a kind that signs nothing."""
    try:
        loaded = serialization.load_pem_private_key(pem, None)
    except TypeError:
        raise ValueError("the CA key is encrypted: write it without a password") from None
    if not isinstance(loaded, (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey, ed25519.Ed25519PrivateKey)):
        raise ValueError(f"the CA key must be ECDSA, RSA or Ed25519, not {type(loaded).__name__}")
    return loaded


def private_pem(key: CertificateIssuerPrivateKeyTypes) -> bytes:
    """A private key as PKCS#8 PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def write_file(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Replace a file atomically; it has its mode from the first byte on."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def ensure_authority(folder: Path, name: str, file: str = "ca") -> Authority:
    """The CA kept in a folder as `<file>.crt` and `<file>.key`, made when absent."""
    certificate, key = folder / f"{file}.crt", folder / f"{file}.key"
    if key.exists():
        return Authority.load(certificate.read_bytes(), key.read_bytes())
    authority = Authority.create(name)
    write_file(certificate, authority.certificate_pem)
    write_file(key, authority.key_pem, 0o600)
    return authority


def ensure_serving(
    folder: Path, authority: Authority, hosts: Sequence[str], at: datetime.datetime | None = None
) -> tuple[bytes, bytes]:
    """The serving certificate and key kept in a folder; renewed before it expires and when hosts are missing."""
    at = at or now()
    certificate_path, key_path = folder / "apiserver.crt", folder / "apiserver.key"
    if key_path.exists() and certificate_path.exists():
        pem = certificate_path.read_bytes()
        if still_good(pem, authority, hosts, at):
            return pem, key_path.read_bytes()
    certificate, key = authority.issue_server("kube-apiserver", server_names(hosts), at=at)
    write_file(key_path, key, 0o600)
    write_file(certificate_path, certificate)
    return certificate, key


def ensure_client(folder: Path, authority: Authority, user: str) -> tuple[Path, Path]:
    """Files of the certificate and key of a user, named after it; made again when another CA signed it or it ages."""
    at = now()
    certificate_path, key_path = folder / f"{user}.crt", folder / f"{user}.key"
    if key_path.exists() and certificate_path.exists() and _is_fresh(certificate_path.read_bytes(), authority, at):
        return certificate_path, key_path
    certificate, key = authority.issue_client(user, at=at)
    write_file(key_path, key, 0o600)
    write_file(certificate_path, certificate)
    return certificate_path, key_path


def still_good(pem: bytes, authority: Authority, hosts: Sequence[str], at: datetime.datetime) -> bool:
    """Whether a serving certificate is from this CA, covers the hosts, and has more than a third of its life left."""
    if not _is_fresh(pem, authority, at):
        return False
    certificate = x509.load_pem_x509_certificate(pem)
    try:
        covered = set(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return False
    return covered >= set(server_names(hosts))


def _is_fresh(pem: bytes, authority: Authority, at: datetime.datetime) -> bool:
    """Whether a certificate is from this CA and has more than a third of its life left."""
    certificate = x509.load_pem_x509_certificate(pem)
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return at <= certificate.not_valid_after_utc - life / 3 and authority.issued(certificate)


def _digest(key: CertificateIssuerPrivateKeyTypes) -> hashes.SHA256 | None:
    return None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: CertificatePublicKeyTypes,
    start: datetime.datetime,
    end: datetime.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
    )


def _authority_identifier(ca: x509.Certificate, key: CertificatePublicKeyTypes) -> x509.AuthorityKeyIdentifier:
    try:
        own = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        own = x509.SubjectKeyIdentifier.from_public_key(key)
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _key_usage(
    digital_signature: bool, key_encipherment: bool = False, certificate_signing: bool = False
) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=key_encipherment,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certificate_signing,
        crl_sign=certificate_signing,
        encipher_only=False,
        decipher_only=False,
    )
