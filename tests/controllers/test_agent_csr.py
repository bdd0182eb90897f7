"""What a registration that came to nothing leaves behind."""

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.controllers.plane import NAMESPACES, on_a_plane

from karmada.controllers.agent_csr import REQUESTS, AgentRequestController
from karmada.machinery.errors import Unavailable
from karmada.machinery.transport import Verb
from karmada.membership import objects
from karmada.membership.agent_identity import registration_id


def signing_request(cluster, key=None, registration=""):
    """A request for an agent's certificate: one that begins a registration, or of one that is named."""
    key = key or KEY
    registration = registration or registration_id(cluster, key.public_key())
    groups = ("system:karmada:agents", f"system:karmada:registration:{registration}")
    subject = x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
            x509.NameAttribute(NameOID.COMMON_NAME, f"system:karmada:agent:{cluster}"),
        ]
    )
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


KEY, LATER = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
DAY = 24 * 3600
USAGES = ["digital signature", "key encipherment", "client auth"]
SIGNER = "kubernetes.io/kube-apiserver-client"


async def roles(plane):
    found = (await plane.client.resource(objects.CLUSTER_ROLES).list()).items
    return [role["metadata"]["name"] for role in found if "m1" in role["metadata"]["name"]]


@pytest.mark.parametrize(
    "refused",
    [(Verb.GET, "clusters"), (Verb.DELETE, "clusterroles")],
    ids=["asking for the cluster", "deleting its role"],
)
def test_roles_are_taken_back_also_when_the_first_attempt_fails(refused):
    failed = []

    async def fail_once(request):
        if (request.verb, request.resource.resource) == refused and not failed:
            failed.append(request)
            raise Unavailable("try again")

    async def scenario(plane):
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": "karmada-cluster"}})
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": "karmada-system"}})
        plane.start(AgentRequestController(plane.context).controller)
        spec = {"signerName": SIGNER, "usages": USAGES, "request": signing_request("m1"), "expirationSeconds": DAY}
        await plane.client.resource(REQUESTS).create({"metadata": {"name": "theirs"}, "spec": spec})
        await plane.clock.sleep(5)
        assert await roles(plane)
        plane.transport.before = fail_once
        await plane.client.resource(REQUESTS).delete("theirs")
        await plane.clock.sleep(60)
        assert failed
        assert await roles(plane) == []

    on_a_plane(scenario)
