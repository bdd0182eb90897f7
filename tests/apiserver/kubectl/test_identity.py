"""The real kubectl on identity: who am I, what may I, tokens, certificates."""

import base64
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from karmada.apiserver.auth.pki import Authority, private_pem, user_name

pytestmark = pytest.mark.tools


async def get(port, path, authority, token="", client: tuple[bytes, bytes] | None = None, tmp_path=None):
    import asyncio

    context = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    if client is not None:
        (tmp_path / "client.pem").write_bytes(b"".join(client))
        context.load_cert_chain(tmp_path / "client.pem")
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    bearer = f"Authorization: Bearer {token}\r\n" if token else ""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{bearer}\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2].decode()


async def test_who_am_i_and_what_may_i(kubectl):
    assert "system:masters" in (await kubectl("auth", "whoami")).out
    assert (await kubectl("auth", "can-i", "delete", "nodes")).out == "yes\n"
    refused = await kubectl("auth", "can-i", "list", "pods", "--as", "bob")
    assert (refused.code, refused.out) == (1, "no\n")
    await kubectl("create", "role", "reader", "--verb=list", "--resource=pods")
    await kubectl("create", "rolebinding", "bob-reads", "--role=reader", "--user=bob")
    assert (await kubectl("auth", "can-i", "list", "pods", "--as", "bob")).out == "yes\n"
    listed = await kubectl("auth", "can-i", "--list", "--as", "bob")
    assert "pods" in listed.out


async def test_a_token_is_its_service_account(kubectl, server):
    created = await kubectl("create", "serviceaccount", "robot")
    assert created.code == 0, created.err
    token = (await kubectl("create", "token", "robot", "--duration=10m")).out.strip()
    path = "/api/v1/namespaces/default/configmaps"
    code, body = await get(kubectl.port, path, server.identity.authority, token)
    assert code == 403
    assert 'User \\"system:serviceaccount:default:robot\\" cannot list' in body
    await kubectl("create", "clusterrolebinding", "robot", "--clusterrole=view", "--serviceaccount=default:robot")
    assert (await get(kubectl.port, path, server.identity.authority, token))[0] == 200
    await kubectl("delete", "serviceaccount", "robot")
    assert (await get(kubectl.port, path, server.identity.authority, token))[0] == 401


async def test_an_approved_request_becomes_a_certificate_that_works(kubectl, server, tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(user_name("alice", ["dev"]))
    pem = request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    manifest = f"""
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {{name: alice}}
spec:
  request: {base64.b64encode(pem).decode()}
  signerName: kubernetes.io/kube-apiserver-client
  usages: [client auth]
"""
    created = await kubectl("create", "-f", "-", stdin=manifest)
    assert created.code == 0, created.err
    approved = await kubectl("certificate", "approve", "alice")
    assert approved.code == 0, approved.err
    issued = await kubectl("wait", "csr", "alice", "--for=jsonpath={.status.certificate}", "--timeout=20s")
    assert issued.code == 0, issued.err
    encoded = (await kubectl("get", "csr", "alice", "-o", "jsonpath={.status.certificate}")).out
    client = (base64.b64decode(encoded), private_pem(key))
    code, body = await get(kubectl.port, "/api/v1/nodes", server.identity.authority, "", client, tmp_path)
    assert (code, 'User \\"alice\\" cannot list' in body) == (403, True)


async def test_an_untrusted_certificate_is_unauthorized(kubectl, server, tmp_path):
    client = Authority.create("evil").issue_client("admin", ["system:masters"])
    code, body = await get(kubectl.port, "/api/v1/nodes", server.identity.authority, "", client, tmp_path)
    assert (code, '"reason":"Unauthorized"' in body) == (401, True)
