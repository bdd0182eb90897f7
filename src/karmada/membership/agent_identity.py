"""Who an agent is: the name of its cluster, and the registration by which it got that name. Without I/O.

A certificate outlives what it was given for, and names are used again. So the rights of an agent are not those of its
name: each registration has an id, derived from the key that asked for the first certificate, which all certificates of
the registration carry as a group. Roles are bound to that group; another registration of the name has another.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from karmada.api import names

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

ID_LENGTH = 32
"""Hexadecimal digits: with its prefix the group fits into the 64 characters of an organisation name."""

_REQUEST = re.compile(
    rb"-----BEGIN CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END CERTIFICATE REQUEST-----(?:\r?\n)?"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a certificate, or a request for one, says about its holder."""

    name: str
    organisations: tuple[str, ...]
    key_id: str
    """The registration that begins with this key."""
    has_extensions: bool = False

    @property
    def cluster(self) -> str:
        """The cluster whose agent the name is; empty for any other name."""
        return self.name.removeprefix(names.AGENT_USER_PREFIX) if is_agent(self.name) else ""

    @property
    def registration(self) -> str:
        """The registration named by the organisations; empty for none, or for more than one."""
        return registration_of(self.organisations)

    @property
    def is_agents(self) -> bool:
        """Whether this is the subject of an agent: its name, the agents' group, at most one registration."""
        others = set(self.organisations) - {names.AGENT_GROUP, registration_group(self.registration)}
        return is_agent(self.name) and names.AGENT_GROUP in self.organisations and not others


def is_agent(user: str) -> bool:
    """Whether a user is an agent of some cluster."""
    return user.startswith(names.AGENT_USER_PREFIX)


def registration_group(registration: str) -> str:
    """The group of those who hold a certificate of a registration."""
    return names.REGISTRATION_GROUP_PREFIX + registration


def registration_of(groups: Iterable[str]) -> str:
    """The registration that groups name; empty for none, or for more than one."""
    prefix = names.REGISTRATION_GROUP_PREFIX
    found = {group.removeprefix(prefix) for group in groups if group.startswith(prefix)}
    return found.pop() if len(found) == 1 else ""


def registration_id(cluster: str, key: "PublicKeyTypes") -> str:
    """The id of the registration of a cluster that begins with a key: nobody else can begin the same one."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    encoded = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(cluster.encode() + b"\0" + encoded).hexdigest()[:ID_LENGTH]


def subject_of_request(encoded: str) -> Subject | None:
    """The subject of a request (PEM in base64); None when it is malformed, or not signed by its own key.

    It must be one block and nothing else: parsers differ in where a block begins in other text, and whoever signs the
    request must not read another one than is judged here.
    """
    from cryptography import x509

    try:
        block = _REQUEST.fullmatch(base64.b64decode(encoded, validate=True))
        if block is None:
            return None
        parsed = x509.load_der_x509_csr(base64.b64decode(re.sub(rb"[\r\n]", b"", block[1]), validate=True))
        if not parsed.is_signature_valid:
            return None
        return _subject(parsed.subject, parsed.public_key(), bool(list(parsed.extensions)))
    except (ValueError, binascii.Error, TypeError):
        return None


def subject_of_certificate(pem: bytes) -> Subject | None:
    """The subject of a certificate; None when it is malformed."""
    from cryptography import x509

    try:
        parsed = x509.load_pem_x509_certificate(pem)
        return _subject(parsed.subject, parsed.public_key(), False)
    except (ValueError, TypeError):
        return None


def _subject(name: "x509.Name", key: "PublicKeyTypes", has_extensions: bool) -> Subject | None:
    from cryptography.x509.oid import NameOID

    common = [str(a.value) for a in name.get_attributes_for_oid(NameOID.COMMON_NAME)]
    organisations = tuple(str(a.value) for a in name.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))
    if len(common) != 1:
        return None
    cluster = common[0].removeprefix(names.AGENT_USER_PREFIX)
    return Subject(common[0], organisations, registration_id(cluster, key), has_extensions)
