"""JSON Web Tokens, as far as service accounts need them: ES256 and RS256, compact form, one issuer's keys.

The server signs with its newest key and accepts all keys it was given, so keys can be rotated. Only signature and
form are checked here; what the claims mean is up to `service_accounts`.
"""

import base64
import hashlib
from typing import Any

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

Claims = dict[str, Any]
_SIZE = 32
"""Bytes of one P-256 number."""


class BadToken(Exception):
    """Not a token signed by one of our keys."""


class SigningKey:
    """A private key that signs, with its public part."""

    def __init__(self, pem: bytes) -> None:
        key = serialization.load_pem_private_key(pem, None)
        if not isinstance(key, (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)):
            raise ValueError(f"service account keys must be ECDSA P-256 or RSA, not {type(key).__name__}")
        if isinstance(key, ec.EllipticCurvePrivateKey) and not isinstance(key.curve, ec.SECP256R1):
            raise ValueError(f"service account keys must be ECDSA P-256 or RSA, not the curve {key.curve.name}")
        self._key = key
        self.public = PublicKey(key.public_key())

    def sign(self, claims: Claims) -> str:
        """A signed token."""
        header = {"alg": self.public.algorithm, "kid": self.public.identifier}
        signed = f"{_encode(orjson.dumps(header))}.{_encode(orjson.dumps(claims))}"
        return f"{signed}.{_encode(self._sign(signed.encode()))}"

    def _sign(self, data: bytes) -> bytes:
        if isinstance(self._key, rsa.RSAPrivateKey):
            return self._key.sign(data, padding.PKCS1v15(), hashes.SHA256())
        first, second = decode_dss_signature(self._key.sign(data, ec.ECDSA(hashes.SHA256())))
        return first.to_bytes(_SIZE, "big") + second.to_bytes(_SIZE, "big")


class PublicKey:
    """A key that verifies. Its identifier is the digest of the key, as Kubernetes makes it."""

    def __init__(self, key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey) -> None:
        self._key = key
        self.algorithm = "RS256" if isinstance(key, rsa.RSAPublicKey) else "ES256"
        der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.identifier = _encode(hashlib.sha256(der).digest())

    @classmethod
    def load(cls, pem: bytes) -> "PublicKey":
        """From PEM of a public or private key."""
        if b"PRIVATE KEY" in pem:
            return SigningKey(pem).public
        key = serialization.load_pem_public_key(pem)
        if not isinstance(key, (ec.EllipticCurvePublicKey, rsa.RSAPublicKey)):
            raise ValueError(f"service account keys must be ECDSA P-256 or RSA, not {type(key).__name__}")
        return cls(key)

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Whether the signature is this key's."""
        try:
            if isinstance(self._key, rsa.RSAPublicKey):
                self._key.verify(signature, data, padding.PKCS1v15(), hashes.SHA256())
            elif len(signature) != 2 * _SIZE:
                return False
            else:
                numbers = int.from_bytes(signature[:_SIZE], "big"), int.from_bytes(signature[_SIZE:], "big")
                self._key.verify(encode_dss_signature(*numbers), data, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return True

    def to_jwk(self) -> Claims:
        """As the JWKS endpoint shows it."""
        common = {"use": "sig", "kid": self.identifier, "alg": self.algorithm}
        if isinstance(self._key, rsa.RSAPublicKey):
            numbers = self._key.public_numbers()
            return {**common, "kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
        point = self._key.public_numbers()
        x, y = point.x.to_bytes(_SIZE, "big"), point.y.to_bytes(_SIZE, "big")
        return {**common, "kty": "EC", "crv": "P-256", "x": _encode(x), "y": _encode(y)}


def verify(token: str, keys: dict[str, PublicKey]) -> Claims:
    """Claims of a token signed by one of the keys; raises `BadToken`."""
    parts = token.split(".")
    if len(parts) != 3:
        raise BadToken("invalid bearer token")
    try:
        header = orjson.loads(_decode(parts[0]))
        kid = header.get("kid", "")
        candidates = [keys[kid]] if kid in keys else [] if kid else list(keys.values())
        signature = _decode(parts[2])
        signed = token[: token.rindex(".")].encode()
        claims = orjson.loads(_decode(parts[1]))
    except (ValueError, AttributeError, TypeError) as error:
        raise BadToken("invalid bearer token") from error
    algorithm = header.get("alg")
    if not isinstance(claims, dict):
        raise BadToken("invalid bearer token")
    if not candidates:
        raise BadToken("invalid signature, no keys found")
    if not any(known.algorithm == algorithm and known.verify(signed, signature) for known in candidates):
        raise BadToken("invalid signature")
    return claims


def generate_key() -> bytes:
    """PEM of a new signing key."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def peek(token: str) -> Claims:
    """Claims without verification, to see whose token it might be; empty when it is none."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = orjson.loads(_decode(parts[1]))
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _number(value: int) -> str:
    return _encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))
