"""Certificates of hosts: which are used, and which would hold up the requests of everybody else."""

import datetime
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from OpenSSL import SSL

from karmada.apiserver.auth.pki import Authority, server_names
from karmada.gateway.certificates import BadCertificate, context_of

NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "shop.org")])
END = "-----END CERTIFICATE-----\n"
TODAY = datetime.datetime(2026, 1, 1)


def certificate_of(public: rsa.RSAPublicKey) -> bytes:
    """A certificate for a public key, signed by somebody else."""
    builder = x509.CertificateBuilder(NAME, NAME, public, 1, TODAY, TODAY + datetime.timedelta(days=1))
    return builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(
        serialization.Encoding.PEM
    )


def pair() -> tuple[bytes, bytes]:
    return Authority.create("test").issue_server("shop.org", server_names(["shop.org"]))


def test_a_key_with_which_every_handshake_takes_long_is_refused() -> None:
    public = rsa.RSAPublicNumbers(65537, 2**8191 + 1).public_key()
    with pytest.raises(BadCertificate, match="its RSA key has 8192 bits; at most 4096 are used"):
        context_of({"tls.crt": certificate_of(public), "tls.key": pair()[1]})


def test_a_chain_or_key_that_is_too_long_is_refused() -> None:
    certificate, key = pair()
    assert isinstance(context_of({"tls.crt": certificate, "tls.key": key}), SSL.Context)
    with pytest.raises(BadCertificate, match=r"its tls\.crt has more than 32768 bytes"):
        context_of({"tls.crt": certificate * 100, "tls.key": key})
    with pytest.raises(BadCertificate, match=r"its tls\.key has more than 8192 bytes"):
        context_of({"tls.crt": certificate, "tls.key": key + b"#" * 8192})


def test_a_key_of_a_kind_that_nobody_knows_is_refused() -> None:
    certificate, key = pair()
    body = ssl.PEM_cert_to_DER_cert(certificate.decode().partition(END)[0] + END)
    known, unknown = bytes.fromhex("06072a8648ce3d0201"), bytes.fromhex("06072a8648ce3d0263")
    odd = ssl.DER_cert_to_PEM_cert(body.replace(known, unknown)).encode()
    with pytest.raises(BadCertificate, match="cannot be used together"):
        context_of({"tls.crt": odd, "tls.key": key})


def test_an_rsa_key_is_read_without_trying_its_primes() -> None:
    made = rsa.generate_private_key(65537, 2048).private_numbers()
    composite = rsa.RSAPrivateNumbers(
        made.p * 3,
        made.q,
        made.d,
        made.dmp1,
        made.dmq1,
        made.iqmp,
        rsa.RSAPublicNumbers(65537, made.public_numbers.n * 3),
    ).private_key(unsafe_skip_rsa_key_validation=True)
    pem = composite.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    with pytest.raises(ValueError):
        serialization.load_pem_private_key(pem, None)
    assert isinstance(context_of({"tls.crt": certificate_of(composite.public_key()), "tls.key": pem}), SSL.Context)
