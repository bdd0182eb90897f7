"""Certificates of an instance: which Secrets must be made or made anew. Pure but for keys and serial numbers.

The authorities' keys are in one Secret that no pod mounts (`<instance>-cert`). The key of the control plane's authority
is in another one beside, for the kube-controller-manager, which signs with it.
"""

import base64
import datetime
import hashlib
from collections.abc import Iterable, Mapping

import orjson
from cryptography import x509
from cryptography.x509.oid import NameOID

from karmada.apiserver.auth.pki import Authority, server_names
from karmada.install.certificates import AUTHORITIES, CA, CA_KEY, ETCD, KARMADA, SIGNING_KEY, Issuer, Leaf
from karmada.install.naming import Names
from karmada.install.renewal import held, issued_by
from karmada.machinery.transport import JSONObject

STORE = "karmada-cert"
FILES = dict(zip(AUTHORITIES, ("ca", "etcd-ca", "front-proxy-ca"), strict=True))
LEFT = 3
"""A certificate is renewed when less than one part in three of its life is left."""


def authorities_of(store: JSONObject | None, own: Authority | None = None) -> dict[str, Authority]:
    """The authorities that a Secret holds, new ones in the place of what it lacks; `own` is the user's."""
    data = _data(store) if store is not None else {}
    found: dict[str, Authority] = {}
    for name, file in FILES.items():
        certificate, key = data.get(f"{file}.crt"), data.get(f"{file}.key")
        found[name] = Authority.load(certificate, key) if certificate and key else Authority.create(name)
    return found | ({KARMADA: own} if own is not None else {})


def stored(name: str, issue: Issuer, authorities: Mapping[str, Authority]) -> JSONObject:
    """The Secret that keeps authorities."""
    pairs = {f"{FILES[name]}.crt": one.certificate_pem for name, one in authorities.items()}
    keys = {f"{FILES[name]}.key": one.key_pem for name, one in authorities.items()}
    return issue.opaque(name, pairs | keys)


def of_authority(names: Names, issue: Issuer, authority: Authority) -> list[JSONObject]:
    """Whom pods trust, and what the kube-controller-manager signs with."""
    ca = issue.authority(names.of(CA), authority)
    return [ca, issue.secret(names.of(CA_KEY), authority, authority.certificate_pem, authority.key_pem)]


def signing_key(names: Names) -> str:
    """The Secret with the key that signs tokens; made once."""
    return names.of(SIGNING_KEY)


def is_good(secret: JSONObject, leaf: Leaf, authority: Authority, now: datetime.datetime) -> bool:
    """Whether a Secret holds the certificate that is wanted, for long enough."""
    certificates = [one.certificate for one in held(secret)]
    if len(certificates) != 1 or not issued_by(certificates[0], authority):
        return False
    (certificate,) = certificates
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    if certificate.not_valid_after_utc - now < life / LEFT:
        return False
    if leaf.hosts and set(_names_in(certificate)) != set(server_names(leaf.hosts)):
        return False
    if leaf.config and _server_in(secret) != leaf.server:
        return False
    return not leaf.user or leaf.authority == ETCD or _common_name(certificate) == leaf.user


def digest(secret: JSONObject) -> str:
    """A short fingerprint of what a Secret holds."""
    return hashlib.sha256(orjson.dumps(secret.get("data") or {}, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]


def known_names(names: Names, leaves: Iterable[Leaf]) -> list[str]:
    """All Secrets that an instance may have."""
    return [*map(names.of, (STORE, CA, CA_KEY, SIGNING_KEY)), *(leaf.secret for leaf in leaves)]


def _data(secret: JSONObject) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in (secret.get("data") or {}).items()}


def _names_in(certificate: x509.Certificate) -> list[x509.GeneralName]:
    try:
        return list(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def _server_in(secret: JSONObject) -> str:
    config = orjson.loads(_data(secret)["karmada.config"])
    return str(config["clusters"][0]["cluster"]["server"])


def _common_name(certificate: x509.Certificate) -> str:
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
