"""Which certificate requests of agents are approved. Decided without I/O.

An agent's certificate names its cluster, and whoever holds it is that cluster's agent. So a request is approved only
for the requester's own name (renewal), or for the name of a cluster that is not a member yet (bootstrap by token).
Nobody gets the name of an agent that exists, and nobody the name by which the reference writes roles with unlimited
rights.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from karmada.api import names

SIGNER = "kubernetes.io/kube-apiserver-client"
USAGES = (
    frozenset({"digital signature", "key encipherment", "client auth"}),
    frozenset({"digital signature", "client auth"}),
)
BOOTSTRAP, RENEWAL = "clusteragent", "selfclusteragent"
"""Subresources of certificatesigningrequests which the requester must be allowed to create."""
APPROVAL = "AutoApproved"
"""The reason in the condition of what was approved here."""


@dataclass(frozen=True, slots=True)
class NotOurs:
    """Not a request for an agent, or decided already."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """A request that must not be approved, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A proper request; approved if the requester may create this subresource."""

    cluster: str
    permission: str


Judgement = NotOurs | Refuse | Ask


def judge(request: Mapping[str, Any], is_member: bool | None = None) -> Judgement:
    """Judge a CertificateSigningRequest; `is_member` tells whether its cluster exists (None when not yet looked up)."""
    spec = request.get("spec") or {}
    if spec.get("signerName") != SIGNER or _is_decided(request):
        return NotOurs()
    subject = _subject(spec.get("request") or "")
    if subject is None or subject.organisations != (names.AGENT_GROUP,):
        return NotOurs()
    if not subject.name.startswith(names.AGENT_USER_PREFIX) or subject.has_alternatives:
        return NotOurs()
    if frozenset(spec.get("usages") or ()) not in USAGES:
        return NotOurs()
    if subject.name == names.AGENT_RBAC_GENERATOR_USER:
        return Refuse("agents get their roles from the control plane: nobody needs a certificate to write them")
    cluster = subject.name.removeprefix(names.AGENT_USER_PREFIX)
    if not cluster:
        return Refuse("the common name names no cluster")
    requester = spec.get("username") or ""
    if requester == subject.name:
        return Ask(cluster, RENEWAL)
    if requester.startswith(names.AGENT_USER_PREFIX):
        return Refuse(f"{requester} asks for the certificate of another agent")
    if is_member:
        return Refuse(f"cluster {cluster} is a member already: unregister it before it is registered again")
    return Ask(cluster, BOOTSTRAP)


def granted(request: Mapping[str, Any]) -> str:
    """The cluster whose registration this request was, if it was approved; empty for any other request."""
    spec, status = request.get("spec") or {}, request.get("status") or {}
    approved = any(condition.get("reason") == APPROVAL for condition in status.get("conditions") or ())
    if not approved or spec.get("signerName") != SIGNER:
        return ""
    if (spec.get("username") or "").startswith(names.AGENT_USER_PREFIX):
        return ""
    subject = _subject(spec.get("request") or "")
    if subject is None or subject.organisations != (names.AGENT_GROUP,):
        return ""
    if not subject.name.startswith(names.AGENT_USER_PREFIX) or subject.name == names.AGENT_RBAC_GENERATOR_USER:
        return ""
    return subject.name.removeprefix(names.AGENT_USER_PREFIX)


@dataclass(frozen=True, slots=True)
class _Subject:
    name: str
    organisations: tuple[str, ...]
    has_alternatives: bool


def _subject(encoded: str) -> _Subject | None:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        parsed = x509.load_pem_x509_csr(base64.b64decode(encoded))
        if not parsed.is_signature_valid:
            return None
    except (ValueError, binascii.Error, TypeError):
        return None
    common = [str(a.value) for a in parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    organisations = [str(a.value) for a in parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    if len(common) != 1:
        return None
    return _Subject(common[0], tuple(organisations), bool(list(parsed.extensions)))


def _is_decided(request: Mapping[str, Any]) -> bool:
    status = request.get("status") or {}
    kinds = {condition.get("type") for condition in status.get("conditions") or ()}
    return bool(status.get("certificate")) or bool(kinds & {"Approved", "Denied", "Failed"})
