"""Which certificate requests of agents are approved. Decided without I/O.

An agent's certificate names its cluster and its registration (`agent_identity`). So a request is approved only for the
requester's own name and registration (renewal), or for the name of a cluster that is not a member yet, with the
registration that begins with the request's own key (bootstrap by token). Nobody gets the name of an agent that exists,
a name whose objects could be another cluster's, or the name by which the reference writes roles with unlimited rights.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from karmada.api import names
from karmada.membership.agent_grant import Grant
from karmada.membership.agent_identity import (
    Subject,
    is_agent,
    registration_group,
    registration_of,
    subject_of_request,
)
from karmada.membership.agent_roles import RENEWAL_SUFFIX
from karmada.membership.refusal import Refused
from karmada.membership.registration import check_name

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
    """A proper request; approved if the requester may create this subresource and holds what is current."""

    cluster: str
    permission: str
    registration: str
    """Empty for an agent that registered before there were registrations: it is bound to its name."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A registration that was approved."""

    cluster: str
    registration: str
    requester: str


Judgement = NotOurs | Refuse | Ask


def judge(request: Mapping[str, Any], is_member: bool | None = None) -> Judgement:
    """Judge a CertificateSigningRequest; `is_member` says whether its cluster exists (None when not yet looked up)."""
    spec = request.get("spec") or {}
    if spec.get("signerName") != SIGNER or _is_decided(request):
        return NotOurs()
    subject = subject_of_request(spec.get("request") or "")
    if subject is None or not subject.is_agents or subject.has_extensions:
        return NotOurs()
    if frozenset(spec.get("usages") or ()) not in USAGES:
        return NotOurs()
    if subject.name == names.AGENT_RBAC_GENERATOR_USER:
        return Refuse("agents get their roles from the control plane: nobody needs a certificate to write them")
    requester = spec.get("username") or ""
    if requester == subject.name:
        if subject.registration != registration_of(spec.get("groups") or ()):
            return Refuse(f"{requester} asks for the certificate of another registration")
        return Ask(subject.cluster, RENEWAL, subject.registration)
    if is_agent(requester):
        return Refuse(f"{requester} asks for the certificate of another agent")
    return _judge_new(subject, (request.get("metadata") or {}).get("name") or "", is_member)


def _judge_new(subject: Subject, name: str, is_member: bool | None) -> Judgement:
    cluster = subject.cluster
    try:
        check_name(cluster)
    except Refused as error:
        return Refuse(str(error))
    if name.endswith(RENEWAL_SUFFIX):
        return Refuse(f"{name} is the name of a renewal: register under another one")
    if subject.registration != subject.key_id:
        wanted = registration_group(subject.key_id)
        return Refuse(f"the request must have the organisation {wanted}, which is bound to its key: update karmadactl")
    if is_member:
        return Refuse(f"cluster {cluster} is a member already: unregister it before it is registered again")
    return Ask(cluster, BOOTSTRAP, subject.registration)


def beyond(
    request: Mapping[str, Any], identity: Ask, grant: Grant, used: tuple[str, ...], *, is_over: bool = False
) -> str:
    """Why a registration goes beyond what its token allows, given the clusters that used the token; empty if not.
    `is_over`: there was a Cluster of it, if the cluster used the token."""
    if grant.clusters and identity.cluster not in grant.clusters:
        return f"the bootstrap token is for {', '.join(grant.clusters)}, not for {identity.cluster}"
    if identity.cluster in used and is_over:
        return (
            f"the bootstrap token was used by {identity.cluster}, which has been a member by it: "
            "create another one (karmadactl token create)"
        )
    if identity.cluster not in used and len(used) >= grant.registrations:
        return (
            f"the bootstrap token was used by {', '.join(used)} and allows no further cluster: "
            "create another one (karmadactl token create, with --registrations for several clusters)"
        )
    seconds = (request.get("spec") or {}).get("expirationSeconds")
    if seconds is None or seconds > grant.certificate_seconds:
        lifetime = "no expirationSeconds" if seconds is None else f"{seconds} s"
        return (
            f"the first certificate may last {grant.certificate_seconds} s, and the request says {lifetime}: "
            "let the agent renew it, or create the token with --certificate-seconds"
        )
    return ""


def granted(request: Mapping[str, Any]) -> Registered | None:
    """The registration this request was, if it was approved; None for any other request."""
    spec, status = request.get("spec") or {}, request.get("status") or {}
    approved = any(condition.get("reason") == APPROVAL for condition in status.get("conditions") or ())
    if not approved or spec.get("signerName") != SIGNER or is_agent(spec.get("username") or ""):
        return None
    subject = subject_of_request(spec.get("request") or "")
    if subject is None or not subject.is_agents or subject.name == names.AGENT_RBAC_GENERATOR_USER:
        return None
    return Registered(subject.cluster, subject.registration, spec.get("username") or "")


def _is_decided(request: Mapping[str, Any]) -> bool:
    status = request.get("status") or {}
    kinds = {condition.get("type") for condition in status.get("conditions") or ()}
    return bool(status.get("certificate")) or bool(kinds & {"Approved", "Denied", "Failed"})
