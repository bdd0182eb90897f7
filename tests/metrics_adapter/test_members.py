"""Resource and custom metrics over all members: merged, named after their cluster, and never held up by one of them."""

import asyncio
import os
from contextlib import AsyncExitStack, asynccontextmanager

import orjson
import pytest
from tests import programs

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.requests.access import Access, Guarded
from karmada.apiserver.requests.model import Answer
from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, Conflict, Forbidden, NotFound, Unavailable
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.resource import Scope
from karmada.machinery.transport import EventType, GroupVersionResource, Request, Verb
from karmada.standalone.control_plane import METRICS_ADAPTER, ControlPlane, ControlPlaneOptions
from karmada.testing.federation import Federation

POD_METRICS = GroupVersionResource("metrics.k8s.io", "v1beta1", "pods")
NODE_METRICS = GroupVersionResource("metrics.k8s.io", "v1beta1", "nodes")
PODS = GroupVersionResource("", "v1", "pods")
CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
FROM = "resource.karmada.io/query-from-cluster"
CUSTOM = "custom.metrics.k8s.io"


def options():
    return ControlPlaneOptions(addons=frozenset({METRICS_ADAPTER}))


async def pod(member, name, **labels):
    meta = {"name": name, "namespace": "default", "labels": labels}
    spec = {"containers": [{"name": "app", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}]}
    await member.client.resource(PODS).create({"metadata": meta, "spec": spec})


@asynccontextmanager
async def federated():
    async with Federation(3, options=options()) as federation:
        members = federation.members
        await pod(members["member1"], "a", app="web")
        await pod(members["member2"], "b", app="web")
        await pod(members["member1"], "twin", app="other")
        await pod(members["member3"], "twin", app="other")

        async def measured():
            for name, member in members.items():
                found = (await member.client.resource(POD_METRICS).list(Scope("default"))).items
                assert len(found) == {"member1": 2, "member2": 1, "member3": 1}[name]
            return True

        await federation.eventually(measured)
        await until_all_are_asked(federation.hub)
        yield federation


async def listed(federation, scope=None):
    found = (await federation.hub.resource(POD_METRICS).list(scope or Scope("default"))).items
    return sorted((one["metadata"]["name"], one["metadata"]["annotations"][FROM]) for one in found)


async def test_pods_of_all_members_are_listed_with_the_cluster_they_are_in():
    async with federated() as federation:
        both = [("a", "member1"), ("b", "member2")]
        twins = [("twin", "member1"), ("twin", "member3")]
        assert await listed(federation) == [*both, *twins]
        assert await listed(federation, Scope("default", "app=web")) == both
        assert await listed(federation, Scope("elsewhere")) == []


async def test_a_pod_is_found_where_it_is_and_a_name_in_two_clusters_is_a_conflict():
    async with federated() as federation:
        pods = federation.hub.resource(POD_METRICS)
        found = await pods.get("a", "default")
        assert (found["metadata"]["annotations"][FROM], found["containers"][0]["usage"]["cpu"]) == ("member1", "50m")
        with pytest.raises(Conflict, match=r"the pod\(twin\) found in more than one clusters"):
            await pods.get("twin", "default")
        with pytest.raises(NotFound):
            await pods.get("nobody", "default")


async def test_nodes_of_all_members_are_listed():
    async with federated() as federation:
        found = (await federation.hub.resource(NODE_METRICS).list()).items
        assert {one["metadata"]["annotations"][FROM] for one in found} == {"member1", "member2", "member3"}


async def test_a_member_that_hangs_costs_its_own_rows_only():
    async with federated() as federation:
        federation.members["member3"].hang()
        loop = asyncio.get_running_loop()
        started = loop.time()
        assert await listed(federation) == [("a", "member1"), ("b", "member2"), ("twin", "member1")]
        assert loop.time() - started < 8
        started = loop.time()
        await listed(federation, Scope("default", "app"))
        assert loop.time() - started < 2
        with pytest.raises(Unavailable, match="member3") as refused:
            await federation.hub.resource(POD_METRICS).get("c", "default")
        assert refused.value.status["details"] == {"retryAfterSeconds": 1}
        federation.members["member3"].recover()


async def test_who_may_not_read_metrics_is_refused():
    async with federated() as federation:
        guest = Client(federation.plane.server.direct(UserInfo("guest", ("system:authenticated",))))
        with pytest.raises(Forbidden):
            await guest.resource(POD_METRICS).list(Scope("default"))
        type_ = GroupVersionResource(CUSTOM, "v1beta2", "pods")
        with pytest.raises(Forbidden):
            await guest.transport.send(Request(Verb.GET, type_, "default", "*", "rate"))


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "metric"),
    [
        ("pods/../../../../api/v1/secrets", "default", "x", "rate"),
        ("pods?x=", "default", "x", "rate"),
        ("pods", "default", "..", "rate"),
        ("pods", "default", "x", "../../../secrets"),
        ("pods", "..", "x", "rate"),
    ],
)
async def test_no_request_leads_to_another_address_in_a_member(resource, namespace, name, metric):
    requests = []
    async with Federation(1, options=options(), on_request=lambda _, request: requests.append(request)) as federation:
        type_ = GroupVersionResource(CUSTOM, "v1beta2", resource)
        with pytest.raises(ApiError):
            await federation.hub.transport.send(Request(Verb.GET, type_, namespace, name, metric))
        assert not [request for request in requests if request.resource.group == CUSTOM]


@pytest.mark.tools
async def test_kubectl_top_works_on_the_control_plane(tmp_path):
    async with federated() as federation:
        address = await federation.plane.listen()
        authority = federation.plane.server.identity.authority
        certificate, key = authority.issue_client("admin", ["system:masters"])
        path = tmp_path / "kubeconfig"
        write_kubeconfig(
            path,
            kubeconfig(
                address, authority.certificate_pem, cluster="hub", user="admin", certificate=certificate, key=key
            ),
        )

        async def run(*arguments):
            pipe = asyncio.subprocess.PIPE
            environment = {**os.environ, "KUBECONFIG": str(path), "HOME": str(tmp_path)}
            process = await asyncio.create_subprocess_exec(
                programs.kubectl(), *arguments, stdout=pipe, stderr=pipe, env=environment
            )
            out, err = await process.communicate()
            assert process.returncode == 0, err.decode()
            return out.decode()

        lines = (await run("top", "pods", "-n", "default", "--no-headers")).splitlines()
        assert sorted(line.split()[:2] for line in lines) == [
            ["a", "50m"],
            ["b", "50m"],
            ["twin", "50m"],
            ["twin", "50m"],
        ]
        nodes = (await run("top", "nodes", "--no-headers")).splitlines()
        assert len(nodes) == len((await federation.hub.resource(NODE_METRICS).list()).items)
        for group in ("metrics.k8s.io/v1beta1", f"{CUSTOM}/v1beta2", "external.metrics.k8s.io/v1beta1"):
            assert orjson.loads(await run("get", "--raw", f"/apis/{group}"))["groupVersion"] == group


def measuring(version, values):
    """A member that serves a custom metric `rate` of Services, by their names."""

    async def answer(context, call):
        chosen = values if call.name == "*" else {name: values[name] for name in values if name == call.name}
        if call.subresource != "rate" or not chosen:
            raise Failure(404, "NotFound", "the server could not find the metric", {})
        items = []
        for name, value in chosen.items():
            described = {"kind": "Service", "namespace": call.namespace, "name": name, "apiVersion": "v1"}
            item = {"describedObject": described, "timestamp": "2024-01-01T00:00:00Z", "value": value}
            item |= {"metric": {"name": "rate"}} if version == "v1beta2" else {"metricName": "rate", "window": 60}
            items.append(item)
        return Answer(
            200, orjson.dumps({"kind": "MetricValueList", "apiVersion": f"{CUSTOM}/{version}", "items": items})
        )

    schema = Schema("object", preserve_unknown=True)
    type_ = ResourceType(CUSTOM, version, "*", "MetricValueList", True, schema, verbs=("get",), open=True)
    return LocalApi([type_], {(CUSTOM, "*", ""): Guarded(Access.RESOURCE, answer)})


@asynccontextmanager
async def with_custom_metrics(**members):
    async with AsyncExitStack() as stack:
        servers = {}
        for name, api in members.items():
            given = ApiServerOptions(apis=[api] if api is not None else [])
            servers[name] = await stack.enter_async_context(ApiServer(given))

        async def open_member(cluster):
            return servers[cluster.metadata.name].direct(ADMIN)

        plane = await stack.enter_async_context(ControlPlane(options(), open_member))
        for name in members:
            await plane.client.resource(CLUSTERS).create({"metadata": {"name": name}, "spec": {"syncMode": "Push"}})
        for name in members:
            await until_ready(plane.client, name)
        await until_all_are_asked(plane.client)
        yield plane


async def until_ready(client, name):
    async with asyncio.timeout(20), client.of(Cluster).watch(Scope(fields=f"metadata.name={name}")) as changes:
        async for batch in changes:
            if any(event.type is not EventType.BOOKMARK and is_ready(event.object) for event in batch):
                return


async def until_all_are_asked(client):
    """Wait until the adapter knows every member as ready: only then does it say that nobody has a metric."""
    type_ = GroupVersionResource(CUSTOM, "v1beta2", "services")
    async with asyncio.timeout(20):
        while True:
            try:
                await client.transport.send(Request(Verb.GET, type_, "default", "nobody", "unknown"))
            except NotFound:
                return
            except Unavailable:
                await asyncio.sleep(0.01)


async def custom(plane, name, version="v1beta2"):
    type_ = GroupVersionResource(CUSTOM, version, "services")
    found = orjson.loads(await plane.client.transport.send(Request(Verb.GET, type_, "default", name, "rate")))
    return {item["describedObject"]["name"]: item for item in found["items"]}


async def test_a_metric_of_one_object_in_several_members_is_their_sum_whatever_version_they_serve():
    newer, older = measuring("v1beta2", {"web": "1500m", "api": "2"}), measuring("v1beta1", {"web": "3"})
    async with with_custom_metrics(m1=newer, m2=older, m3=None) as plane:
        found = await custom(plane, "*")
        assert {name: item["value"] for name, item in found.items()} == {"web": "4500m", "api": "2"}
        assert (await custom(plane, "api"))["api"]["metric"] == {"name": "rate"}
        assert (await custom(plane, "web", "v1beta1"))["web"]["metricName"] == "rate"
        with pytest.raises(NotFound, match="could not find the metric"):
            await custom(plane, "nobody")


NESTED = orjson.loads(b'{"a":' * 252 + b"1" + b"}" * 252)
"""Can be written by itself, and not inside of a list of items."""


def saying(items):
    """An API of custom metrics whose answers are what a test says."""

    async def answer(context, call):
        if call.subresource != "rate":
            raise Failure(404, "NotFound", "the server could not find the metric", {})
        return Answer(200, items)

    schema = Schema("object", preserve_unknown=True)
    type_ = ResourceType(CUSTOM, "v1beta2", "*", "MetricValueList", True, schema, verbs=("get",), open=True)
    return LocalApi([type_], {(CUSTOM, "*", ""): Guarded(Access.RESOURCE, answer)})


@pytest.mark.parametrize(
    "items",
    [
        b'{"items":5}',
        b'{"items":[{"describedObject":{"name":["x"]},"metric":{"name":"rate"},"value":"1"}]}',
        b'{"items":[{"describedObject":{"name":"x"},"metric":{"name":{}},"value":"1"}]}',
        b'{"items":[{"describedObject":{"name":"x"},"value":"1","windowSeconds":1%s}]}' % (b"0" * 400),
        b'{"items":[{"describedObject":{"name":"x"},"value":"1","metric":{"selector":{"matchLabels":%s}}}]}'
        % orjson.dumps(NESTED),
        b'{"items":[{"describedObject":{"name":"x"},"value":"1","timestamp":%s}]}' % orjson.dumps(NESTED),
    ],
    ids=["no list", "a list for a name", "a map for a metric", "an endless window", "a deep selector", "a deep time"],
)
async def test_a_member_whose_custom_metrics_have_another_shape_costs_its_own_part_only(items):
    async with with_custom_metrics(good=measuring("v1beta2", {"web": "1"}), odd=saying(items)) as plane:
        assert {name: item["value"] for name, item in (await custom(plane, "*")).items()} == {"web": "1"}


@pytest.mark.parametrize(
    "odd",
    [
        {"metadata": 5},
        {"metadata": "abc"},
        {"metadata": {"annotations": [1]}},
        {"metadata": {"name": ["x"]}},
        {"metadata": {"name": "x"}, "containers": NESTED},
    ],
    ids=["a number", "a text", "a list of annotations", "a list for a name", "deep containers"],
)
async def test_a_member_whose_measurements_have_another_shape_costs_its_own_rows_only(odd):
    def api(item):
        async def answer(context, call):
            return Answer(200, b'{"kind":"PodMetricsList","metadata":{},"items":[%s]}' % item)

        schema = Schema("object", preserve_unknown=True)
        types = [ResourceType("metrics.k8s.io", "v1beta1", "pods", "PodMetrics", True, schema, verbs=("get", "list"))]
        return LocalApi(types, {("metrics.k8s.io", "pods", ""): Guarded(Access.RESOURCE, answer)})

    good = {"metadata": {"name": "a", "namespace": "default"}, "containers": []}
    async with with_custom_metrics(good=api(orjson.dumps(good)), odd=api(orjson.dumps(odd))) as plane:
        listed = await plane.client.resource(POD_METRICS).list(Scope("default"))
        assert [one["metadata"]["annotations"][FROM] for one in listed.items] == ["good"]
