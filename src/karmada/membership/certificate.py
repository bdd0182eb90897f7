"""An agent's certificate: asked of the control plane by a signing request, waited for, and checked for its age."""

import base64
import contextlib
from dataclasses import dataclass, field

from karmada.api import labels, names
from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import AlreadyExists, NotFound
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.agent_grant import FIRST_CERTIFICATE_SECONDS
from karmada.membership.agent_identity import registration_group, registration_id, subject_of_certificate
from karmada.membership.agent_requests import SIGNER
from karmada.membership.refusal import Refused

REQUESTS = GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests")
KEY_BITS = 3072
YEAR = 365 * 24 * 3600
PATIENCE = 300.0
PAUSES = BackoffPolicy(initial=0.1, maximum=5.0)
"""Between two looks whether it is there: agents by the hundred may wait for an approver that is away."""
CLOCK_SLACK = 3600
"""Seconds by which signers begin a certificate earlier, for clocks that are behind."""


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key (PEM)."""

    certificate: bytes
    key: bytes = field(repr=False)


async def obtain_certificate(
    hub: Client,
    cluster: str,
    request_name: str,
    *,
    seconds: int = YEAR,
    keep_request: bool = True,
    previous: bytes = b"",
    clock: Clock = REAL,
) -> Issued:
    """Ask for the certificate of a cluster's agent and wait for it; `Refused` says why there is none.

    With the certificate that it replaces it is one of the same registration, without it that of a new one.
    """
    key, request = make_request(cluster, previous)
    requests = hub.resource(REQUESTS)
    body: JSONObject = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": request_name, "labels": {labels.SYSTEM: labels.TRUE}},
        "spec": {
            "signerName": SIGNER,
            "request": base64.b64encode(request).decode(),
            "expirationSeconds": seconds,
            "usages": ["digital signature", "key encipherment", "client auth"],
        },
    }
    try:
        await requests.create(body)
    except AlreadyExists:
        # Left by an attempt that was interrupted: its key is lost.
        await requests.delete(request_name)
        await requests.create(body)
    certificate = await _issued(hub, request_name, clock)
    if not keep_request:
        with contextlib.suppress(NotFound):
            await requests.delete(request_name)
    return Issued(certificate, key)


async def _issued(hub: Client, name: str, clock: Clock) -> bytes:
    until = clock.monotonic() + PATIENCE
    looks = 0
    while True:
        status = (await hub.resource(REQUESTS).get(name)).get("status") or {}
        if status.get("certificate"):
            return base64.b64decode(status["certificate"])
        for condition in status.get("conditions") or ():
            if condition.get("type") in ("Denied", "Failed"):
                raise Refused(f"the control plane refused the certificate: {condition.get('message', '')}")
        if clock.monotonic() > until:
            raise Refused(f"certificate request {name} was neither approved nor refused within {PATIENCE:g} s")
        await clock.sleep(PAUSES.pause(looks))
        looks += 1


def make_request(cluster: str, previous: bytes = b"") -> tuple[bytes, bytes]:
    """A new key and a request for the certificate of a cluster's agent (PEM): its first one, or after another."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.x509.oid import NameOID

    key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    groups = [names.AGENT_GROUP]
    if not previous:
        groups.append(registration_group(registration_id(cluster, key.public_key())))
    elif (known := subject_of_certificate(previous)) is not None and known.registration:
        groups.append(registration_group(known.registration))
    subject = x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
            x509.NameAttribute(NameOID.COMMON_NAME, names.agent_user(cluster)),
        ]
    )
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    return private, request.public_bytes(serialization.Encoding.PEM)


def remaining(certificate: bytes, now: float) -> float:
    """The share of a certificate's life that is left: 1 when new, 0 or less when over."""
    from cryptography import x509

    parsed = x509.load_pem_x509_certificate(certificate)
    begin, end = parsed.not_valid_before_utc.timestamp(), parsed.not_valid_after_utc.timestamp()
    return (end - now) / (end - begin)


def is_provisional(certificate: bytes) -> bool:
    """Whether this is the short-lived first certificate of a registration, to be replaced as soon as it can be."""
    from cryptography import x509

    known = subject_of_certificate(certificate)
    if known is None or not known.registration or known.registration != known.key_id:
        return False
    parsed = x509.load_pem_x509_certificate(certificate)
    life = parsed.not_valid_after_utc - parsed.not_valid_before_utc
    return life.total_seconds() <= FIRST_CERTIFICATE_SECONDS + CLOCK_SLACK


def agent_kubeconfig(cluster: str, server: str, authority: bytes, issued: Issued) -> bytes:
    """The kubeconfig by which an agent reaches the control plane."""
    import yaml

    trusted = {"server": server, "certificate-authority-data": _encoded(authority)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "karmada-apiserver", "cluster": trusted}],
        "users": [
            {
                "name": cluster,
                "user": {
                    "client-certificate-data": _encoded(issued.certificate),
                    "client-key-data": _encoded(issued.key),
                },
            }
        ],
        "contexts": [
            {"name": f"{cluster}@karmada-apiserver", "context": {"cluster": "karmada-apiserver", "user": cluster}}
        ],
        "current-context": f"{cluster}@karmada-apiserver",
    }
    return yaml.safe_dump(config, sort_keys=False).encode()


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
