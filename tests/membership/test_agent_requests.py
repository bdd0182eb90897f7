"""Which certificate requests are an agent's, and whose are approved."""

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st
from tests.membership.world import World, eventually

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.pem import blocks
from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects, token
from karmada.membership.agent_grant import NOTHING, Grant
from karmada.membership.agent_identity import registration_id, subject_of_request
from karmada.membership.agent_requests import (
    BOOTSTRAP,
    RENEWAL,
    Ask,
    Judgement,
    NotOurs,
    Refuse,
    beyond,
    granted,
    judge,
)
from karmada.membership.refusal import Refused
from karmada.membership.register import Registration, check

REQUESTS = GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests")
KEY = ec.generate_private_key(ec.SECP256R1())
USAGES = ["digital signature", "key encipherment", "client auth"]
TOKEN = "system:bootstrap:abcdef"
FIRST = registration_id("m1", KEY.public_key())
GROUP, OTHER = f"system:karmada:registration:{FIRST}", "system:karmada:registration:other"
DAY = 24 * 3600


def signing_request(name: str, *organisations: str, alternative: str = "") -> str:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation) for organisation in organisations]
    subject = x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if alternative:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(alternative)]), critical=False)
    return base64.b64encode(builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)).decode()


def pem(name: str, *organisations: str) -> bytes:
    return base64.b64decode(signing_request(name, *organisations))


AGENTS = pem("system:karmada:agent:m1", "system:karmada:agents", GROUP)
MASTERS = pem("system:karmada:controller-manager")
HEADED = AGENTS.replace(b"REQUEST-----\n", b"REQUEST-----\na: b\n\n", 1)


@pytest.mark.parametrize(
    "text",
    [
        *(b" " + AGENTS + MASTERS, b"x" + AGENTS + MASTERS, b"\r" + AGENTS + MASTERS),
        *(AGENTS + MASTERS, MASTERS + AGENTS, b" " + AGENTS, AGENTS + b"\n\n", HEADED),
        *(AGENTS.replace(b"\n", b"\n ", 3), AGENTS.replace(b"-----\n", b"----- \n")),
    ],
)
def test_what_parsers_may_read_in_several_ways_is_nobodys_request(text: bytes) -> None:
    asked = request(request=base64.b64encode(text).decode())
    assert isinstance(judge(asked), NotOurs)


@given(
    st.lists(st.sampled_from([AGENTS, MASTERS, HEADED, b" ", b"\n", b"\r", b"x", AGENTS[:40], AGENTS[40:]]), max_size=6)
)
def test_what_is_judged_is_what_is_signed(parts: list[bytes]) -> None:
    text = b"".join(parts)
    subject = subject_of_request(base64.b64encode(text).decode())
    if subject is not None:
        signed = x509.load_der_x509_csr(next(blocks(text)).content)
        [name] = signed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        assert subject.name == name.value


def request(
    name: str = "system:karmada:agent:m1",
    organisation: str = "system:karmada:agents",
    username: str = TOKEN,
    alternative: str = "",
    group: str | None = None,
    called: str = "m1-abcde",
    **spec: Any,
) -> dict[str, Any]:
    cluster = name.removeprefix("system:karmada:agent:")
    own = f"system:karmada:registration:{registration_id(cluster, KEY.public_key())}" if group is None else group
    body = signing_request(name, *filter(None, (organisation, own)), alternative=alternative)
    known = {"signerName": "kubernetes.io/kube-apiserver-client", "usages": USAGES, "username": username}
    known |= {"expirationSeconds": DAY}
    return {"metadata": {"name": called}, "spec": known | {"request": body} | spec}


def renewal(*held: str, group: str = GROUP) -> dict[str, Any]:
    """A request of an agent that holds a certificate with these groups."""
    return request(username="system:karmada:agent:m1", group=group, groups=["system:karmada:agents", *held])


@pytest.mark.parametrize(
    ("tree", "is_member", "expected"),
    [
        (request(), False, Ask("m1", BOOTSTRAP, FIRST)),
        (request(usages=["digital signature", "client auth"]), False, Ask("m1", BOOTSTRAP, FIRST)),
        (renewal(GROUP), True, Ask("m1", RENEWAL, FIRST)),
        (renewal(OTHER, group=OTHER), True, Ask("m1", RENEWAL, "other")),
        (renewal(group=""), True, Ask("m1", RENEWAL, "")),
        (request(organisation="system:masters"), False, NotOurs()),
        (request(name="system:admin"), False, NotOurs()),
        (request(alternative="kubernetes.default"), False, NotOurs()),
        (request(usages=[*USAGES, "server auth"]), False, NotOurs()),
        (request(signerName="kubernetes.io/kubelet-serving"), False, NotOurs()),
        (request(request="bm90IGEgcmVxdWVzdA=="), False, NotOurs()),
    ],
    ids=[
        "new",
        "fewer usages",
        "renewal",
        "later",
        "before registrations",
        "masters",
        "other name",
        "SAN",
        "serving",
        "signer",
        "garbage",
    ],
)
def test_judgements(tree: dict[str, Any], is_member: bool, expected: Judgement) -> None:
    assert judge(tree, is_member) == expected


@pytest.mark.parametrize(
    ("tree", "is_member"),
    [
        (request(), True),
        (request(username="system:karmada:agent:m2"), False),
        (request(name="system:karmada:agent:rbac-generator"), False),
        (request(name="system:karmada:agent:"), False),
        (request(name="system:karmada:agent:member1-impersonator"), False),
        (request(name="system:karmada:agent:impersonator"), False),
        (request(name="system:karmada:agent:a:b"), False),
        (request(group=""), False),
        (request(group=OTHER), False),
        (request(called="m2-renewal"), False),
        (renewal(GROUP, group=OTHER), True),
        (renewal(GROUP, group=""), True),
        (renewal(group=GROUP), True),
    ],
    ids=[
        "a member's name",
        "another agent",
        "rbac-generator",
        "no name",
        "a Secret's name",
        "an account's name",
        "no cluster's name",
        "no registration",
        "a registration of another key",
        "a renewal's name",
        "another registration",
        "out of its registration",
        "into a registration",
    ],
)
def test_refusals(tree: dict[str, Any], is_member: bool) -> None:
    assert isinstance(judge(tree, is_member), Refuse)


@pytest.mark.parametrize("kind", ["Approved", "Denied", "Failed"])
def test_what_is_decided_is_left_alone(kind: str) -> None:
    assert judge(request() | {"status": {"conditions": [{"type": kind}]}}) == NotOurs()


def test_two_organisations_are_not_an_agents() -> None:
    body = signing_request("system:karmada:agent:m1", "system:karmada:agents", "system:masters")
    assert judge(request(request=body)) == NotOurs()


def test_two_registrations_are_nobodys() -> None:
    body = signing_request("system:karmada:agent:m1", "system:karmada:agents", GROUP, OTHER)
    assert judge(request(request=body)) == NotOurs()


@pytest.mark.parametrize(
    ("tree", "grant", "used", "why"),
    [
        (request(), NOTHING, (), ""),
        (request(), NOTHING, ("m1",), ""),
        (request(), NOTHING, ("m0",), "was used by m0"),
        (request(), Grant(registrations=2), ("m0",), ""),
        (request(), Grant(clusters=("m2",)), (), "is for m2, not for m1"),
        (request(expirationSeconds=DAY + 1), NOTHING, (), "may last 86400 s"),
        (request(expirationSeconds=None), NOTHING, (), "no expirationSeconds"),
        (request(expirationSeconds=9 * DAY), Grant(certificate_seconds=9 * DAY), (), ""),
    ],
    ids=["once", "again", "spent", "several", "another name", "too long", "unbounded", "as long as allowed"],
)
def test_what_a_token_allows(tree: dict[str, Any], grant: Grant, used: tuple[str, ...], why: str) -> None:
    objection = beyond(tree, Ask("m1", BOOTSTRAP, FIRST), grant, used)
    assert why in objection
    assert bool(objection) == bool(why)


def test_a_token_is_spent_once_its_cluster_was_a_member() -> None:
    asked = Ask("m1", BOOTSTRAP, FIRST)
    why = "was used by m1, which has been a member by it"
    assert why in beyond(request(), asked, Grant(registrations=2), ("m1",), is_over=True)
    assert beyond(request(), asked, Grant(registrations=2), ("m2",), is_over=True) == ""


def test_only_what_was_approved_for_a_new_agent_is_a_registration() -> None:
    approved = {"status": {"conditions": [{"type": "Approved", "reason": "AutoApproved"}]}}
    found = granted(request() | approved)
    assert found is not None
    assert (found.cluster, found.registration) == ("m1", FIRST)
    assert granted(request()) is None
    assert granted(renewal(GROUP) | approved) is None


@pytest.mark.parametrize(("group", "approved"), [("karmada:default-cluster-token", True), ("others", False)])
async def test_approval_depends_on_what_the_requester_may(world: World, group: str, approved: bool) -> None:
    admin = {"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create"]}
    await world.hub.resource(objects.CLUSTER_ROLES).create(objects.cluster_role("asking", [admin], {}))
    subject = objects.user_subject(TOKEN)
    await token.create(world.hub, token.Token("abcdef", "0123456789abcdef"))
    await world.hub.resource(objects.CLUSTER_ROLE_BINDINGS).create(objects.cluster_role_binding("asking", subject, {}))
    await _ask(world, group, "theirs")
    if approved:
        await eventually(lambda: _certificate(world))
        assert await world.hub.resource(objects.NAMESPACES).get("karmada-es-m1")
    else:
        await _ask(world, "karmada:default-cluster-token", "later")
        await eventually(lambda: _certificate(world, "later"))
        assert "conditions" not in ((await world.hub.resource(REQUESTS).get("theirs")).get("status") or {})


async def _ask(world: World, group: str, name: str) -> None:
    user = UserInfo(TOKEN, ("system:bootstrappers", f"system:bootstrappers:{group}", "system:authenticated"))
    tree = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {k: v for k, v in request()["spec"].items() if k != "username"},
    }
    await Client(world.plane.server.direct(user)).resource(REQUESTS).create(tree)


async def _certificate(world: World, name: str = "theirs") -> Any:
    return ((await world.hub.resource(REQUESTS).get(name)).get("status") or {}).get("certificate")


def test_no_token_and_no_registration_is_for_certificates_that_are_shorter_than_any_server_gives() -> None:
    Grant(certificate_seconds=600).check()
    with pytest.raises(Refused, match="less than 600 s"):
        Grant(certificate_seconds=599).check()
    with pytest.raises(Refused, match="less than 600 s"):
        check(Registration("10.0.0.1:5443", "a.b", "m1", skip_verification=True, certificate_seconds=599))
