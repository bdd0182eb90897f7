import base64
import datetime

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from karmada.apiserver.auth import csr
from karmada.apiserver.auth.csr import Subresource
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.pki import server_names, user_name
from karmada.apiserver.auth.rbac import RbacAuthorizer
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.transport import GroupVersionResource, PatchType, Request, Verb

AT = datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC)
APPROVED = {"type": "Approved", "status": "True"}


def request(user="alice", groups=(), names=()):
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(user_name(user, groups))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(server_names(names)), critical=False)
    return base64.b64encode(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)).decode()


def csr_object(signer=csr.CLIENT, usages=("client auth",), conditions=(), **spec):
    spec.setdefault("request", request())
    return {
        "metadata": {"name": "n"},
        "spec": {"signerName": signer, "usages": list(usages), **spec},
        "status": {"conditions": list(conditions)},
    }


def test_a_new_request_is_its_requesters():
    obj = csr_object(username="forged", groups=["system:masters"])
    csr.prepare(obj, UserInfo("requester", ("g",), "u1", {"k": ("v",)}))
    assert (obj["spec"]["username"], obj["spec"]["groups"]) == ("requester", ["g"])
    assert (obj["spec"]["uid"], obj["spec"]["extra"]) == ("u1", {"k": ["v"]})


def test_administrators_are_not_made_by_certificate():
    with pytest.raises(Failure, match="signer with system:masters group is not allowed"):
        csr.check_subject(csr_object(request=request("bob", ["system:masters"])))


def test_valid_requests_have_no_errors():
    assert csr.validate(csr_object(expirationSeconds=600), None) == []


def test_errors_come_in_the_recorded_order_and_words():
    errors = csr.validate(csr_object("nodomain", ["client auth", "client auth", "zz"]), None)
    assert [(e.reason, e.field) for e in errors] == [
        ("FieldValueNotSupported", "spec.usages[2]"),
        ("FieldValueDuplicate", "spec.usages[1]"),
        ("FieldValueInvalid", "spec.signerName"),
    ]
    assert errors[2].message == (
        "Invalid value: \"nodomain\": must be a fully qualified domain and path of the form 'example.com/signer-name'"
    )
    (error,) = csr.validate(csr_object("a.dev/b", expirationSeconds=5), None)
    assert error.message == "Invalid value: 5: may not specify a duration less than 600 seconds (10 minutes)"


@pytest.mark.parametrize("data", ["", "!!", base64.b64encode(b"no pem").decode()])
def test_a_request_that_is_none_is_invalid(data):
    assert [e.field for e in csr.validate(csr_object(request=data), None)] == ["spec.request"]


@pytest.mark.parametrize(
    ("subresource", "before", "after", "message"),
    [
        (Subresource.APPROVAL, [], [APPROVED], None),
        (Subresource.MAIN, [], [APPROVED], 'Forbidden: updates may not add a condition of type "Approved"'),
        (Subresource.APPROVAL, [APPROVED], [], 'Forbidden: updates may not remove a condition of type "Approved"'),
        (
            Subresource.APPROVAL,
            [],
            [APPROVED, {"type": "Denied", "status": "True"}],
            'Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
        ),
        (
            Subresource.APPROVAL,
            [],
            [{"type": "Approved", "status": "False"}],
            'Unsupported value: "False": supported values: "True"',
        ),
    ],
)
def test_conditions_change_only_as_they_may(subresource, before, after, message):
    old = csr_object(conditions=before)
    new = {**old, "status": {"conditions": after}}
    assert [e.message for e in csr.validate(new, old, subresource)] == ([message] if message else [])


def certificate():
    key, name = ec.generate_private_key(ec.SECP256R1()), user_name("alice", ())
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(AT).not_valid_after(AT + datetime.timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def with_certificate(obj, pem):
    return {**obj, "status": {"certificate": base64.b64encode(pem).decode()}}


def test_the_certificate_is_set_once_through_the_status():
    old = csr_object()
    new = with_certificate(old, certificate())
    assert csr.validate(new, old, Subresource.STATUS) == []
    assert len(csr.validate(new, old, Subresource.APPROVAL)) == 1
    assert len(csr.validate(with_certificate(old, certificate()), new, Subresource.STATUS)) == 1


@pytest.mark.parametrize(
    ("pem", "why"),
    [
        pytest.param(b"x", "must contain at least one CERTIFICATE PEM block", id="no PEM"),
        pytest.param(
            b"-----BEGIN KEY-----\nYQ==\n-----END KEY-----\n",
            'only CERTIFICATE PEM blocks are allowed, found "KEY"',
            id="something else",
        ),
        pytest.param(
            b"-----BEGIN CERTIFICATE-----\nA: b\n\nYQ==\n-----END CERTIFICATE-----\n",
            "no PEM block headers are permitted",
            id="headers",
        ),
    ],
)
def test_only_certificates_are_accepted_as_certificates(pem, why):
    old = csr_object()
    errors = csr.validate(with_certificate(old, pem), old, Subresource.STATUS)
    assert [error.message for error in errors] == [f'Invalid value: "<certificate data>": {why}']


def test_the_first_block_of_a_request_must_be_one():
    pem = base64.b64decode(request())
    for wrong in (certificate() + pem, pem.replace(b"CERTIFICATE REQUEST", b"NEW CERTIFICATE REQUEST")):
        errors = csr.validate(csr_object(request=base64.b64encode(wrong).decode()), None)
        assert [error.message.rpartition(": ")[2] for error in errors] == ["PEM block type must be CERTIFICATE REQUEST"]
    assert csr.validate(csr_object(request=base64.b64encode(b"text before\n" + pem).decode()), None) == []


def test_approving_needs_the_signers_permission():
    rbac = RbacAuthorizer()
    rules = [
        {
            "verbs": ["approve"],
            "apiGroups": ["certificates.k8s.io"],
            "resources": ["signers"],
            "resourceNames": ["x.dev/*"],
        }
    ]
    rbac.put("clusterroles", {"metadata": {"name": "r"}, "rules": rules})
    subjects = [{"kind": "User", "name": "u"}]
    reference = {"kind": "ClusterRole", "name": "r"}
    rbac.put("clusterrolebindings", {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects})
    allowed = csr_object("x.dev/y")
    csr.check_permission(rbac, UserInfo("u"), Subresource.APPROVAL, allowed, allowed)
    refused = csr_object("z.dev/y")
    with pytest.raises(Failure, match="user not permitted to approve requests with signerName"):
        csr.check_permission(rbac, UserInfo("u"), Subresource.APPROVAL, refused, refused)


def certificate_of(status) -> x509.Certificate:
    return x509.load_pem_x509_certificate(base64.b64decode(status["certificate"]))


def test_an_approved_request_is_signed_as_asked(authority):
    at = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    obj = csr_object(request=request("alice", ["dev"]), expirationSeconds=3600, conditions=[APPROVED])
    certificate = certificate_of(csr.sign(obj, authority, at))
    certificate.verify_directly_issued_by(authority.certificate)
    assert certificate.not_valid_after_utc == at + datetime.timedelta(hours=1)
    assert certificate.subject == user_name("alice", ["dev"])
    usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usages) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    with pytest.raises(x509.ExtensionNotFound):
        certificate.extensions.get_extension_for_class(x509.KeyUsage)


def test_only_approved_requests_of_known_signers_are_signed(authority):
    assert csr.sign(csr_object(), authority, AT) is None
    assert csr.sign(csr_object("a.dev/b", conditions=[APPROVED]), authority, AT) is None
    assert csr.sign(csr_object(conditions=[APPROVED, {"type": "Failed", "status": "True"}]), authority, AT) is None


NODE = ("system:node:n1", ["system:nodes"])
STRANGER = ("a", ["system:nodes"], ["h"])
SERVING = ("digital signature", "server auth")
CLIENT = ("digital signature", "client auth")


@pytest.mark.parametrize(
    ("signer", "usages", "csr_request", "message"),
    [
        (csr.CLIENT, ["server auth"], ("a",), "invalid usage for client certificate: server auth"),
        (csr.CLIENT, ["digital signature"], ("a",), "missing required usage for client certificate: client auth"),
        (
            csr.KUBELET_SERVING,
            SERVING,
            ("a", ["system:nodes"], ["h"]),
            "subject common name does not begin with system:node:",
        ),
        (csr.KUBELET_SERVING, SERVING, NODE, "DNS or IP subjectAltName is required"),
        (csr.KUBELET_SERVING, SERVING, ("system:node:n1", ["x"], ["h"]), "subject organization is not system:nodes"),
        (
            csr.KUBELET_CLIENT,
            ["digital signature", "client auth"],
            (*NODE, ["h"]),
            "DNS subjectAltNames are not allowed",
        ),
        (
            csr.KUBELET_CLIENT,
            ["client auth"],
            NODE,
            "usages did not match [client auth digital signature key encipherment]",
        ),
    ],
)
def test_a_request_that_does_not_fit_its_signer_fails(authority, signer, usages, csr_request, message):
    obj = csr_object(signer, usages, [APPROVED], request=request(*csr_request))
    status = csr.sign(obj, authority, AT)
    assert status is not None
    assert (status["conditions"][-1]["type"], status["conditions"][-1]["message"]) == ("Failed", message)


def test_kubelets_get_their_certificates(authority):
    at = datetime.datetime.now(datetime.UTC)
    serving = csr_object(csr.KUBELET_SERVING, SERVING, [APPROVED], request=request(*NODE, ["n1", "10.0.0.1"]))
    names = certificate_of(csr.sign(serving, authority, at)).extensions
    assert list(names.get_extension_for_class(x509.SubjectAlternativeName).value) == server_names(["n1", "10.0.0.1"])
    client = csr_object(csr.KUBELET_CLIENT, ["digital signature", "client auth"], [APPROVED], request=request(*NODE))
    assert certificate_of(csr.sign(client, authority, at))


def test_conditions_get_the_times_they_lack():
    before = "2026-01-01T00:00:00Z"
    old = csr_object(conditions=[{**APPROVED, "lastTransitionTime": before}])
    new = csr_object(conditions=[APPROVED, {"type": "Other", "status": "True", "lastUpdateTime": before}])
    assert csr.stamped(new, old, "now") == [
        {**APPROVED, "lastUpdateTime": "now", "lastTransitionTime": before},
        {"type": "Other", "status": "True", "lastUpdateTime": before, "lastTransitionTime": "now"},
    ]


@pytest.mark.parametrize(
    ("conditions", "kept"),
    [
        ([{**APPROVED, "reason": "mine"}], [{**APPROVED, "reason": "theirs"}]),
        ([APPROVED, APPROVED], [APPROVED, APPROVED]),
        ([{"type": "Failed"}], [{"type": "Failed"}]),
    ],
    ids=["changed", "added", "removed"],
)
def test_signers_keep_what_was_decided(conditions, kept):
    old = csr_object(conditions=[{**APPROVED, "reason": "theirs"}])
    assert csr.with_decisions(conditions, old) == kept


async def test_approval_keeps_annotations_and_leaves_the_rest_alone():
    requests = GroupVersionResource(csr.GROUP, "v1", csr.PLURAL)
    async with ApiServer() as server:
        transport = server.direct(ADMIN)
        await transport.send(Request(Verb.CREATE, requests, body=csr_object()))
        document = {
            "metadata": {"annotations": {"a": "b"}},
            "spec": {"usages": ["server auth"]},
            "status": {"certificate": "eA==", "conditions": [{**APPROVED, "reason": "r"}]},
        }
        patch = Request(Verb.PATCH, requests, "", "n", "approval", body=document, patch_type=PatchType.MERGE)
        approved = orjson.loads(await transport.send(patch))
    assert approved["metadata"]["annotations"] == {"a": "b"}
    assert approved["spec"]["usages"] == ["client auth"]
    assert "certificate" not in approved["status"]
    assert approved["status"]["conditions"][0]["lastUpdateTime"]
