"""The aggregated API server as a component of its own, behind an API server that knows nothing of clusters."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
from cryptography import x509
from tests.membership.test_cluster_api import cluster
from tests.membership.world import eventually, user_transport

from karmada.aggregated.server import ClusterServer, Trust
from karmada.apiserver.auth.front_proxy import trust_document
from karmada.apiserver.auth.pki import ensure_authority
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden, Unauthorized
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects

SERVICES = GroupVersionResource("", "v1", "services")
ENDPOINTS = GroupVersionResource("", "v1", "endpoints")
API_SERVICES = GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices")


@dataclass
class Pair:
    """The two servers."""

    front: ApiServer
    endpoint: str
    behind: ClusterServer
    behind_endpoint: str

    def user(self, name: str, *groups: str) -> Client:
        return Client(user_transport(self.front, self.endpoint, name, *groups))


async def servers(tmp_path: Path) -> AsyncIterator[Pair]:
    """A fixture: the aggregated API server behind another."""
    async with AsyncExitStack() as stack:
        front = await stack.enter_async_context(ApiServer(ApiServerOptions(folder=tmp_path)))
        endpoint = f"https://127.0.0.1:{await front.listen()}"
        hub = Client(front.direct(ADMIN))
        trust_map = await hub.resource(objects.CONFIG_MAPS).get("extension-apiserver-authentication", "kube-system")
        clients, proxies = (
            trust_map["data"][name].encode() for name in ("client-ca-file", "requestheader-client-ca-file")
        )
        behind = await stack.enter_async_context(
            ClusterServer(MemoryStorage(), hub, Trust(clients, proxies, ["front-proxy-client"]))
        )
        port = await behind.listen(hosts=["karmada-aggregated-apiserver.karmada-system.svc"])
        await _announce(hub, behind.identity.authority.certificate_pem, port)
        yield Pair(front, endpoint, behind, f"https://127.0.0.1:{port}")


pair = pytest.fixture(servers, name="pair")


async def _announce(hub: Client, authority: bytes, port: int) -> None:
    name, space = "karmada-aggregated-apiserver", "karmada-system"
    metadata = {"name": name, "namespace": space}
    await hub.resource(objects.NAMESPACES).create(objects.namespace(space))
    await hub.resource(SERVICES).create(
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 443}]}}
    )
    subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": port}]}
    await hub.resource(ENDPOINTS).create(
        {"apiVersion": "v1", "kind": "Endpoints", "metadata": dict(metadata), "subsets": [subset]}
    )
    await hub.resource(API_SERVICES).create(
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1alpha1.cluster.karmada.io"},
            "spec": {
                "group": "cluster.karmada.io",
                "version": "v1alpha1",
                "groupPriorityMinimum": 2000,
                "versionPriority": 10,
                "service": {"name": name, "namespace": space, "port": 443},
                "caBundle": base64.b64encode(authority).decode(),
            },
        }
    )

    async def available() -> bool:
        found = await hub.resource(API_SERVICES).get("v1alpha1.cluster.karmada.io")
        return any(c["type"] == "Available" and c["status"] == "True" for c in found["status"]["conditions"])

    await eventually(available)


async def test_clusters_are_served_through_the_server_in_front(pair: Pair) -> None:
    admin = pair.user("system:admin", "system:masters")
    made = await admin.resource(objects.CLUSTERS).create(cluster("m1", zone="a"))
    assert made["spec"]["zones"] == ["a"]
    assert made["metadata"]["generation"] == 1
    found = await admin.resource(objects.CLUSTERS).patch("m1", {"spec": {"region": "east"}})
    assert found["metadata"]["generation"] == 2
    assert [c["metadata"]["name"] for c in (await admin.resource(objects.CLUSTERS).list()).items] == ["m1"]
    served = await admin.mapper.of_kind("cluster.karmada.io/v1alpha1", "Cluster")
    assert served.subresources >= {"status", "proxy"}
    await admin.close()


async def test_roles_of_the_server_in_front_decide(pair: Pair) -> None:
    dev = pair.user("dev")
    with pytest.raises(Forbidden):
        await dev.resource(objects.CLUSTERS).list()
    admin = Client(pair.front.direct(ADMIN))
    rule = {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters"], "verbs": ["list"]}
    await admin.resource(objects.CLUSTER_ROLES).create(objects.cluster_role("reader", [rule], {}))
    subject = objects.user_subject("dev")
    await admin.resource(objects.CLUSTER_ROLE_BINDINGS).create(objects.cluster_role_binding("reader", subject, {}))

    async def allowed() -> bool:
        try:
            await dev.resource(objects.CLUSTERS).list()
        except Forbidden:
            return False
        return True

    await eventually(allowed)
    with pytest.raises(Forbidden):
        await dev.resource(objects.CLUSTERS).create(cluster("m1"))
    await dev.close()


async def test_only_the_front_proxy_may_name_the_user(pair: Pair) -> None:
    """A client that talks to the component itself and claims to be somebody is not believed."""
    authority = pair.behind.identity.authority
    anonymous = HttpTransport(Target(pair.behind_endpoint, Material(authority.certificate_pem)))
    with pytest.raises((Forbidden, Unauthorized)):
        await Client(anonymous).resource(objects.CLUSTERS).list()
    await anonymous.close()
    certificate, key = pair.front.identity.authority.issue_client("mallory")
    mallory = Identity(Material(certificate), Material(key))
    direct = HttpTransport(Target(pair.behind_endpoint, Material(authority.certificate_pem), identity=mallory))
    with pytest.raises(Forbidden, match='User "mallory" cannot list'):
        await Client(direct).resource(objects.CLUSTERS).list()
    await direct.close()


async def test_a_client_with_the_name_of_the_front_proxy_is_not_the_front_proxy(pair: Pair) -> None:
    certificate, key = pair.front.identity.authority.issue_client("front-proxy-client", ["system:nobody"])
    context = ssl.create_default_context(cadata=pair.behind.identity.authority.certificate_pem.decode())
    with NamedTemporaryFile() as file:
        file.write(certificate + key)
        file.flush()
        context.load_cert_chain(file.name)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", int(pair.behind_endpoint.rpartition(":")[2]), ssl=context
    )
    head = "GET /apis/cluster.karmada.io/v1alpha1/clusters HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
    writer.write(f"{head}X-Remote-User: root\r\nX-Remote-Group: system:masters\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    assert b" 403 " in answer.splitlines()[0]
    assert b'User \\"front-proxy-client\\" cannot list' in answer


async def test_one_ca_for_clients_and_the_front_proxy_is_refused(pair: Pair) -> None:
    authority = pair.front.identity.authority.certificate_pem
    with pytest.raises(ValueError, match="give front proxies a CA of their own"):
        ClusterServer(MemoryStorage(), Client(pair.front.direct(ADMIN)), Trust(authority, authority, ["a"]))


async def test_a_folder_from_before_gets_a_second_ca_and_a_new_certificate(tmp_path: Path) -> None:
    old = ensure_authority(tmp_path, "kubernetes-ca")
    certificate, key = old.issue_client("front-proxy-client")
    (tmp_path / "front-proxy-client.crt").write_bytes(certificate)
    (tmp_path / "front-proxy-client.key").write_bytes(key)
    storage = MemoryStorage()
    before = trust_document(old.certificate_pem, old.certificate_pem, ["front-proxy-client"])
    for again in (False, True):
        async with ApiServer(ApiServerOptions(folder=tmp_path, storage=storage)) as server:
            if not again:
                named = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
                document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": before}
                await Client(server.direct(ADMIN)).resource(objects.CONFIG_MAPS).create(document)
            await server.listen()
            files = server.identity.front_proxy_files()
            assert files is not None
            assert files[0] == str(tmp_path / "front-proxy-client.crt")
            own = x509.load_pem_x509_certificate((tmp_path / "front-proxy-client.crt").read_bytes())
            own.verify_directly_issued_by(server.identity.front_proxy_authority.certificate)
            assert own.issuer != server.identity.authority.certificate.subject
            published = (
                await Client(server.direct(ADMIN))
                .resource(objects.CONFIG_MAPS)
                .get("extension-apiserver-authentication", "kube-system")
            )
            data = published["data"]
            assert data["requestheader-client-ca-file"] == (tmp_path / "front-proxy-ca.crt").read_text()
            assert data["client-ca-file"] == old.certificate_pem.decode()
    assert (tmp_path / "front-proxy-ca.key").stat().st_mode & 0o777 == 0o600


async def test_a_protected_cluster_stays(pair: Pair) -> None:
    admin = pair.user("system:admin", "system:masters")
    tree: dict[str, Any] = cluster("m1")
    tree["metadata"]["labels"] = {"resourcetemplate.karmada.io/deletion-protected": "Always"}
    await admin.resource(objects.CLUSTERS).create(tree)
    with pytest.raises(Forbidden, match="This resource is protected"):
        await admin.resource(objects.CLUSTERS).delete("m1")
    await admin.close()


@pytest.mark.tools
async def test_clusters_are_kept_in_etcd_and_shared_by_replicas(replicas: list[ClusterServer]) -> None:
    one, other = (Client(server.direct()) for server in replicas)
    await one.resource(objects.CLUSTERS).create(cluster("m1", id="first"))
    await eventually(lambda: other.resource(objects.CLUSTERS).get("m1"))
    with pytest.raises(Forbidden, match="has been registered as m1"):
        await other.resource(objects.CLUSTERS).create(cluster("m2", id="first"))
    await other.resource(objects.CLUSTERS).patch("m1", {"spec": {"region": "east"}})

    async def seen() -> bool:
        return (await one.resource(objects.CLUSTERS).get("m1"))["spec"].get("region") == "east"

    await eventually(seen)
