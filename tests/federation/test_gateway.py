"""Requests from outside through the gateway to pods of several clusters."""

import asyncio
import base64
import contextlib
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from karmada.apiserver.auth.pki import Authority, server_names
from karmada.gateway.endpoints import Endpoint
from karmada.gateway.exchange import Broken, Destination
from karmada.gateway.service import COMPONENT, GatewayOptions, GatewayService
from karmada.gateway.upstream_routes import UpstreamRoute
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.simulator.network.plane import Unreachable
from karmada.simulator.spec import FleetSpec, MemberSpec, NodePool
from karmada.testing.federation import Federation

DOCUMENTS = Path(__file__).parents[1] / "documents" / "data"
EXPOSED = DOCUMENTS / "001-23-multiclusterservice-nginx-mcs.yaml"
INGRESS = DOCUMENTS / "001-24-multiclusteringress-nginx-mci.yaml"
ONE, TWO = "member-cluster-1", "member-cluster-2"
HOST = "nginx.example.com"
INGRESSES = GroupVersionResource("networking.karmada.io", "v1alpha1", "multiclusteringresses")
CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
SECRETS = GroupVersionResource("", "v1", "secrets")
TEMPLATES = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: nginx}
spec:
  replicas: 2
  selector: {matchLabels: {app: nginx}}
  template:
    metadata: {labels: {app: nginx}}
    spec: {containers: [{name: nginx, image: nginx}]}
---
apiVersion: v1
kind: Service
metadata: {name: nginx-mcs}
spec:
  selector: {app: nginx}
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: nginx}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: nginx}
  - {apiVersion: v1, kind: Service, name: nginx-mcs}
  placement: {}
"""


class Client:
    """A client of the gateway on one connection that is kept."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self.port = port
        self._tls = tls
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str = "/", host: str = HOST, method: str = "GET") -> tuple[int, Any]:
        if self._streams is None:
            name = host if self._tls else None
            self._streams = await asyncio.open_connection("127.0.0.1", self.port, ssl=self._tls, server_hostname=name)
        reader, writer = self._streams
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        body = await reader.readexactly(length)
        return int(head.split()[1]), orjson.loads(body) if body.startswith(b"{") else body.decode()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._streams is not None:
            self._streams[1].close()
            with contextlib.suppress(OSError):
                await self._streams[1].wait_closed()


def world() -> Federation:
    pools = (NodePool(count=2),)
    return Federation(fleet=FleetSpec((MemberSpec(ONE, node_pools=pools), MemberSpec(TWO, node_pools=pools))))


@asynccontextmanager
async def gateway(federation: Federation, **options: Any) -> AsyncIterator[GatewayService]:
    """The gateway with its own rights, on loopback addresses of pods."""
    plane = federation.plane
    client = plane.component(COMPONENT)

    async def find(endpoint: Endpoint) -> UpstreamRoute:
        try:
            address = await federation.members[endpoint.cluster].address(endpoint.pod, endpoint.port)
            return UpstreamRoute(Destination(*address))
        except Unreachable as error:
            raise Broken(str(error), False) from None

    def open_member(cluster: str) -> Any:
        return federation.members[cluster].transport()

    made = GatewayOptions(addresses=("203.0.113.7",), **options)
    async with Supervisor() as supervisor:
        informers = InformerFactory(client, supervisor)
        async with GatewayService(client, informers, supervisor, made, find, open_member) as serving:
            yield serving


async def spread(federation: Federation, client: Client, clusters: set[str]) -> None:
    """Wait until exactly these clusters answer."""

    async def answered() -> bool:
        replies = [await client.get() for _ in range(8)]
        return {body["cluster"] for status, body in replies if status == 200} == clusters

    await federation.eventually(answered)


async def ingress_status(federation: Federation, name: str = "nginx-mci") -> dict[str, Any]:
    found = await federation.hub.resource(INGRESSES).get(name, "default")
    status: dict[str, Any] = found.get("status") or {}
    return status


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in status.get("conditions") or ()}


async def test_the_documented_ingress_is_answered_by_pods_of_both_clusters() -> None:
    async with world() as federation, gateway(federation) as serving:
        await federation.apply(TEMPLATES, EXPOSED, INGRESS)
        async with Client(serving.http_port) as client:
            await spread(federation, client, {ONE, TWO})
            replies = Counter([(await client.get("/a?b=c"))[1]["cluster"] for _ in range(40)])
            assert replies == {ONE: 20, TWO: 20}
            status, echo = await client.get("/a%2Fb?c=%20", method="POST")
            assert (status, echo["path"], echo["method"], echo["host"]) == (200, "/a/b?c=%20", "POST", HOST)
            assert await client.get(host="other.example.com") == (404, "no route for this host and path\n")

            async def is_reported() -> bool:
                status = await ingress_status(federation)
                assert status["loadBalancer"] == {"ingress": [{"ip": "203.0.113.7"}]}
                assert status["serviceLocations"] == [{"name": "nginx-mcs", "clusters": [ONE, TWO]}]
                return set(conditions(status).values()) == {("True", "Served")}

            await federation.eventually(is_reported)


async def test_requests_survive_the_loss_of_a_cluster_and_none_is_lost_once_it_is_withdrawn() -> None:
    async with world() as federation, gateway(federation) as serving:
        await federation.apply(TEMPLATES, EXPOSED, INGRESS)
        async with Client(serving.http_port) as client:
            await spread(federation, client, {ONE, TWO})
            federation.members[ONE].stop()
            during = Counter([(await client.get())[0] for _ in range(50)])
            assert during == {200: 50}, "requests that may be repeated are answered by the other cluster"

            async def withdrawn() -> bool:
                (balancer,) = serving.reconcilers.balancers.values()
                return {each.cluster for each in balancer.endpoints} == {TWO}

            await federation.eventually(withdrawn)
            retries = serving.metrics.retries
            after = Counter([(await client.get(method="GET" if number % 2 else "POST"))[0] for number in range(1000)])
            assert (after, serving.metrics.retries) == ({200: 1000}, retries)

            federation.members[ONE].recover()
            await spread(federation, client, {ONE, TWO})


async def test_a_cluster_that_a_remedy_takes_out_of_traffic_gets_no_requests() -> None:
    remedy = """
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: dns}
spec:
  clusterAffinity: {clusterNames: [member-cluster-2]}
  actions: [TrafficControl]
"""
    async with world() as federation, gateway(federation) as serving:
        await federation.apply(TEMPLATES, EXPOSED, INGRESS)
        async with Client(serving.http_port) as client:
            await spread(federation, client, {ONE, TWO})
            await federation.apply(remedy)
            await spread(federation, client, {ONE})

            async def is_reported() -> bool:
                return (await ingress_status(federation)).get("trafficBlockClusters") == [TWO]

            await federation.eventually(is_reported)


async def test_without_a_multicluster_service_the_clusters_of_the_binding_answer() -> None:
    async with world() as federation, gateway(federation) as serving:
        await federation.apply(TEMPLATES, INGRESS)
        async with Client(serving.http_port) as client:
            await spread(federation, client, {ONE, TWO})


async def test_a_cluster_that_is_reached_directly_answers_at_declared_addresses_only() -> None:
    async with world() as federation, gateway(federation, direct={ONE}) as serving:
        await federation.apply(TEMPLATES, INGRESS)
        async with Client(serving.http_port) as client:
            for ranges, remedy in ((None, "annotate the cluster"), ("192.0.2.0/24", "is no address in its pod CIDRs")):
                noted = {"metadata": {"annotations": {"network.karmada.io/pod-cidrs": ranges}}}
                await federation.hub.resource(CLUSTERS).patch(ONE, noted)

                async def is_refused(remedy: str = remedy) -> bool:
                    found = (await ingress_status(federation)).get("conditions") or ()
                    return any(each["reason"] == "AddressRefused" and remedy in each["message"] for each in found)

                await federation.eventually(is_refused)
                await spread(federation, client, {TWO})
            noted = {"metadata": {"annotations": {"network.karmada.io/pod-cidrs": "0.0.0.0/0"}}}
            await federation.hub.resource(CLUSTERS).patch(ONE, noted)
            await spread(federation, client, {ONE, TWO})


async def test_slices_exported_to_the_control_plane_are_used_without_asking_members() -> None:
    async with world() as federation, gateway(federation) as serving:
        await federation.apply(TEMPLATES)

        async def slices() -> list[dict[str, Any]]:
            member = federation.members[TWO].client
            found = await member.resource(GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")).list()
            return [one for one in found.items if len(one.get("endpoints") or ()) == 2]

        (local,) = await federation.eventually(slices)
        imported = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": f"imported-{TWO}-{local['metadata']['name']}",
                "namespace": "default",
                "labels": {
                    "kubernetes.io/service-name": "derived-nginx-mcs",
                    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.karmada.io",
                },
            },
            "addressType": "IPv4",
            "endpoints": local["endpoints"],
            "ports": local["ports"],
        }
        await federation.apply(imported, INGRESS)
        async with Client(serving.http_port) as client:
            await spread(federation, client, {TWO})
            assert serving.reconcilers.members.slices(("default", "nginx-mcs")) == []


def _rule(host: str, service: str, port: int = 80) -> dict[str, Any]:
    backend = {"service": {"name": service, "port": {"number": port}}}
    return {"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}


def _ingress(name: str, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "networking.karmada.io/v1alpha1",
        "kind": "MultiClusterIngress",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"rules": list(rules), **more},
    }


BROKEN = {
    "unknown": (_ingress("unknown", _rule("a.org", "nobody")), "BackendsResolved", "ServiceNotFound"),
    "port": (_ingress("port", _rule("b.org", "nginx-mcs", 81)), "BackendsResolved", "PortNotFound"),
    "taken": (_ingress("taken", _rule(HOST, "other"), _rule("c.org", "nginx-mcs")), "RoutesAccepted", "PathTaken"),
}


async def test_broken_routes_are_named_and_take_nothing_else_down() -> None:
    async with world() as federation, gateway(federation) as serving:
        await federation.apply(TEMPLATES, INGRESS)
        async with Client(serving.http_port) as client:
            await spread(federation, client, {ONE, TWO})
            await federation.apply(*(tree for tree, _, _ in BROKEN.values()))
            for name, (_, condition, reason) in BROKEN.items():

                async def is_reported(name: str = name, condition: str = condition, reason: str = reason) -> bool:
                    return conditions(await ingress_status(federation, name))[condition] == ("False", reason)

                await federation.eventually(is_reported)
            await spread(federation, client, {ONE, TWO})
            assert (await client.get(host="a.org"))[0] == 503
            assert (await client.get(host="c.org"))[0] == 200, "the other routes of a broken ingress are served"


MAY_READ = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: karmada-gateway}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: karmada-gateway-certificates}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:karmada:gateway"}]
"""


@pytest.mark.usefixtures("unrecorded")
async def test_a_secret_that_the_gateway_may_not_read_is_reported_with_the_remedy() -> None:
    secured = _ingress("tls", _rule(HOST, "nginx-mcs"), tls=[{"hosts": [HOST], "secretName": "hidden"}])
    async with world() as federation, gateway(federation):
        await federation.apply(secured)

        async def is_reported() -> bool:
            status = await ingress_status(federation, "tls")
            (found,) = [each for each in status["conditions"] if each["type"] == "CertificatesResolved"]
            return found["reason"] == "SecretForbidden" and "create rolebinding" in found["message"]

        await federation.eventually(is_reported)


async def test_missing_and_broken_certificates_are_named_and_other_hosts_are_served() -> None:
    def tls(name: str, host: str) -> dict[str, Any]:
        return _ingress(name, _rule(host, "nginx-mcs"), tls=[{"hosts": [host], "secretName": name}])

    bad = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "bad"},
        "data": {"tls.crt": "", "tls.key": "eA=="},
    }
    async with world() as federation, gateway(federation) as serving, Client(serving.http_port) as client:
        await federation.apply(MAY_READ, TEMPLATES, bad, tls("bad", "bad.org"), tls("lost", "lost.org"), INGRESS)
        await spread(federation, client, {ONE, TWO})
        for name, reason in (("bad", "BadCertificate"), ("lost", "SecretNotFound")):

            async def is_reported(name: str = name, reason: str = reason) -> bool:
                status = await ingress_status(federation, name)
                (found,) = [each for each in status["conditions"] if each["type"] == "CertificatesResolved"]
                assert (found["status"], found["reason"]) == ("False", reason)
                return f"Secret default/{name}" in found["message"]

            await federation.eventually(is_reported)
            assert (await client.get(host=f"{name}.org"))[0] == 200, "over HTTP it is served all the same"


async def test_https_shows_the_certificate_of_the_host_once_the_gateway_may_read_it() -> None:
    authority = Authority.create("test-ca")
    certificate, key = authority.issue_server(HOST, server_names([HOST]))
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": "certificate", "namespace": "default"},
        "data": {"tls.crt": base64.b64encode(certificate).decode(), "tls.key": base64.b64encode(key).decode()},
    }
    secured = _ingress("tls", _rule(HOST, "nginx-mcs"), tls=[{"hosts": [HOST], "secretName": "certificate"}])
    context = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    async with world() as federation:
        await federation.apply(MAY_READ, secret, TEMPLATES, secured)
        async with (
            gateway(federation, https=("127.0.0.1", 0)) as serving,
            Client(serving.https_port, context) as client,
        ):

            async def answered() -> bool:
                try:
                    status, body = await client.get()
                except ssl.SSLCertVerificationError:
                    return False
                return status == 200 and body["cluster"] in (ONE, TWO)

            await federation.eventually(answered)
            with pytest.raises(ssl.SSLCertVerificationError):
                await Client(serving.https_port, context).get(host="other.example.com")


def _kind(plural: str, kind: str, version: str) -> dict[str, Any]:
    """A kind of the Gateway API as far as these tests need it."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    served = {"name": version, "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.gateway.networking.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": "gateway.networking.k8s.io",
            "scope": "Namespaced",
            "names": names,
            "versions": [served | {"schema": {"openAPIV3Schema": schema}}],
        },
    }


HTTP_ROUTES = GroupVersionResource("gateway.networking.k8s.io", "v1", "httproutes")
KINDS = _kind("httproutes", "HTTPRoute", "v1"), _kind("referencegrants", "ReferenceGrant", "v1beta1")


def _route(name: str, host: str, service: str = "nginx-mcs", namespace: str = "default", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "parentRefs": [{"name": "karmada"}],
            "hostnames": [host],
            "rules": [{"backendRefs": [{"name": service, "port": 80, **more}]}],
        },
    }


async def _conditions(federation: Federation, name: str, namespace: str = "default") -> dict[str, tuple[str, str, str]]:
    """The conditions that the gateway gave to a route."""
    found = await federation.hub.resource(HTTP_ROUTES).get(name, namespace)
    (parent,) = found["status"]["parents"]
    assert parent["controllerName"] == "karmada.io/gateway"
    assert parent["parentRef"] == {"name": "karmada"}
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in parent["conditions"]}


async def test_http_routes_are_served_once_their_kinds_are_installed_and_broken_ones_take_nothing_down() -> None:
    async with world() as federation:
        await federation.apply(*KINDS, TEMPLATES)
        async with gateway(federation) as serving, Client(serving.http_port) as client:
            broken = _route("broken", "broken.org")
            broken["spec"]["rules"][0]["timeouts"] = {"request": "1s"}

            async def applied() -> bool:
                await federation.apply(_route("web", HOST), broken, _route("lost", "lost.org", "nobody"))
                return True

            await federation.eventually(applied)
            await spread(federation, client, {ONE, TWO})
            assert (await client.get(host="broken.org"))[0] == 404

            async def is_reported() -> bool:
                assert {status for status, _, _ in (await _conditions(federation, "web")).values()} == {"True"}
                status, reason, message = (await _conditions(federation, "broken"))["Accepted"]
                assert (status, reason) == ("False", "UnsupportedValue")
                assert message == "spec.rules[0]: Object contains unknown field `timeouts`"
                status, reason, message = (await _conditions(federation, "lost"))["ResolvedRefs"]
                assert (status, reason, message) == ("False", "BackendNotFound", "there is no Service default/nobody")
                return True

            await federation.eventually(is_reported)
            # A route that is for another gateway from now on keeps nothing of this one.
            await federation.hub.resource(HTTP_ROUTES).patch(
                "web", {"spec": {"parentRefs": [{"name": "other"}]}}, "default"
            )

            async def left() -> bool:
                found = await federation.hub.resource(HTTP_ROUTES).get("web", "default")
                return found["status"]["parents"] == [] and (await client.get())[0] == 404

            await federation.eventually(left)


async def test_a_service_of_another_namespace_is_reached_by_a_route_only_with_a_grant_there() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant"}}
    grant = """
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: tenant}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: tenant}]
  to: [{group: "", kind: Service, name: nginx-mcs}]
"""
    async with world() as federation:
        await federation.apply(*KINDS, TEMPLATES, namespace)
        async with gateway(federation) as serving, Client(serving.http_port) as client:

            async def applied() -> bool:
                foreign = _route("web", HOST, namespace="tenant")
                foreign["spec"]["rules"][0]["backendRefs"][0]["namespace"] = "default"
                await federation.apply(foreign)
                return True

            await federation.eventually(applied)

            async def is_reported() -> bool:
                status, reason, message = (await _conditions(federation, "web", "tenant"))["ResolvedRefs"]
                assert (status, reason) == ("False", "RefNotPermitted")
                return "Service default/nginx-mcs is of another namespace" in message

            await federation.eventually(is_reported)
            assert (await client.get())[0] == 500
            await federation.apply(grant)
            await spread(federation, client, {ONE, TWO})
