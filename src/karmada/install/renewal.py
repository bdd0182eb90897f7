"""Certificates of an installation: which there are, until when, and each anew from the same authority.

A certificate is renewed from itself: subject, names and usages stay, the key is new. So this works for what `init`
made, for what the chart mounts, and for what somebody added. The old one stays good until its end: nothing has to stop.
"""

import base64
import datetime
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from karmada.api import yaml
from karmada.apiserver.auth.pki import Authority, KeyUsages, private_pem
from karmada.machinery.transport import JSONObject

CERTIFICATE, KEY = "tls.crt", "tls.key"
CONFIG = ".config"
"""How the names of kubeconfigs in Secrets end."""
_USER = "client-certificate-data", "client-key-data"


class Held(NamedTuple):
    """A certificate in a Secret."""

    secret: str
    key: str
    certificate: x509.Certificate

    @property
    def subject(self) -> str:
        """Whom it names."""
        return self.certificate.subject.rfc4514_string()

    @property
    def expires(self) -> datetime.datetime:
        """Until when it is good."""
        return self.certificate.not_valid_after_utc


def held(secret: JSONObject) -> Iterator[Held]:
    """The certificates in a Secret: its own, and those of users in kubeconfigs."""
    name, data = secret["metadata"]["name"], _data(secret)
    if (found := _certificate(data.get(CERTIFICATE, b""))) is not None:
        yield Held(name, CERTIFICATE, found)
    for key, value in data.items():
        if key.endswith(CONFIG):
            for user in _users(value):
                if (found := _certificate(base64.b64decode(user[_USER[0]]))) is not None:
                    yield Held(name, key, found)


def renewed(secret: JSONObject, authority: Authority, seconds: int) -> dict[str, str]:
    """The part of a Secret's data that changes when an authority renews what it issued; empty if there is nothing."""
    data, made = _data(secret), {}
    own = _certificate(data.get(CERTIFICATE, b""))
    if own is not None and KEY in data and issued_by(own, authority):
        made[CERTIFICATE], made[KEY] = _anew(own, authority, seconds)
    for key, value in data.items():
        if key.endswith(CONFIG) and (config := renewed_config(value, authority, seconds)):
            made[key] = config
    return {key: base64.b64encode(value).decode() for key, value in made.items()}


def renewed_config(text: bytes, authority: Authority, seconds: int) -> bytes:
    """A kubeconfig with new certificates for its users; empty if the authority issued none of them."""
    config, found = _tree(text), False
    for user in _users_of(config):
        certificate = _certificate(base64.b64decode(user[_USER[0]]))
        if certificate is not None and issued_by(certificate, authority):
            pair = _anew(certificate, authority, seconds)
            user |= {field: base64.b64encode(part).decode() for field, part in zip(_USER, pair, strict=True)}
            found = True
    return orjson.dumps(config) if found else b""


def issued_by(certificate: x509.Certificate, authority: Authority) -> bool:
    """Whether an authority signed a certificate that is not its own."""
    return certificate != authority.certificate and authority.issued(certificate)


def _anew(old: x509.Certificate, authority: Authority, seconds: int) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    extensions = old.extensions
    usages: tuple[Any, ...] = ()
    names: list[x509.GeneralName] = []
    for extension in extensions:
        if isinstance(extension.value, x509.ExtendedKeyUsage):
            usages = tuple(extension.value)
        elif isinstance(extension.value, x509.SubjectAlternativeName):
            names = list(extension.value)
    return authority.issue(old.subject, key.public_key(), KeyUsages(extended=usages), names, seconds), private_pem(key)


def _certificate(pem: bytes) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificates(pem)[0]
    except ValueError:
        return None


def _data(secret: JSONObject) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in (secret.get("data") or {}).items()}


def _users(text: bytes) -> list[dict[str, str]]:
    return _users_of(_tree(text))


def _tree(text: bytes) -> Any:
    try:
        return yaml.load(text)
    except yaml.YAMLError:
        return None


def _users_of(config: Any) -> list[dict[str, str]]:
    """Users of a kubeconfig that have a certificate in it."""
    entries = config.get("users") if isinstance(config, Mapping) else None
    users = [entry.get("user") for entry in entries or () if isinstance(entry, dict)]
    return [user for user in users if isinstance(user, dict) and all(field in user for field in _USER)]
