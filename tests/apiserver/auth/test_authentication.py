import base64
import datetime

import pytest

from karmada.apiserver.auth.authentication import Authenticator
from karmada.apiserver.auth.bootstrap_tokens import BootstrapTokens
from karmada.apiserver.auth.certificates import CertificateAuthenticator
from karmada.apiserver.auth.impersonation import impersonate
from karmada.apiserver.auth.model import ANONYMOUS, UserInfo
from karmada.apiserver.auth.pki import Authority, server_names
from karmada.apiserver.auth.rbac import RbacAuthorizer
from karmada.apiserver.auth.service_accounts import Verified
from karmada.apiserver.auth.static_tokens import StaticTokens
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.clock import rfc3339
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.transport import GroupVersionResource

DAY = 86400
ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")


def der(pem: bytes) -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)


@pytest.fixture
def chain(authority, tokens, objects, clock):
    clock.now = datetime.datetime.now(datetime.UTC).timestamp()
    return Authenticator(
        CertificateAuthenticator(authority.certificate_pem, clock),
        StaticTokens.parse('secret,admin,1,"system:masters,ops"\n'),
        tokens,
        BootstrapTokens(objects, clock),
    )


def bearer(token):
    return {"authorization": f"Bearer {token}"}


def refused(chain, headers, certificate=None):
    with pytest.raises(Failure) as failure:
        chain.authenticate(headers, certificate)
    assert failure.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


def test_without_credentials_one_is_anonymous(chain):
    assert chain.authenticate({}, None) == ANONYMOUS


def test_a_certificate_names_user_and_groups(chain, authority):
    certificate, _ = authority.issue_client("alice", ["dev", "ops"])
    user = chain.authenticate({}, der(certificate))
    assert (user.name, user.groups) == ("alice", ("dev", "ops", "system:authenticated"))
    assert user.extra["authentication.kubernetes.io/credential-id"][0].startswith("X509SHA256=")


@pytest.mark.parametrize("kind", ["untrusted", "same name, other key", "expired", "not yet valid", "server", "noise"])
def test_a_bad_certificate_is_refused(chain, authority, clock, kind):
    certificate, _ = authority.issue_client("alice", ["system:masters"])
    data = der(certificate)
    if kind == "untrusted":
        data = der(Authority.create("evil").issue_client("alice", ["system:masters"])[0])
    elif kind == "same name, other key":
        data = der(Authority.create("test-ca").issue_client("alice", ["system:masters"])[0])
    elif kind == "expired":
        assert chain.authenticate({}, data).name == "alice"
        clock.now += 366 * DAY
    elif kind == "not yet valid":
        clock.now -= DAY
    elif kind == "server":
        data = der(authority.issue_server("alice", server_names(["alice"]))[0])
    else:
        data = b"\x30\x03abc"
    refused(chain, {}, data)


def test_a_bad_certificate_with_a_good_token_counts_as_the_token(chain):
    data = der(Authority.create("evil").issue_client("alice")[0])
    assert chain.authenticate(bearer("secret"), data).name == "admin"


def test_static_tokens(chain):
    user = chain.authenticate(bearer("secret"), None)
    assert user == UserInfo("admin", ("system:masters", "ops", "system:authenticated"), "1")


@pytest.mark.parametrize("token", ["wrong", "a.b.c", "abcdef.0123456789abcdef", "e30.e30.e30"])
def test_a_bad_token_is_refused_not_anonymous(chain, token):
    refused(chain, bearer(token))


def test_a_projected_token_lives_with_its_account_and_pod(chain, tokens, objects, clock):
    objects.put("serviceaccounts", "ns", "sa")
    objects.put("pods", "ns", "p")
    from karmada.apiserver.auth.service_accounts import Bound

    token = tokens.mint("ns", "sa", "uid-sa", tokens.audiences, 600, Bound("pod", "p", "uid-p"))
    user = chain.authenticate(bearer(token), None)
    assert user.name == "system:serviceaccount:ns:sa"
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
    assert user.uid == "uid-sa"
    assert user.extra["authentication.kubernetes.io/pod-name"] == ("p",)
    assert user.extra["authentication.kubernetes.io/credential-id"] == ("JTI=id-1",)
    objects.put("pods", "ns", "p", metadata={"uid": "another"})
    refused(chain, bearer(token))
    objects.put("pods", "ns", "p")
    assert chain.authenticate(bearer(token), None)
    objects.put("serviceaccounts", "ns", "sa", metadata={"uid": "another"})
    refused(chain, bearer(token))
    objects.put("serviceaccounts", "ns", "sa")
    clock.now += 601
    refused(chain, bearer(token))


@pytest.mark.parametrize(
    ("kind", "namespace", "name"), [("serviceaccounts", "ns", "sa"), ("pods", "ns", "p"), ("nodes", "", "n")]
)
def test_a_projected_token_ends_with_a_deletion_that_a_finalizer_holds_back(
    chain, tokens, objects, clock, kind, namespace, name
):
    from karmada.apiserver.auth.service_accounts import Bound

    clock.now = float(int(clock.now))
    for each in (("serviceaccounts", "ns", "sa"), ("pods", "ns", "p"), ("nodes", "", "n")):
        objects.put(*each)
    bound = Bound("node", "n", "uid-n") if kind == "nodes" else Bound("pod", "p", "uid-p")
    token = tokens.mint("ns", "sa", "uid-sa", tokens.audiences, 600, bound)
    objects.put(kind, namespace, name, metadata={"deletionTimestamp": rfc3339(clock.now)})
    clock.now += 60
    assert chain.authenticate(bearer(token), None)
    clock.now += 1
    refused(chain, bearer(token))


def test_a_token_for_another_audience_is_refused(chain, tokens, objects):
    objects.put("serviceaccounts", "ns", "sa")
    refused(chain, bearer(tokens.mint("ns", "sa", "uid-sa", ["vault"], 600)))


def test_a_token_of_another_key_is_refused(chain, tokens, objects, clock):
    from karmada.apiserver.auth import jwt
    from karmada.apiserver.auth.service_accounts import ServiceAccountTokens

    objects.put("serviceaccounts", "ns", "sa")
    forger = ServiceAccountTokens(jwt.SigningKey(jwt.generate_key()), objects, clock, lambda: "x")
    refused(chain, bearer(forger.mint("ns", "sa", "uid-sa", tokens.audiences, 600)))


def test_an_unsigned_token_is_refused(chain, tokens, objects):
    objects.put("serviceaccounts", "ns", "sa")
    _, claims, _ = tokens.mint("ns", "sa", "uid-sa", tokens.audiences, 600).split(".")
    header = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    refused(chain, bearer(f"{header}.{claims}."))


def legacy(tokens, objects) -> str:
    """The token of a Secret."""
    objects.put("serviceaccounts", "ns", "sa")
    token = tokens.mint_legacy("ns", "sa", "uid-sa", "s")
    objects.put("secrets", "ns", "s", data={"token": base64.b64encode(token.encode()).decode()})
    return token


def test_a_legacy_token_lives_with_its_secret(chain, tokens, objects):
    token = legacy(tokens, objects)
    secret = objects.read(("", "secrets"), "ns", "s")
    assert chain.authenticate(bearer(token), None).name == "system:serviceaccount:ns:sa"
    secret["data"]["token"] = ""
    refused(chain, bearer(token))


@pytest.mark.parametrize("kind", ["secrets", "serviceaccounts"])
def test_a_legacy_token_ends_when_its_deletion_begins(chain, tokens, objects, clock, kind):
    token = legacy(tokens, objects)
    deleted = objects.read(("", kind), "ns", "s" if kind == "secrets" else "sa")
    deleted["metadata"]["deletionTimestamp"] = rfc3339(clock.now)
    refused(chain, bearer(token))


def test_a_legacy_token_that_is_marked_as_invalid_is_refused(chain, tokens, objects):
    token = legacy(tokens, objects)
    secret = objects.read(("", "secrets"), "ns", "s")
    secret["metadata"]["labels"] = {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}
    refused(chain, bearer(token))


async def test_a_stored_service_account_is_known_to_be_deleted():
    now = [1_800_000_000.0]
    async with ApiServer(ApiServerOptions(now=lambda: now[0])) as server:
        accounts = Client(server.direct()).resource(ACCOUNTS)
        held = {"metadata": {"name": "sa", "namespace": "default", "finalizers": ["a.example.com/b"]}}
        uid = (await accounts.create(held))["metadata"]["uid"]
        tokens = server.identity.tokens
        token = tokens.mint("default", "sa", uid, tokens.audiences, 600)
        await accounts.delete("sa", "default")
        assert isinstance(tokens.verify(token), Verified)
        now[0] += 61
        assert tokens.verify(token) == "service account default/sa has been deleted"


def bootstrap_secret(objects, **changes):
    data = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:karmada:default-cluster-token",
        **changes,
    }
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    objects.put("secrets", "kube-system", "bootstrap-token-abcdef", type="bootstrap.kubernetes.io/token", data=encoded)


def test_a_bootstrap_token_names_its_groups(chain, objects):
    bootstrap_secret(objects)
    user = chain.authenticate(bearer("abcdef.0123456789abcdef"), None)
    assert user.name == "system:bootstrap:abcdef"
    assert user.groups == (
        "system:bootstrappers",
        "system:bootstrappers:karmada:default-cluster-token",
        "system:authenticated",
    )


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"expiration": "2020-01-01T00:00:00Z"}, id="expired"),
        pytest.param({"expiration": "soon"}, id="unreadable expiration"),
        pytest.param({"usage-bootstrap-authentication": "false"}, id="other usage"),
        pytest.param({"token-secret": "fedcba9876543210"}, id="wrong secret"),
        pytest.param({"auth-extra-groups": "system:masters"}, id="forbidden group"),
    ],
)
def test_a_bootstrap_token_that_does_not_count(chain, objects, changes):
    bootstrap_secret(objects, **changes)
    refused(chain, bearer("abcdef.0123456789abcdef"))


# Impersonation.

ADMIN = UserInfo("admin", ("system:masters",))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, ADMIN),
        ({"impersonate-user": "u"}, UserInfo("u", ("system:authenticated",))),
        (
            {"impersonate-user": "u", "impersonate-group": "a,b\nc"},
            UserInfo("u", ("a,b", "c", "system:authenticated")),
        ),
        (
            {"impersonate-user": "system:serviceaccount:ns1:sa1"},
            UserInfo(
                "system:serviceaccount:ns1:sa1",
                ("system:serviceaccounts", "system:serviceaccounts:ns1", "system:authenticated"),
            ),
        ),
        ({"impersonate-user": "system:anonymous"}, UserInfo("system:anonymous", ("system:unauthenticated",))),
        (
            {"impersonate-user": "u", "impersonate-group": "system:unauthenticated"},
            UserInfo("u", ("system:unauthenticated",)),
        ),
        (
            {
                "impersonate-user": "u",
                "impersonate-uid": "x",
                "impersonate-extra-scopes": "a\nb",
                "impersonate-extra-example.com%2fkey": "v",
            },
            UserInfo("u", ("system:authenticated",), "x", {"scopes": ("a", "b"), "example.com/key": ("v",)}),
        ),
    ],
)
def test_masters_act_as_anybody(headers, expected):
    assert impersonate(RbacAuthorizer(), ADMIN, headers) == expected


def test_impersonation_without_a_user_is_a_bad_request():
    with pytest.raises(Failure) as failure:
        impersonate(RbacAuthorizer(), ADMIN, {"impersonate-group": "g"})
    assert failure.value.message == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, '
        "Extra:map[string][]string(nil)} without impersonating a user name"
    )


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        (
            {"impersonate-user": "boss"},
            'users "boss" is forbidden: User "u" cannot impersonate resource "users" '
            'in API group "" at the cluster scope',
        ),
        (
            {"impersonate-user": "system:serviceaccount:ns:sa"},
            'serviceaccounts "sa" is forbidden: User "u" cannot impersonate resource "serviceaccounts" '
            'in API group "" in the namespace "ns"',
        ),
        (
            {"impersonate-user": "friend", "impersonate-group": "system:masters"},
            'groups "system:masters" is forbidden: User "u" cannot impersonate resource "groups" '
            'in API group "" at the cluster scope',
        ),
        (
            {"impersonate-user": "friend", "impersonate-extra-scopes": "x"},
            'userextras.authentication.k8s.io "x" is forbidden: User "u" cannot impersonate resource '
            '"userextras/scopes" in API group "authentication.k8s.io" at the cluster scope',
        ),
    ],
)
def test_every_header_needs_its_permission(headers, message):
    rbac = RbacAuthorizer()
    rules = [{"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["friend"]}]
    rbac.put("clusterroles", {"metadata": {"name": "r"}, "rules": rules})
    subjects = [{"kind": "User", "name": "u"}]
    reference = {"kind": "ClusterRole", "name": "r"}
    rbac.put("clusterrolebindings", {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects})
    assert impersonate(rbac, UserInfo("u"), {"impersonate-user": "friend"}).name == "friend"
    with pytest.raises(Failure) as failure:
        impersonate(rbac, UserInfo("u"), headers)
    assert (failure.value.code, failure.value.message) == (403, message)


def rsa_pem() -> bytes:
    from cryptography.hazmat.primitives.asymmetric import rsa

    from karmada.apiserver.auth.pki import private_pem

    return private_pem(rsa.generate_private_key(65537, 2048))


def test_keys_can_be_rotated_and_be_rsa(objects, clock):
    from karmada.apiserver.auth import jwt
    from karmada.apiserver.auth.service_accounts import ServiceAccountTokens

    objects.put("serviceaccounts", "ns", "sa")
    old_pem = rsa_pem()
    old = ServiceAccountTokens(jwt.SigningKey(old_pem), objects, clock, lambda: "x")
    token = old.mint("ns", "sa", "uid-sa", old.audiences, 600)
    new = ServiceAccountTokens(
        jwt.SigningKey(jwt.generate_key()), objects, clock, lambda: "x", accepted=[jwt.PublicKey.load(old_pem)]
    )
    assert new.verify(token).user.name == "system:serviceaccount:ns:sa"
    assert [key["alg"] for key in new.key_set()["keys"]] == ["ES256", "RS256"]
    assert new.configuration()["id_token_signing_alg_values_supported"] == ["ES256", "RS256"]
    without = ServiceAccountTokens(jwt.SigningKey(jwt.generate_key()), objects, clock, lambda: "x")
    assert without.verify(token) == "invalid signature, no keys found"
